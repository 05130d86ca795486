import type { StoredContent } from '../../core/content.ts';
import type { DecisionAnswers, DecisionQuestions } from '../../core/decision.ts';
import type { TurnEvent } from '../../core/event.ts';
import type { History } from '../../core/history.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ThinkingLevel } from '../../core/model.ts';
import type { SessionStore, SessionSummary } from '../../core/session.ts';
import type { Usage } from '../../core/usage.ts';
import type { BuiltInModel } from '../../models/table.ts';

export interface TurnRequest {
  readonly prompt: StoredContent;
  readonly model?: string;
  readonly builtIn?: BuiltInModel;
  /** Never the name of a file. */
  readonly systemText?: string;
  /** The directory that the model's tools work in, with links resolved. Absent: the model has no tools. */
  readonly directory?: string;
  /** A command that must succeed when the model says it is done. Only with `directory`, if commands are allowed. */
  readonly verify?: string;
  readonly storage: TurnStorage;
  /** Gets the session the turn is saved in, if it is not that of `storage`; undefined if it cannot be continued. */
  readonly onSession?: (sessionId: string | undefined) => void;
  readonly sampling?: TurnSampling;
  readonly generationConfig?: JsonObject;
  readonly safetySettings?: readonly JsonObject[];
  readonly isGrounded?: boolean;
  readonly timeoutMs?: number;
  /** Its reason is an AppError. */
  readonly signal: AbortSignal;
}

interface TurnSampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly thinkingLevel?: ThinkingLevel;
}

export type TurnStorage =
  | {
      readonly kind: 'session';
      readonly cwd: string;
      readonly earlier?: SessionSummary;
      readonly name?: string;
    }
  | { readonly kind: 'history'; readonly history: History };

interface StartedTurn {
  /** Ends with exactly one final event; never throws. */
  readonly events: AsyncGenerator<TurnEvent, void>;
  readonly refused: readonly string[];
}

export interface ServedDecision {
  readonly model: string;
  readonly answers: DecisionAnswers;
  readonly usage: Usage;
  readonly cost?: number;
}

export interface Engine {
  /** Throws AppError if the turn cannot begin. The caller must hold the lock of the session it continues. */
  startTurn(request: TurnRequest): Promise<StartedTurn>;
  readonly sessions: SessionStore;
  countTokens(text: string, signal: AbortSignal): Promise<{ readonly model: string; readonly totalTokens: number }>;
  embed(text: string, signal: AbortSignal): Promise<{ readonly model: string; readonly values: readonly number[] }>;
  /** What the questions are about is `text`. Throws AppError `auth` if the backend has no decisions. */
  decide(
    task: { readonly text: string; readonly questions: DecisionQuestions },
    signal: AbortSignal,
  ): Promise<ServedDecision>;
  /** Only from https addresses of the public internet. Throws AppError `api`. */
  fetchBytes(url: URL, signal: AbortSignal): Promise<Uint8Array>;
  /** In dollars; undefined if it is not known. */
  computeFlashCost(usage: Usage): Promise<number | undefined>;
  describeModels(): { readonly text: string; readonly document: JsonObject };
}
