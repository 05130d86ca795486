import { AppError } from './error.ts';
import type { JsonObject } from './json.ts';
import type { CommandExit, ToolResult } from './tool.ts';
import type { Usage } from './usage.ts';

/** Everything a run reports, to renderers, the chat loop and jobs. A delta never repeats earlier text. */
export type TurnEvent =
  /** Holds until the next event. `calls` are the tool calls that have started to run, if it is waiting for these. */
  | { readonly type: 'wait'; readonly what: string; readonly calls?: readonly string[] }
  /** `sessionId`: the run will be saved; `isResumable`: it can be resumed even if this process is killed now. `jobId`: it is a job. */
  | {
      readonly type: 'begin';
      readonly model: string;
      readonly sessionId?: string;
      readonly isResumable?: boolean;
      readonly jobId?: string;
    }
  /** Well-formed text, as the server split it: a character is never split across two deltas. */
  | { readonly type: 'text'; readonly delta: string }
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
      readonly args?: JsonObject;
      readonly outcome: ToolResult;
      readonly elapsedMs?: number;
    }
  /** The command of `--verify` has run; `output` is the end of what it printed. It may be untrusted text. */
  | {
      readonly type: 'verify';
      readonly command: string;
      readonly exit: CommandExit;
      readonly output: string;
      readonly elapsedMs: number;
    }
  /** What the service itself did while it answered, as `--code` and `--url` let it. Untrusted text. */
  | { readonly type: 'service'; readonly step: ServiceStep }
  /** A picture, or another file, of the answer. It comes once the reply is in the history. */
  | { readonly type: 'file'; readonly file: AnswerFile }
  /**
   * A message to the user: on stderr in text, in `warnings` in the JSON formats. `isDenial`: a tool call was not run
   * because nobody could be asked, or it failed to write a file; this is shown even with --quiet. `isUrgent`: it says what
   * the run waits for, or what a person has to do now.
   */
  | { readonly type: 'notice'; readonly message: string; readonly isDenial?: true; readonly isUrgent?: true }
  | Ending;

export type NoticeEvent = Extract<TurnEvent, { type: 'notice' | 'wait' }>;

/** Says something beside the answer: a message to the user, or what the run waits for. It is shown before later events. */
export type Notify = (notice: string | NoticeEvent) => void;

/** Every event stream has exactly one of these, as its last event. */
type Ending =
  | {
      readonly type: 'end';
      readonly finishReason: string;
      readonly usage: Usage;
      /** The cost of all model calls of the run, in dollars. Absent if one is not known, or it was not asked for. */
      readonly cost?: number;
      readonly model: string;
      readonly sessionId?: string;
      /** The job whose end this is: `gmn jobs`. */
      readonly jobId?: string;
      /** The code block that the user asked for; the text is only its context. */
      readonly extracted?: string;
      readonly sources?: readonly Source[];
      /** The tier that served the last reply, if one was asked for or it is not the standard one. */
      readonly serviceTier?: string;
      readonly notices?: readonly string[];
    }
  | {
      readonly type: 'failure';
      readonly error: AppError;
      /** Present only if the partial answer is saved. */
      readonly sessionId?: string;
    };

export type Source = { readonly title: string; readonly uri: string };

/** A step of the service's own tools; the same object is in both JSON formats. */
export type ServiceStep =
  | { readonly kind: 'code'; readonly language: string; readonly code: string }
  | { readonly kind: 'result'; readonly ok: boolean; readonly outcome: string; readonly output: string }
  | { readonly kind: 'page'; readonly url: string; readonly ok: boolean; readonly status: string };

export type PageStep = Extract<ServiceStep, { kind: 'page' }>;

export interface AnswerFile {
  readonly mimeType: string;
  readonly data: string;
  readonly saved?: SavedFile;
}

export interface SavedFile {
  readonly path: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** The user named it for the answer. */
  readonly isNamed?: true;
}

/** Turns a stream that may throw, or fail to open, into one that always ends with an Ending. */
export async function* settle(
  events: AsyncIterable<TurnEvent> | Promise<AsyncIterable<TurnEvent>>,
): AsyncGenerator<TurnEvent, void> {
  try {
    yield* await events;
  } catch (thrown) {
    yield* toFailure(thrown);
  }
}

/** The ending for an error; the only place that makes one. `sessionId` is given if the answer so far is saved. */
export function* toFailure(thrown: unknown, sessionId?: string): Generator<Ending, void> {
  const error = AppError.from(thrown);
  yield { type: 'failure', error, sessionId };
  error.isReported = true;
}

export function toNoticeEvent(notice: Parameters<Notify>[0]): NoticeEvent {
  return typeof notice === 'string' ? { type: 'notice', message: notice } : notice;
}

export function toNotices(messages: readonly string[]): readonly Extract<TurnEvent, { type: 'notice' }>[] {
  return messages.map((message) => ({ type: 'notice', message }));
}

export function assertNever(value: never): never {
  throw new AppError('internal', `unexpected value: ${JSON.stringify(value)}`);
}
