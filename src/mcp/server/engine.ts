import type { Content } from '../../core/content.ts';
import type { TurnEvent } from '../../core/event.ts';
import type { History } from '../../core/history.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SessionStore, SessionSummary } from '../../core/session.ts';
import type { BuiltInModel, ThinkingLevel } from '../../models/table.ts';

/** One prompt for the model, as a tool call asks it. */
export interface TurnRequest {
  readonly prompt: Content;
  /** An id or an alias. */
  readonly model?: string | undefined;
  /** Asked if `model` names none; gmn's default unless given. */
  readonly builtIn?: BuiltInModel;
  /** The very words: never the name of a file. */
  readonly systemText?: string | undefined;
  /** Where the model's tools may look, free of links; absent: it has none. */
  readonly directory?: string | undefined;
  readonly kept: Kept;
  /** Hears in which session it is saved, if not in that of `kept`; undefined: in none that somebody could go on with. */
  readonly onSession?: (sessionId: string | undefined) => void;
  readonly sampling?: TurnSampling;
  /** More for `generationConfig`. */
  readonly generationConfig?: JsonObject;
  readonly safetySettings?: readonly JsonObject[] | undefined;
  /** Whether the answer is grounded in Google Search. */
  readonly isGrounded?: boolean;
  /** Ten minutes unless given. */
  readonly timeoutMs?: number;
  /** Its reason is an AppError. */
  readonly signal: AbortSignal;
}

export interface TurnSampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly thinkingLevel?: ThinkingLevel;
}

/** Where a turn is kept: in a session of the CLI, a new one unless it goes on with one, or with the caller. */
export type Kept =
  | { readonly kind: 'session'; readonly cwd: string; readonly earlier?: SessionSummary | undefined }
  | { readonly kind: 'history'; readonly history: History };

/** A turn that is under way. Its events must be read to their end, or left. */
interface StartedTurn {
  /** Ends with exactly one ending; never throws. */
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** The calls of the model that were not allowed so far, in words. */
  readonly refused: readonly string[];
}

/** Everything the tools of the server ask of the rest of gmn. */
export interface Engine {
  /** Throws AppError if the turn cannot begin. A session that it goes on with must be free. */
  startTurn(request: TurnRequest): Promise<StartedTurn>;
  readonly sessions: SessionStore;
  /** Resolves when every turn that has ended is written down. */
  settled(): Promise<void>;
  /** Throws AppError `auth`, `api` or `config`. */
  countTokens(text: string, signal: AbortSignal): Promise<{ readonly model: string; readonly totalTokens: number }>;
  /** Throws AppError `auth`, `api`, `config`, or `usage` where the service makes none. */
  embed(text: string, signal: AbortSignal): Promise<{ readonly model: string; readonly values: readonly number[] }>;
  /** The bytes behind an https address of the public internet. Throws AppError `api`. */
  fetchBytes(url: URL, signal: AbortSignal): Promise<Uint8Array>;
  /** The models gmn knows, as a table and as a document. */
  models(): { readonly text: string; readonly document: JsonObject };
}
