import type { AuthScheme, Credential, KeyKind } from '../core/credential.ts';
import { AppError, serverError } from '../core/error.ts';
import type { HttpRequest } from '../core/io.ts';
import type { ModelRequest } from '../core/model.ts';
import type { CredentialKind } from './failure-case.ts';

/** Everything that differs between Google's servers: how a model request is sent and how its events are unwrapped. */
export interface Backend {
  readonly name: string;
  readonly credential: CredentialKind;
  readonly authHint: string;
  readonly canRefresh: boolean;
  /** With `refresh` it must fetch a fresh credential. Throws AppError `usage` or `auth`. */
  prepare(request: ModelRequest, options: HeaderOptions): Promise<HttpRequest>;
  /** The same request for display: carries no credential and contacts no server. */
  preview(request: ModelRequest): Promise<HttpRequest>;
  /** Removes the envelope of one event; returns an unknown event unchanged. */
  unwrap(event: unknown): unknown;
  /** Every secret sent so far, to be redacted wherever text from the server is quoted. */
  readonly secrets: ReadonlySet<string>;
  /** True if `prepare` now builds a different request, which may succeed. Called at most once per call, outside 2xx. */
  repair?(refused: ErrorResponse, signal: AbortSignal): Promise<boolean>;
  notFoundHint?(model: string): string | undefined;
}

export interface ErrorResponse {
  readonly status: number;
  /** The start of the raw body. May hold secrets: parse it, do not quote it. */
  readonly body: string;
}

interface Draft {
  readonly url: URL;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

interface BackendTraits extends Pick<Backend, 'name' | 'repair' | 'notFoundHint'> {
  readonly identity: Identity;
  readonly userAgent: string;
  /** Without a signal it must not contact a server. Throws AppError `usage` for a request that cannot be sent. */
  draft(request: ModelRequest, signal?: AbortSignal): Draft | Promise<Draft>;
  readonly unwrap?: Backend['unwrap'];
}

/** JSON bodies, the credential in headers only. Events have no envelope unless `unwrap` is given. */
export function createBackend({ identity, userAgent, draft, ...traits }: BackendTraits): Backend {
  const toHttpRequest = ({ url, body, headers }: Draft, credential: Readonly<Record<string, string>>): HttpRequest => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...headers, ...credential },
    body: JSON.stringify(body),
  });
  /** What each request was last sent with: with several in flight, the rejected token need not be the newest. */
  const lastHeaders = new WeakMap<ModelRequest, Readonly<Record<string, string>>>();
  return {
    unwrap: (event) => event,
    ...traits,
    credential: identity.kind,
    authHint: identity.authHint,
    canRefresh: identity.canRefresh,
    secrets: identity.secrets,
    async prepare(request, options) {
      // Draft first: it may query the server about the account, and that may refresh the token.
      const drafted = await draft(request, options.signal);
      const credential = await identity.headers({ refused: lastHeaders.get(request), ...options });
      lastHeaders.set(request, credential);
      return toHttpRequest(drafted, credential);
    },
    preview: async (request) => toHttpRequest(await draft(request), {}),
  };
}

export function toRequestBody(request: ModelRequest): object {
  const { contents, systemInstruction, tools, toolConfig, safetySettings, generationConfig } = request;
  const { serviceTier, continuationToken } = request;
  return {
    ...{ contents, systemInstruction, tools, toolConfig, safetySettings, generationConfig },
    ...{ serviceTier, continuationToken },
  };
}

/** Appends `path` to the path of `base`; drops a query or fragment of the base. */
export function endpointUrl(base: URL, path: string): URL {
  return new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/${path}`);
}

/** `models/<id>`, or `tunedModels/<id>`. Throws AppError `usage` for an id that would lead to another path. */
export function modelPath(model: string): string {
  const [, collection = 'models', id = ''] = /^(?:(models|tunedModels)\/)?(.*)$/s.exec(model) ?? [];
  return `${collection}/${encodeURIComponent(parseModelId(id, model))}`;
}

/** Safe in a URL path. Throws AppError `usage`, quoting the `model` it was taken from. */
export function parseModelId(id: string, model: string): string {
  if (/^[\w@-][\w.@:-]*$/.test(id) && !id.includes('..')) return id;
  throw new AppError('usage', `"${model.slice(0, 100)}" is not a model id`, {
    hint: 'gmn models lists the known ones.',
  });
}

/** Whether the text is a valid Google Cloud project: an id, `domain.example:id`, or a number. */
export function isProjectName(text: string): boolean {
  return /^[a-z\d][a-z\d.:-]{0,100}$/i.test(text);
}

export interface Identity {
  readonly kind: CredentialKind;
  readonly canRefresh: boolean;
  readonly authHint: string;
  /** The credential headers; with `refresh`, those of a new token. Throws AppError `auth`. */
  headers(options: HeaderOptions): Promise<Readonly<Record<string, string>>>;
  readonly secrets: ReadonlySet<string>;
}

interface HeaderOptions {
  readonly signal: AbortSignal;
  readonly refresh: boolean;
  /** With `refresh`: the headers the server rejected; absent: the latest ones. */
  readonly refused?: Readonly<Record<string, string>>;
}

/** Headers that hold a secret, alone or after the word `Bearer`. */
export const SECRET_HEADERS: readonly string[] = ['authorization', 'x-goog-api-key'];

export function createIdentity(credential: Credential, carrier: AuthScheme, quotaProject?: string): Identity {
  const secrets = new Set<string>();
  const charged: Readonly<Record<string, string>> =
    carrier === 'bearer' && quotaProject ? { 'x-goog-user-project': quotaProject } : {};
  return {
    kind: carrier === 'key' ? 'key' : 'account',
    canRefresh: credential.refresh !== undefined,
    authHint: authHint(credential, carrier),
    async headers({ signal, refresh, refused }) {
      if (refresh) await credential.refresh?.(signal, refused);
      const headers = { ...charged, ...(await credential.headers(signal)) };
      for (const [name, value] of Object.entries(headers)) {
        checkHeader(value, credential);
        const secret = SECRET_HEADERS.includes(name.toLowerCase()) ? value.replace(/^Bearer /, '') : '';
        if (secret !== '') secrets.add(secret);
      }
      return headers;
    },
    secrets,
  };
}

/** A pasted line break would make the header invalid, and the HTTP client does not say which value is at fault. */
function checkHeader(value: string, credential: Credential): void {
  if (/^[\x20-\x7e]*$/.test(value)) return;
  throw serverError('auth', `${credential.source} contains characters that cannot be sent`, {
    hint: 'Copy it again: all of it, and nothing else.',
  });
}

const KEY_URL = 'https://aistudio.google.com/apikey';

/** Why a key of this kind may be refused, though it was valid once. */
const REFUSED_KEYS: Readonly<Record<KeyKind, string>> = {
  standard: 'It is a standard key (AIza…), a kind that Google is retiring.',
  auth: 'It is an auth key (AQ.…), which lives as long as its service account.',
};

function authHint({ type, source, keyKind }: Credential, carrier: AuthScheme): string {
  if (carrier === 'key') {
    if (type === 'vertex-ai') return `Set ${source} to a valid key.`;
    const why = keyKind === undefined ? '' : `${REFUSED_KEYS[keyKind]} `;
    return source === 'GEMINI_API_KEY'
      ? `${why}Set GEMINI_API_KEY to a valid key: ${KEY_URL}`
      : `${why}Store a valid key: gmn auth set-key (${KEY_URL})`;
  }
  if (source === 'GOOGLE_CLOUD_ACCESS_TOKEN') return 'Set GOOGLE_CLOUD_ACCESS_TOKEN to a token that is still valid.';
  return type === 'oauth-personal'
    ? 'Please re-authenticate using: gemini'
    : 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS';
}
