import type { JsonObject, JsonValue } from './json.ts';

/** What a server asks the person for, a form or an address to open. Untrusted text. */
export type Elicitation =
  | {
      readonly kind: 'form';
      readonly server: string;
      readonly message: string;
      readonly schema: JsonObject;
      /** What is wrong with the value of a field; undefined if the schema takes it. */
      readonly findFault?: (field: string, value: JsonValue) => Promise<string | undefined>;
    }
  | { readonly kind: 'url'; readonly server: string; readonly message: string; readonly url: string };

export type ElicitationAnswer =
  | {
      readonly action: 'accept';
      readonly content: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: 'decline' | 'cancel' };

/** Asks the person on a server's behalf; only where there is a terminal. Throws nothing but the signal's reason. */
export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
