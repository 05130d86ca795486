import type { Carrier, Credential } from '../core/credential.ts';
import { AppError, refused } from '../core/error.ts';
import type { HttpRequest } from '../core/io.ts';
import type { ModelRequest } from '../core/model.ts';
import type { CredentialKind } from './failure.ts';

/** How one of Google’s servers takes a model request and gives its answer: everything that differs between them. */
export interface Backend {
  /** For the debug trace. */
  readonly name: string;
  readonly credential: CredentialKind;
  /** What to do when the credential is refused. */
  readonly authHint: string;
  /** Whether a 401 may be cured by `renew`. */
  readonly canRenew: boolean;
  /**
   * The request on the wire. May fetch a credential, and with `renew` must fetch a fresh one.
   * Throws AppError: `usage` for a request that cannot be sent, `auth` if there is no credential.
   */
  prepare(request: ModelRequest, options: HeaderOptions): Promise<HttpRequest>;
  /** The same without a credential and without asking anyone, for people to look at. */
  preview(request: ModelRequest): Promise<HttpRequest>;
  /** Takes the envelope off one event; gives back what it does not know. */
  unwrap(event: unknown): unknown;
  /** Every secret that was sent so far: not to be shown where words of the server are quoted. */
  readonly secrets: ReadonlySet<string>;
  /**
   * What was remembered may be wrong: true if `prepare` now gives another request, which may pass. Asked at most once a
   * call, with an answer outside 2xx. Absent: nothing is remembered.
   */
  mend?(refused: Refused, signal: AbortSignal): Promise<boolean>;
  /** What to do when there is no such model here. Absent: the usual. */
  notFoundHint?(model: string): string | undefined;
}

/** An answer outside 2xx. */
export interface Refused {
  readonly status: number;
  /** The start of the body, as it came: to be read, not to be quoted. */
  readonly body: string;
}

/** Where a request goes and what it says. */
interface Draft {
  readonly url: URL;
  readonly body: object;
}

/** What is particular to one backend; what is absent is as `backendOf` says. */
interface BackendTraits extends Pick<Backend, 'name' | 'mend' | 'notFoundHint'> {
  readonly identity: Identity;
  readonly userAgent: string;
  /** Without a signal nobody may be asked. Throws AppError `usage` for a request that cannot be sent. */
  draft(request: ModelRequest, signal?: AbortSignal): Draft | Promise<Draft>;
  readonly unwrap?: Backend['unwrap'];
}

/** A backend of these traits: its requests are JSON, the credential stands in a header only, events have no envelope. */
export function backendOf({ identity, userAgent, draft, ...traits }: BackendTraits): Backend {
  const written = ({ url, body }: Draft, credential: Readonly<Record<string, string>>): HttpRequest => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...credential },
    body: JSON.stringify(body),
  });
  /** What each request carried last: with several under way, the token that was refused need not be the newest. */
  const carried = new WeakMap<ModelRequest, Readonly<Record<string, string>>>();
  return {
    unwrap: (event) => event,
    ...traits,
    credential: identity.kind,
    authHint: identity.authHint,
    canRenew: identity.canRenew,
    secrets: identity.secrets,
    async prepare(request, options) {
      // The draft first: it may ask the server about the account, and that may bring a new token.
      const drafted = await draft(request, options.signal);
      const credential = await identity.headers({ refused: carried.get(request), ...options });
      carried.set(request, credential);
      return written(drafted, credential);
    },
    preview: async (request) => written(await draft(request), {}),
  };
}

/** `base` with `path` after whatever path it has; a query or fragment of the base is dropped. */
export function endpointUrl(base: URL, path: string): URL {
  return new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/${path}`);
}

/**
 * A model id as it stands in a URL path: `models/<id>`, or `tunedModels/<id>` if it says so itself.
 * Throws AppError `usage` for an id that would lead elsewhere.
 */
export function modelPath(model: string): string {
  const [, collection = 'models', id = ''] = /^(?:(models|tunedModels)\/)?(.*)$/s.exec(model) ?? [];
  return `${collection}/${encodeURIComponent(checkedModelId(id, model))}`;
}

/** `id`, if it may stand in a path. Throws AppError `usage`, naming the `model` it was taken from, if it would lead elsewhere. */
export function checkedModelId(id: string, model: string): string {
  if (/^[\w@-][\w.@:-]*$/.test(id) && !id.includes('..')) return id;
  throw new AppError('usage', `"${model.slice(0, 100)}" is not a model id`, {
    hint: 'gmn models lists the known ones.',
  });
}

/** Whether a text can be the name of a Google Cloud project: an id, `domain.example:id`, or a number. */
export function isProject(text: string): boolean {
  return /^[a-z\d][a-z\d.:-]{0,100}$/i.test(text);
}

/** A credential on the wire: fresh headers for each request, and its secrets kept out of whatever is quoted later. */
export interface Identity {
  readonly kind: CredentialKind;
  /** Whether a 401 may be cured by `renew`. */
  readonly canRenew: boolean;
  /** What to do when the credential is refused. */
  readonly authHint: string;
  /** The headers that carry it, with `renew` those of a new token. Throws AppError `auth`. */
  headers(options: HeaderOptions): Promise<Readonly<Record<string, string>>>;
  /** Every secret that `headers` ever gave, for `concealed`. */
  readonly secrets: ReadonlySet<string>;
}

interface HeaderOptions {
  readonly signal: AbortSignal;
  readonly renew: boolean;
  /** With `renew`: the headers that were turned down; absent: those given last. */
  readonly refused?: Readonly<Record<string, string>> | undefined;
}

/** The headers that hold a secret, whole or after the word `Bearer`. */
export const SECRET_HEADERS: readonly string[] = ['authorization', 'x-goog-api-key'];

/** A credential as the backends use it; a token's requests are charged to `quotaProject` if one is named. */
export function identity(credential: Credential, carrier: Carrier, quotaProject?: string): Identity {
  const secrets = new Set<string>();
  const charged = carrier === 'bearer' && quotaProject ? { 'x-goog-user-project': quotaProject } : {};
  return {
    kind: carrier === 'key' ? 'key' : 'account',
    canRenew: credential.renew !== undefined,
    authHint: authHint(credential, carrier),
    async headers({ signal, renew, refused }) {
      if (renew) await credential.renew?.(signal, refused);
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

/** A pasted line end would make the header invalid, with an error that helps nobody. */
function checkHeader(value: string, credential: Credential): void {
  if (/^[\x20-\x7e]*$/.test(value)) return;
  throw refused('auth', `${credential.source} holds characters that cannot be sent`, {
    hint: 'Copy it again, alone and whole.',
  });
}

const KEY_URL = 'https://aistudio.google.com/apikey';

function authHint({ type, source }: Credential, carrier: Carrier): string {
  if (carrier === 'key') {
    if (type === 'vertex-ai') return `Set ${source} to a valid key.`;
    return source === 'GEMINI_API_KEY'
      ? `Set GEMINI_API_KEY to a valid key: ${KEY_URL}`
      : `Store a valid key: gmn auth set-key (${KEY_URL})`;
  }
  if (source === 'GOOGLE_CLOUD_ACCESS_TOKEN') return 'Set GOOGLE_CLOUD_ACCESS_TOKEN to a token that is still valid.';
  return type === 'oauth-personal'
    ? 'Please re-authenticate using: gemini'
    : 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS';
}
