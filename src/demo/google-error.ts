import type { JsonObject } from '../core/json.ts';
import type { FaultName } from './fault.ts';
import type { Parsed } from './request.ts';

export type Backend = 'gemini' | 'vertex' | 'code-assist';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** Refuses a request; the server sends the response. */
export class ApiError extends Error {
  readonly response: ErrorResponse;
  constructor(response: ErrorResponse) {
    super(String(response.status));
    this.response = response;
  }
}

export function requireValid<T>(parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw new ApiError(invalidArgumentResponse(parsed.message));
}

const TYPE = 'type.googleapis.com/google.rpc.';

const DOMAINS: Readonly<Record<Backend, string>> = {
  gemini: 'generativelanguage.googleapis.com',
  vertex: 'aiplatform.googleapis.com',
  'code-assist': 'cloudcode-pa.googleapis.com',
};

export function errorResponse(
  code: number,
  status: string,
  message: string,
  details?: readonly JsonObject[],
  headers: Readonly<Record<string, string>> = {},
): ErrorResponse {
  return { status: code, headers, body: { error: { code, message, status, details } } };
}

export function invalidArgumentResponse(message: string): ErrorResponse {
  return errorResponse(400, 'INVALID_ARGUMENT', message);
}

export function notFoundResponse(message: string): ErrorResponse {
  return errorResponse(404, 'NOT_FOUND', message);
}

function errorInfo(reason: string, backend: Backend, metadata: JsonObject = {}): JsonObject {
  return { '@type': `${TYPE}ErrorInfo`, reason, domain: DOMAINS[backend], metadata };
}

/** Code Assist and Vertex want a token, the Gemini API a key. */
export function missingCredentialResponse(backend: Backend): ErrorResponse {
  if (backend === 'gemini') {
    return errorResponse(
      403,
      'PERMISSION_DENIED',
      'The caller has no identity. Send an API key in x-goog-api-key, or a bearer token.',
    );
  }
  return errorResponse(401, 'UNAUTHENTICATED', 'The request carries no OAuth 2 access token.', [
    errorInfo('CREDENTIALS_MISSING', backend),
  ]);
}

interface FaultContext {
  readonly fault: FaultName;
  readonly backend: Backend;
  readonly model: string;
  readonly retryAfterSeconds?: number;
}

export function faultResponse(context: FaultContext): ErrorResponse | undefined {
  const { backend, model } = context;
  switch (context.fault) {
    case '401':
      return errorResponse(401, 'UNAUTHENTICATED', 'The access token or API key was not accepted.', [
        errorInfo('ACCESS_TOKEN_EXPIRED', backend),
      ]);
    case '403':
      return errorResponse(403, 'PERMISSION_DENIED', 'The caller does not have permission.', [
        errorInfo('IAM_PERMISSION_DENIED', backend),
      ]);
    case '404-retired':
      return notFoundResponse(`models/${model} is no longer available. Use a newer model.`);
    case '429':
    case '429-daily':
      return quotaResponse(context);
    case '500':
      return errorResponse(500, 'INTERNAL', 'An internal error has occurred.');
    case '503':
      return errorResponse(
        503,
        'UNAVAILABLE',
        'The model is overloaded. Try again later.',
        ...retryDetails(context.retryAfterSeconds, []),
      );
    default:
      return accountResponse(context);
  }
}

function quotaResponse({ fault, backend, model, retryAfterSeconds }: FaultContext): ErrorResponse {
  const isDaily = fault === '429-daily';
  const violation = {
    quotaMetric: `${DOMAINS[backend]}/generate_content_free_tier_requests`,
    quotaId: `GenerateRequestsPer${isDaily ? 'Day' : 'Minute'}PerProjectPerModel-FreeTier`,
    quotaDimensions: { location: 'global', model },
    quotaValue: isDaily ? '250' : '10',
  };
  const details: JsonObject[] = [{ '@type': `${TYPE}QuotaFailure`, violations: [violation] }];
  if (backend === 'code-assist')
    details.unshift(errorInfo(isDaily ? 'QUOTA_EXHAUSTED' : 'RATE_LIMIT_EXCEEDED', backend));
  return errorResponse(
    429,
    'RESOURCE_EXHAUSTED',
    `The quota for ${model} is used up for this ${isDaily ? 'day' : 'minute'}.`,
    ...retryDetails(retryAfterSeconds, details),
  );
}

interface ViolatedQuota {
  readonly backend: Backend;
  readonly model: string;
  /** `quotaMetric` without the domain, `quotaId` and `quotaValue`. */
  readonly violations: readonly JsonObject[];
  readonly retryMs?: number;
}

export function violatedQuotaResponse({ backend, model, violations, retryMs }: ViolatedQuota): ErrorResponse {
  const seconds = retryMs === undefined ? undefined : Number((retryMs / 1000).toFixed(3));
  const full = violations.map(({ quotaMetric, ...rest }) => ({
    quotaMetric: `${DOMAINS[backend]}/${String(quotaMetric)}`,
    ...rest,
    quotaDimensions: { location: 'global', model },
  }));
  return errorResponse(
    429,
    'RESOURCE_EXHAUSTED',
    `A quota for ${model} is used up.${seconds === undefined ? '' : ` Please retry in ${seconds}s.`}`,
    ...retryDetails(seconds, [{ '@type': `${TYPE}QuotaFailure`, violations: full }]),
  );
}

function retryDetails(
  seconds: number | undefined,
  details: readonly JsonObject[],
): readonly [(readonly JsonObject[])?, Readonly<Record<string, string>>?] {
  if (seconds === undefined) return details.length === 0 ? [] : [details];
  const retryInfo = { '@type': `${TYPE}RetryInfo`, retryDelay: `${seconds}s` };
  return [[...details, retryInfo], { 'retry-after': String(Math.ceil(seconds)) }];
}

function accountResponse({ fault, backend }: FaultContext): ErrorResponse | undefined {
  const permissionError = (message: string, details: readonly JsonObject[]): ErrorResponse =>
    errorResponse(403, 'PERMISSION_DENIED', message, details);
  switch (fault) {
    case 'UNSUPPORTED_CLIENT':
      return permissionError('Personal accounts can no longer use this client.', [errorInfo(fault, backend)]);
    case 'TOS_VIOLATION':
      return permissionError('This account is suspended for a violation of the terms of service.', [
        errorInfo(fault, backend, { appeal_url: APPEAL_URL, appeal_url_link_text: 'Appeal' }),
      ]);
    case 'VALIDATION_REQUIRED':
      return permissionError('Verify this account to continue.', [
        errorInfo(fault, backend, { validation_link: VALIDATION_URL }),
        { '@type': `${TYPE}Help`, links: [{ description: 'Verify the account', url: VALIDATION_URL }] },
      ]);
    default:
      return undefined;
  }
}

const APPEAL_URL = 'https://example.com/demo/appeal';

export const VALIDATION_URL = 'https://example.com/demo/verify';
