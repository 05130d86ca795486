import type { JsonObject } from './json.ts';

/** What a server asks the person for, a form or an address to open. Untrusted text. */
export type Elicitation =
  | { readonly kind: 'form'; readonly server: string; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly server: string; readonly message: string; readonly url: string };

export type ElicitationAnswer =
  | {
      readonly action: 'accept';
      readonly content: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: 'decline' | 'cancel' };

/** Asks the person on a server's behalf; only where there is a terminal. Throws nothing but the signal's reason. */
export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
