import { type AppError, serverError } from '../core/error.ts';
import { redactKnown } from '../core/text/secrets.ts';
import {
  authError,
  type FailedCall,
  type FailureCase,
  formatHttpStatus,
  refusalError,
  toFailureCase,
} from './failure-case.ts';
import { findAccountError, toOneLine, tryParseGoogleError } from './google-error.ts';
import { BILLING_URL, findTransientError, noQuotaError } from './quota-failure.ts';

/**
 * The AppError for a response outside 2xx, or for an error object inside a stream: `auth` if the credential is at
 * fault, else `api`; with `retry` where the same call may succeed later. Decides on status and reason fields, and on the
 * message only where the service has no field for the case: `failure-texts.ts`.
 */
export function classifyResponse(refusal: FailedCall): AppError {
  const failed = toFailureCase(refusal);
  if (failed.status >= 300 && failed.status < 400) return redirectError(failed);
  return (
    findCredentialError(failed) ??
    findRequestError(failed) ??
    findTransientError(failed) ??
    refusalError(failed, 'request refused', { hint: WHO_ANSWERED })
  );
}

const WHO_ANSWERED = 'Run again with --debug to see which server answered.';

function redirectError(failed: FailureCase): AppError {
  const location = failed.headers.location ?? '';
  const target = URL.canParse(location) ? ` to ${failed.quote(new URL(location).host, 100)}` : '';
  return serverError('api', `the server redirects${target} (${failed.status}), which gmn does not follow`, {
    hint: 'A credential goes only where you send it: set the base URL to the final address.',
    status: failed.status,
  });
}

const KEY_REASON = /^API_KEY_/;
const SIGN_IN_HINT =
  'Sign in instead: gcloud auth application-default login, with GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION set; or use the Gemini API: gmn auth set-key (https://aistudio.google.com/apikey)';

function findCredentialError(failed: FailureCase): AppError | undefined {
  const { status, error, authHint, credential, says } = failed;
  const has = (reason: string): boolean => error.reasons.includes(reason);
  if (status === 401 && credential === 'key' && says('keysNotTaken')) return authError(failed, SIGN_IN_HINT);
  if (status === 401 || (status === 400 && error.reasons.some((reason) => KEY_REASON.test(reason)))) {
    return authError(failed, authHint);
  }
  if (status !== 403) return undefined;
  const problem = findAccountError(error.reasons, {
    detail: failed.detail,
    label: formatHttpStatus(failed),
    links: error.links.map((link) => redactKnown(link, failed.secrets)),
    status,
  });
  if (problem !== undefined) return problem;
  if (has('SERVICE_DISABLED') || says('serviceDisabled'))
    return refusalError(failed, `the API is not enabled${formatProject(failed)}`, { hint: enableHint(failed) });
  if (has('SECURITY_POLICY_VIOLATED')) {
    return refusalError(failed, 'your organisation’s policy forbids this request', {
      hint: 'Ask your administrator (VPC Service Controls).',
    });
  }
  if (has('ACCESS_TOKEN_SCOPE_INSUFFICIENT')) return authError(failed, authHint);
  return findPermissionError(failed) ?? (credential === 'key' ? authError(failed, authHint) : deniedError(failed));
}

const KEY_RESTRICTION = /^API_KEY_\w+_BLOCKED$/;
const DENIED_PROJECT = /^(?:CONSUMER_(?:SUSPENDED|INVALID)|USER_PROJECT_DENIED)$/;

/** Whether a role is missing, or the key, the project or the model is refused; undefined if the answer does not say. */
function findPermissionError(failed: FailureCase): AppError | undefined {
  const { error, credential, says } = failed;
  if (error.reasons.some((reason) => KEY_RESTRICTION.test(reason))) {
    return authError(
      failed,
      'The key is restricted: change what it may be used for at https://console.cloud.google.com/apis/credentials, or make another one.',
    );
  }
  if (error.reasons.includes('BILLING_DISABLED') || says('billingDisabled')) {
    return refusalError(failed, `billing is off${formatProject(failed)}`, {
      hint: `Set up billing at ${BILLING_URL}, or choose another model with -m.`,
    });
  }
  if (says('file')) {
    return refusalError(failed, 'a file is gone, or belongs to another project', {
      hint: 'Google keeps files for 48 hours: attach it again. To see those there are: gmn files list',
    });
  }
  const role = findMissingRole(failed);
  if (role !== undefined) {
    return refusalError(failed, `permission denied${formatProject(failed)}`, {
      hint: `Grant ${role} to the account, or ask an owner of the project (GOOGLE_CLOUD_PROJECT) to do it: ${ROLES_URL}`,
    });
  }
  if (error.reasons.some((reason) => DENIED_PROJECT.test(reason)) || says('projectDenied')) {
    if (credential === 'account') return deniedError(failed);
    return authError(
      failed,
      'Google refuses the project of this key: use a key of another project, or ask Google about this one.',
    );
  }
  const isNamed = findNamedModel(failed) !== undefined || (credential === 'key' && says('callerDenied'));
  if (error.reasons.includes('IAM_PERMISSION_DENIED') || says('missingRole') || !isNamed || failed.model === undefined)
    return undefined;
  return refusalError(failed, `model ${toOneLine(failed.model, 100)} refused`, {
    hint: `This ${credential} may not use it: choose another with -m. See which there are: gmn models --refresh`,
  });
}

const ROLES_URL = 'https://console.cloud.google.com/iam-admin/iam';
/** The roles of people who use a service, by the first word of a permission. */
const ROLES: readonly (readonly [permission: string, role: string])[] = [
  ['aiplatform.', 'roles/aiplatform.user'],
  ['cloudaicompanion.', 'roles/cloudaicompanion.user'],
  ['serviceusage.', 'roles/serviceusage.serviceUsageConsumer'],
];

/** Without the role no model can be used; the answer names the one that was asked for. */
function findMissingRole({ error: { message, metadata } }: FailureCase): string | undefined {
  const named = /\broles\/[\w.]{1,60}\w/.exec(message)?.[0];
  const permission = metadata.permission ?? /\bpermission '([\w.]{1,100})' denied\b/i.exec(message)?.[1];
  return named ?? ROLES.find(([start]) => permission?.startsWith(start))?.[1];
}

function deniedError(failed: FailureCase): AppError {
  return refusalError(failed, `permission denied${formatProject(failed)}`, {
    hint: 'Check that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.',
  });
}

function findNamedModel({ model, error: { message, metadata } }: FailureCase): string | undefined {
  const name = model?.slice(model.lastIndexOf('/') + 1);
  return name && [message, metadata.resource, metadata.model].some((text) => text?.includes(name)) ? model : undefined;
}

function formatProject({ error, quote }: FailureCase): string {
  const project = error.metadata.consumer ?? error.metadata.project;
  return project === undefined ? '' : ` for ${quote(project, 100)}`;
}

function enableHint({ error, quote }: FailureCase): string {
  const url = error.metadata.activationUrl ?? /https:\/\/console\.\S*\w/.exec(error.message)?.[0];
  return url?.startsWith('https://console.')
    ? `Enable it: ${quote(url)}`
    : 'Enable the API in the Google Cloud console.';
}

const VERTEX_HINT =
  'Vertex AI is offered in other regions, too: GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_LOCATION=global';
const LOCATION_HINT = `See where it is offered: https://ai.google.dev/gemini-api/docs/available-regions. ${VERTEX_HINT}`;

function findTokenLimit(message: string): number | undefined {
  const digits = /\bmaximum\b[^()]{0,80}\((\d{1,9})\)/i.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function findRequestError(failed: FailureCase): AppError | undefined {
  const { status, says, error } = failed;
  if (status === 404) return notFoundError(failed);
  if (status === 413 || status === 431) return tooLargeError(failed);
  if (status !== 400) return undefined;
  if (error.reasons.includes('RESOURCE_PROJECT_INVALID')) {
    return refusalError(failed, 'Google does not take the project', {
      hint: 'Set GOOGLE_CLOUD_PROJECT to the id of a project of yours, not to its name (gcloud projects list), or unset it.',
    });
  }
  if (says('length')) {
    return refusalError(failed, "the prompt is longer than the model's window", {
      hint: 'Send less at once. To see how long it is: --count-tokens',
      objection: 'length',
      windowTokens: findTokenLimit(error.message),
    });
  }
  if (says('freeTier')) return noQuotaError(failed);
  if (says('location')) {
    return refusalError(failed, 'the Gemini API is not offered where this request came from', { hint: LOCATION_HINT });
  }
  if (says('noPictures')) {
    return refusalError(failed, 'pictures are not offered where this request came from', { hint: VERTEX_HINT });
  }
  if (says('noSearch')) {
    return refusalError(failed, 'Google Search refused', {
      hint: 'Only the search is refused: ask without it (--search), or choose another model with -m.',
    });
  }
  if (says('size')) return tooLargeError(failed);
  return refusalError(failed, 'invalid request', {
    hint: failed.model === undefined ? WHO_ANSWERED : 'Check the prompt, the attachments and the flags.',
    objection: says('signature') ? 'signature' : undefined,
  });
}

function tooLargeError(failed: FailureCase): AppError {
  return refusalError(failed, 'the request is too large', { hint: 'Send fewer or smaller files.' });
}

const ENDPOINT_HINT =
  'Check the address: GOOGLE_GEMINI_BASE_URL, CODE_ASSIST_ENDPOINT or GOOGLE_VERTEX_BASE_URL if set, and GOOGLE_CLOUD_LOCATION on Vertex AI.';

/** Any web server answers 404: it concerns the model only with Google's `NOT_FOUND`, or if it names the model. */
function notFoundError(failed: FailureCase): AppError {
  const { model, asks = 'this call', error, notFoundHint, says } = failed;
  if (model === undefined) return refusalError(failed, `the server does not offer ${asks}`, { hint: ENDPOINT_HINT });
  if (error.status !== 'NOT_FOUND' && findNamedModel(failed) === undefined) {
    return refusalError(failed, 'there is nothing at this address', { hint: ENDPOINT_HINT });
  }
  const what = says('retired') ? 'is retired' : says('noAccess') ? 'not found, or not open to you' : 'not found';
  return refusalError(failed, `model ${toOneLine(model, 100)} ${what}`, {
    hint: notFoundHint ?? 'See which models there are: gmn models --refresh',
    objection: 'model',
  });
}

export function classifyStreamError(refusal: Omit<FailedCall, 'status' | 'headers'>): AppError {
  const code = tryParseGoogleError(refusal.body)?.code ?? 0;
  return classifyResponse({ ...refusal, headers: {}, status: code >= 400 && code <= 599 ? code : 500 });
}
