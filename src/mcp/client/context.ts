import type { App } from '../../core/app.ts';
import type { NamedServer } from './definition.ts';
import type { Connection, Elicit } from './types.ts';

/** What connections need from around them; an App is one. */
export interface ClientContext
  extends Pick<App, 'env' | 'cwd' | 'version' | 'clock' | 'homes' | 'trace' | 'httpTimers'> {
  /** Directories that a server which the user trusts may be told of; none unless given. */
  readonly roots?: readonly string[];
  /** Absent: there is nobody to ask, and servers are told so. */
  readonly elicit?: Elicit;
  /** Absent: whoever must sign in is told how, and nothing is opened. */
  readonly signIn?: SignInPrompt;
}

/** How a person is asked to sign in at a server. */
export interface SignInPrompt {
  /** Shows an address, and opens it where that is wanted. It is https, or on this machine; untrusted text all the same. */
  readonly show: (url: string) => Promise<void>;
  /**
   * Asks for the address at which the browser ended, where that cannot reach this machine; anew if the last one was of no use.
   * Undefined once the signal is aborted. Absent: there is nobody to ask. Throws AppError `interrupted` at the person's word.
   */
  readonly paste?: (last: { readonly isRefused: boolean }, signal: AbortSignal) => Promise<string | undefined>;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called when the waiting for the person begins and ends, so that no clock runs meanwhile. */
  readonly onBegin?: () => void;
  readonly onEnd?: () => void;
}

/**
 * Starts or calls a server and greets it. Throws AppError `mcp` with the server's own words if that fails or takes too long,
 * and the signal's reason after an abort; nothing is left running then.
 */
export type Connect = (server: NamedServer, context: ClientContext, signal: AbortSignal) => Promise<Connection>;
