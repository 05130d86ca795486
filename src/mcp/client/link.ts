import type { ClientContext } from './context.ts';
import type { NamedServer } from './definition.ts';
import type { Sdk, SdkTransport } from './sdk.ts';

/** An open way to a server: what the SDK talks over, and what we know of the other end. */
export interface Link {
  readonly transport: SdkTransport;
  /** Whether the SDK should find out by itself which era of the protocol is spoken. */
  readonly era: 'legacy' | 'auto';
  /** What the other end had to say besides the protocol, and how it ended, once that is known. Untrusted text. */
  lastWords(): Promise<string>;
  /** Why gmn itself has ended it, in gmn's words; undefined if it has not. */
  readonly left?: () => string | undefined;
  /** How often somebody has signed in since it was opened. */
  readonly signIns?: () => number;
  /** What must not be shown, besides what is secret in the definition. */
  readonly secrets?: () => readonly string[];
  /** Ends it at once, and all behind it. Never rejects; may be called twice. */
  close(): Promise<void>;
}

/** Opens a way to a server. `sdk` is being loaded meanwhile. May throw AppError. */
export type OpenLink = (server: NamedServer, context: ClientContext, sdk: Promise<Sdk>) => Promise<Link>;
