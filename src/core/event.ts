import { AppError } from './error.ts';
import type { JsonObject } from './json.ts';
import type { ToolOutcome } from './tool.ts';
import type { Usage } from './usage.ts';

/**
 * Everything a run tells the world. Renderers, the chat loop and jobs all consume this one union.
 * Deltas are small: they never repeat what came before.
 */
export type TurnEvent =
  /** What is being waited for now, in a few words; until the next event. */
  | { readonly type: 'wait'; readonly what: string }
  /**
   * The server took the request. `model` is the one asked for; `sessionId` is there if the run is going to be saved, and with
   * `isResumable` it can be gone on with from now on, whatever becomes of this process.
   */
  | { readonly type: 'begin'; readonly model: string; readonly sessionId?: string; readonly isResumable?: boolean }
  /**
   * Well-formed text: a character is never split over two deltas. `pieces` is the same as the server had cut it, if it came
   * in more than one.
   */
  | { readonly type: 'text'; readonly delta: string; readonly pieces?: readonly string[] }
  | { readonly type: 'thought'; readonly delta: string }
  | {
      readonly type: 'call';
      readonly id: string;
      readonly name: string;
      readonly args: JsonObject;
    }
  | {
      readonly type: 'answer';
      readonly id: string;
      readonly name: string;
      /** What it ran with, if a person changed that. */
      readonly args?: JsonObject;
      readonly outcome: ToolOutcome;
    }
  /**
   * Words for the person: stderr in text, `warnings` in the JSON formats. `isDenial`: a call of the model was not run
   * because nobody could be asked; that is said with --quiet too.
   */
  | { readonly type: 'notice'; readonly message: string; readonly isDenial?: true }
  | Ending;

/** Every stream of events has exactly one of these, and it comes last. */
type Ending =
  | {
      readonly type: 'end';
      readonly finishReason: string;
      readonly usage: Usage;
      /** The model that really answered, as the server names it. */
      readonly model: string;
      /** Present exactly when the run is saved. */
      readonly sessionId?: string;
      /** The code block that was asked for, of which the text is only the context. */
      readonly extracted?: string;
      /** Where the model searched the web: what it found there. */
      readonly sources?: readonly Source[];
      /** Words for the person that belong below the answer. */
      readonly notices?: readonly string[];
    }
  | {
      readonly type: 'failure';
      readonly error: AppError;
      /** Present exactly when what had been said is saved. */
      readonly sessionId?: string;
    };

/** A page on the web that an answer is founded on. */
export type Source = { readonly title: string; readonly uri: string };

/** Turns a stream that may throw into one that always has an Ending. The only such adapter. */
export async function* settle(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent, void> {
  try {
    yield* events;
  } catch (thrown) {
    const error = AppError.from(thrown);
    yield { type: 'failure', error };
    error.isTold = true;
  }
}

/** For the `default` of a switch that names every case: a new case fails to compile until it is handled. */
export function unreachable(value: never): never {
  throw new AppError('internal', `unexpected value: ${JSON.stringify(value)}`);
}
