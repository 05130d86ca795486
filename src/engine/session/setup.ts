import type { KeptSetup } from '../../core/session.ts';

/** What a run continues, and how its turns are logged. */
export interface SessionSetup {
  /** How the resumed session was asked before; what the other groups name comes first. */
  readonly kept?: KeptSetup;
  /** Which kind of line a saved turn gets in the usage log. Absent: none. */
  readonly kind?: 'prompt' | 'chat' | 'serve';
}
