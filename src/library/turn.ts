import { AppError } from '../core/error.ts';
import { createAbortable, followSignal } from '../platform/runtime/abort.ts';
import type { Renderer } from '../render/renderer.ts';
import { createAnswerCollector } from './answer.ts';
import { toGmnError, turnCancelledError } from './error.ts';
import type * as Public from './gmn.d.ts';
import { createRecording } from './recording.ts';
import { toAnswerSchema } from './schema.ts';
import { checkSignal } from './setup.ts';

export interface TurnContext {
  readonly signal: AbortSignal;
  /** Takes notices, too, which may come between the events. */
  readonly show: Renderer;
  /** A JSON Schema for the answer, as text. */
  readonly schema: string | undefined;
  /** Adds an event that does not wait for its readers. */
  readonly push: (event: Public.GmnEvent) => void;
  /** Ends the turn at once with this error. */
  readonly fail: (error: AppError) => void;
}

interface TurnOptions {
  readonly signal: AbortSignal | undefined;
  readonly thoughts: boolean | undefined;
  /** As the caller gave it. */
  readonly schema: unknown;
  /** Asks, and shows the events. Called once, when somebody wants to know. May throw. */
  readonly run: (context: TurnContext) => Promise<void>;
}

/** What `ask` and `send` return. A turn that is cancelled is over at once; what it has opened is closed after that. */
export function createTurn({ signal: given, thoughts = false, schema, run }: TurnOptions): Public.Turn<unknown> {
  const controller = createAbortable();
  const { signal } = controller;
  let collector: ReturnType<typeof createAnswerCollector> | undefined;

  const fail = (error: AppError, sessionId?: string): void => {
    if (collector?.answer() !== undefined) return;
    recording.fail(toGmnError(error, { partial: collector?.partial(), sessionId }));
    controller.abort(error);
  };

  const recording = createRecording<Public.GmnEvent, Public.Answer<unknown>>({
    async work(emit) {
      let unfollow: (() => void) | undefined;
      try {
        checkSignal(given);
        if (given?.aborted) throw turnCancelledError(given.reason);
        unfollow = given && followSignal(given, () => fail(turnCancelledError(given.reason)));
        const wanted = schema === undefined ? undefined : toAnswerSchema(schema);
        const push = (event: Public.GmnEvent): void => void emit(event);
        collector = createAnswerCollector({ showThoughts: thoughts, readJson: wanted?.read, emit, onFailure: fail });
        await run({ signal, show: collector.render, schema: wanted?.text, push, fail });
        const answer = collector.answer();
        if (answer !== undefined) return answer;
        throw new AppError('internal', 'the turn has no ending');
      } catch (thrown) {
        throw toGmnError(thrown, { partial: collector?.partial() });
      } finally {
        unfollow?.();
      }
    },
    onAbandoned: () => fail(turnCancelledError()),
  });

  const result = (): Promise<Public.Answer<unknown>> => recording.result();
  return {
    // biome-ignore lint/suspicious/noThenProperty: it is a promise that begins when it is awaited
    then: (onFulfilled, onRejected) => result().then(onFulfilled, onRejected),
    catch: (onRejected) => result().catch(onRejected),
    finally: (onFinally) => result().finally(onFinally),
    [Symbol.toStringTag]: 'Turn',
    [Symbol.asyncIterator]: () => recording.read(),
    text: async () => (await result()).text,
    async json() {
      if (schema === undefined) {
        throw toGmnError(new AppError('usage', 'json() needs a schema', { hint: 'Pass one: ask(prompt, { schema })' }));
      }
      return (await result()).json;
    },
    files: async () => (await result()).files,
    cancel: () => fail(turnCancelledError()),
  };
}
