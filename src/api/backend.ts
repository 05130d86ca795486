import type { HttpRequest } from '../core/http.ts';
import type { ModelRequest } from '../core/model.ts';
import type { CredentialKind } from './failure.ts';
import type { HeaderOptions, Identity } from './identity.ts';

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
export interface Draft {
  readonly url: URL;
  readonly body: object;
}

/** What is particular to one backend; what is absent is as `backendOf` says. */
export interface BackendTraits extends Pick<Backend, 'name' | 'mend' | 'notFoundHint'> {
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
