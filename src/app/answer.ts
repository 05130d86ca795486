import type { App, OutputFormat } from '../core/app.ts';
import { type Notify, settle, type TurnEvent, toNoticeEvent } from '../core/event.ts';
import { callEvery, nextTurn } from '../platform/runtime/clock.ts';
import { showInOrder } from '../render/renderer.ts';
import { openRenderer } from '../render/renderers.ts';
import { openOutput } from './output.ts';

export interface AnswerOptions {
  readonly outputFormat?: OutputFormat;
  readonly outputFile?: string;
  readonly quiet?: boolean;
  readonly usage?: boolean;
}

export interface AnswerView {
  readonly notify: Notify;
  /** Has the work done once all of the answer has left gmn: a report that waits for its reader has reached nobody. */
  readonly afterDelivery: (work: () => Promise<void>) => void;
}

/** Shows what a job answers in the format of `-o`, and writes it to `--output-file`. Returns the exit code. */
export async function showAnswer(
  { outputFormat: format = 'text', outputFile, quiet = false, usage = false }: AnswerOptions,
  app: App,
  answer: (view: AnswerView) => AsyncIterable<TurnEvent>,
): Promise<number> {
  const isText = format === 'text';
  const output = openOutput({ outputFormat: format, outputFile, isFileSynced: true, quiet }, app);
  const render = await openRenderer(format, output.io, {
    ...{ quiet, showThoughts: !quiet, showUsage: usage, render: 'auto', rawOutput: false, dialect: 'gmn', prompt: '' },
    ...{ isDumb: app.env.TERM === 'dumb', pause: nextTurn, clock: app.clock, ticker: { every: callEvery } },
  });
  const show = showInOrder(render);
  const notify: Notify = (notice) => void show(toNoticeEvent(notice)).catch(() => {});
  const works: (() => Promise<void>)[] = [];
  const afterDelivery = (work: () => Promise<void>): void => void works.push(work);
  let exitCode = 0;
  let isOwnFailure = false;
  async function* answerOnce(): AsyncGenerator<TurnEvent, void> {
    try {
      yield* answer({ notify, afterDelivery });
    } catch (thrown) {
      isOwnFailure = true;
      throw thrown;
    }
  }
  for await (const event of settle(output.events(answerOnce()))) {
    // The text has the list of sources already.
    await show(isText && event.type === 'end' ? { ...event, sources: undefined } : event);
    if (event.type === 'failure') exitCode = event.error.exitCode;
  }
  await output.close();
  await app.io.out.flush?.();
  // What cannot be written where it was wanted is asked for again.
  if (exitCode === 0 || isOwnFailure) for (const work of works) await work();
  return exitCode;
}
