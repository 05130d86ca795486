import { AppError, type ErrorOptions, findStatus } from '../../core/error.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { formatDuration } from '../../core/text/format.ts';
import { redact, redactKnown } from '../../core/text/secrets.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { NamedServer } from './definition.ts';
import { MAX_SERVER_TEXT } from './limits.ts';
import type { Sdk } from './sdk.ts';
import type { ServerTransport } from './types.ts';

/** Sanitizes the message and redacts the secrets of the server's definition. */
export function mcpError(server: NamedServer, message: string, options: ErrorOptions<'mcp'> = {}): AppError {
  const text = formatServerText(server, message);
  return new AppError('mcp', `MCP server ${sanitize(server.name)}: ${text}`, { shortMessage: text, ...options });
}

function formatServerText(server: NamedServer, message: string): string {
  const lines = redactServerText(server, message)
    .replace(ANSI, '')
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const text = sanitize(lines.join(' / '));
  return text.length > MAX_SERVER_TEXT ? `${text.slice(0, MAX_SERVER_TEXT)}…` : text;
}

/** Redacts the secrets of the definition, the tokens sent to the server, and whatever looks like a key. */
export function redactServerText({ definition }: NamedServer, text: string, tokens: readonly string[] = []): string {
  const secrets =
    definition.kind === 'stdio'
      ? Object.values(definition.env)
      : [...Object.values(definition.headers), definition.oauth?.clientSecret ?? ''];
  return redact(redactKnown(text, [...secrets, ...tokens]), '‹redacted›');
}

/** Servers color their stderr; printed as visible escapes, these sequences would bury the text. */
const ANSI = /\x1b\[[\d;?]*[ -/]*[@-~]/g;

interface FailureContext {
  readonly server: NamedServer;
  readonly sdk: Sdk;
  readonly transport: Pick<ServerTransport, 'describeEnd' | 'secrets' | 'closeReason'>;
  readonly method: string;
  readonly timeoutMs: number;
  readonly isClosed?: boolean;
}

/** Decides on types and codes, never on message text. */
export async function toServerError(thrown: unknown, context: FailureContext): Promise<AppError> {
  const { server, method } = context;
  const appError = findAppError(thrown);
  const isFinished = appError?.fault === 'mcp' && appError.shortMessage !== appError.message;
  if (appError !== undefined && (isFinished || appError.fault === 'interrupted')) return appError;
  if (findStatus(appError) === 401) return unauthorizedError(server, 401, appError);
  if (appError !== undefined)
    return mcpError(server, appError.message, { cause: appError, hint: appError.hint || undefined });
  const status = findHttpStatus(thrown, context.sdk);
  if (status === 401 || status === 403) return unauthorizedError(server, status, thrown);
  // `mcpError` knows only the secrets of the definition, not the tokens.
  const redactTokens = (text: string): string => redactKnown(text, context.transport.secrets?.() ?? []);
  if (status !== undefined)
    return mcpError(server, redactTokens(formatHttpError(thrown, status)), { cause: thrown, status });
  const { ProtocolError, RegistrationRejectedError } = context.sdk;
  if (thrown instanceof RegistrationRejectedError) return registrationError(server, thrown);
  if (thrown instanceof ProtocolError) {
    return mcpError(server, redactTokens(`${method} was refused: ${simplifyMessage(thrown.message)}`), {
      cause: thrown,
    });
  }
  return fromSdkError(thrown, context);
}

async function fromSdkError(
  thrown: unknown,
  { server, sdk, transport, method, timeoutMs, isClosed }: FailureContext,
): Promise<AppError> {
  const { SdkErrorCode } = sdk;
  const code = thrown instanceof sdk.SdkError ? thrown.code : undefined;
  const end = await transport.describeEnd();
  const ending = end === '' ? '' : `. ${end}`;
  if (code === SdkErrorCode.RequestTimeout) {
    return mcpError(server, `no answer to ${method} within ${formatDuration(timeoutMs)}${ending}`, {
      cause: thrown,
      hint: 'Its "timeout" in the settings sets how long gmn waits, in milliseconds.',
    });
  }
  const closeReason = transport.closeReason?.();
  if (closeReason !== undefined)
    return mcpError(server, `gmn disconnected during ${method}: ${closeReason}${ending}`, { cause: thrown });
  if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.NotConnected || isClosed) {
    const hint = server.remedy ?? `See its definition: gmn mcp get ${sanitize(server.name)}`;
    return mcpError(server, `the connection was lost during ${method}${ending}`, { cause: thrown, hint });
  }
  const message = simplifyMessage(thrown instanceof Error ? thrown.message : String(thrown));
  const redacted = redactKnown(message, transport.secrets?.() ?? []);
  const missing =
    code === SdkErrorCode.InvalidResult
      ? /: ([\w.]+): Invalid input(?:: expected \w+, received undefined)?$/.exec(redacted)?.[1]
      : undefined;
  const what = missing === undefined ? `${method} failed: ${redacted}` : `its answer to ${method} has no ${missing}`;
  return mcpError(server, `${what}${ending}`, { cause: thrown });
}

/** The SDK wraps our own AppError in errors of its own. */
function findAppError(thrown: unknown): AppError | undefined {
  return listCauses(thrown).find((error) => error instanceof AppError);
}

function listCauses(thrown: unknown, depth = 0): readonly Error[] {
  if (!(thrown instanceof Error) || depth >= 8) return [];
  // Errors of the version negotiation keep their cause in `data`.
  const inner = 'data' in thrown && isObject(thrown.data) ? thrown.data.cause : undefined;
  return [thrown, ...listCauses(thrown.cause ?? inner, depth + 1)];
}

function findHttpStatus(thrown: unknown, { SdkHttpError, UnauthorizedError }: Sdk): number | undefined {
  if (thrown instanceof UnauthorizedError) return 401;
  for (const error of listCauses(thrown)) {
    if (error instanceof SdkHttpError) return error.data.status;
    // The error of the SDK's event source.
    if ('code' in error && typeof error.code === 'number' && error.code >= 300 && error.code < 600) return error.code;
  }
  return undefined;
}

function unauthorizedError(server: NamedServer, status: number, cause: unknown): AppError {
  const message = status === 401 ? 'it requires a sign-in (HTTP 401)' : 'it denies access (HTTP 403)';
  return mcpError(server, message, { cause, status, hint: `To sign in, run: gmn mcp auth ${sanitize(server.name)}` });
}

function registrationError(server: NamedServer, thrown: InstanceType<Sdk['RegistrationRejectedError']>): AppError {
  const { status, body } = thrown;
  const refusal = tryParseJson(body);
  // https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2
  const { error_description: described, error } = isObject(refusal) ? refusal : { error: body };
  const why = [described, error].find((text) => typeof text === 'string' && text.trim() !== '');
  return mcpError(server, `it does not let gmn register for signing in (HTTP ${status})${formatServerReason(why)}`, {
    cause: thrown,
    hint: 'Register a client there by hand, and put its "clientId" into "oauth" of the server\'s entry in the settings.',
  });
}

function formatHttpError(thrown: unknown, status: number): string {
  const data = thrown instanceof Error && 'data' in thrown && isObject(thrown.data) ? thrown.data : {};
  return `it answered HTTP ${status}${formatServerReason(data.text)}`;
}

function formatServerReason(body: unknown): string {
  const text = typeof body === 'string' && !/<html|<!doctype/i.test(body) ? body.trim() : '';
  return text === '' ? '' : `: ${text}`;
}

const CODE_PREFIX = /^(?:MCP error -?\d+: )+/;

/** Strips the code, and turns a validator's JSON, `[{"path":["a"],"message":"Required"}]`, into `a: Required`. */
export function simplifyMessage(message: string): string {
  const text = message.replace(CODE_PREFIX, '');
  const start = text.search(/\[\s*\{/);
  if (start === -1 || !text.trimEnd().endsWith(']')) return text;
  const issues = tryParseJson(text.slice(start));
  if (!Array.isArray(issues) || issues.length === 0) return text;
  const lines = issues.map(formatIssue);
  return lines.every((each) => each !== undefined) ? `${text.slice(0, start)}${lines.join('; ')}` : text;
}

function formatIssue(issue: unknown): string | undefined {
  if (!isObject(issue) || typeof issue.message !== 'string') return undefined;
  const path = Array.isArray(issue.path) ? issue.path.map(String).join('.') : '';
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
