import { resolve } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import { codeBlocks } from '../core/text/code-block.ts';
import { type OutputFile, openOutputFile } from '../platform/files/output-file.ts';
import { type Clipboard, openClipboard } from './output-clipboard.ts';
import { isPaged, type OutputSetting } from './output-options.ts';
import { pagedIo } from './output-pager.ts';

/** What becomes of an answer besides being shown. */
export interface Output {
  /** What the renderer writes to. */
  readonly io: Io;
  /** The events of a run, as they are to be shown. Throws AppError `usage` before the run begins if the file cannot be written. */
  events(run: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent, void>;
  /** After the last event. */
  close(): Promise<void>;
}

/** What `-x`, `--output-file`, `--copy`, `--pager` and `--no-stream` make of a run. */
export function openOutput(options: OutputSetting, app: App): Output {
  const pages = isPaged(options, app.env, app.io.out) ? pagedIo(app, options.quiet === true) : undefined;
  return {
    io: pages?.io ?? app.io,
    async *events(run) {
      try {
        const file = options.outputFile === undefined ? undefined : await placeOf(options.outputFile, app);
        const clipboard = options.copy ? openClipboard(app) : undefined;
        for await (const event of shaped(run, options, { file, name: options.outputFile ?? '', clipboard })) {
          // An error belongs below what had come.
          if (event.type === 'failure') await pages?.abandon();
          yield event;
        }
      } catch (thrown) {
        await pages?.abandon();
        throw thrown;
      }
    },
    close: async () => pages?.show(),
  };
}

function placeOf(name: string, { cwd }: App): Promise<OutputFile> {
  return openOutputFile(resolve(cwd, name), name);
}

interface Targets {
  readonly file: OutputFile | undefined;
  readonly name: string;
  readonly clipboard: Clipboard | undefined;
}

async function* shaped(
  run: AsyncIterable<TurnEvent>,
  options: OutputSetting,
  targets: Targets,
): AsyncGenerator<TurnEvent, void> {
  const isText = (options.outputFormat ?? 'text') === 'text';
  const isHeld = isText && (isExtract(options) || options.noStream === true);
  let whole = '';
  /** What was said since the last tool answered. */
  let last = '';
  for await (const event of run) {
    if (event.type === 'answer') last = '';
    if (event.type === 'text') {
      whole += event.delta;
      last += event.delta;
    }
    // What had come is shown all the same; it is no code, unless it is complete.
    if (event.type === 'failure' && isHeld && !isExtract(options) && whole !== '') yield { type: 'text', delta: whole };
    if (event.type === 'end') yield* finished(event, { whole, last, isHeld }, { options, targets });
    else if (!isHeld || event.type !== 'text') yield event;
  }
}

interface Said {
  readonly whole: string;
  readonly last: string;
  /** Nothing of it was told yet. */
  readonly isHeld: boolean;
}

type End = Extract<TurnEvent, { type: 'end' }>;

async function* finished(
  end: End,
  { whole, last, isHeld }: Said,
  { options, targets }: { readonly options: OutputSetting; readonly targets: Targets },
): AsyncGenerator<TurnEvent, void> {
  try {
    const code = isExtract(options) ? wantedBlock(last, options, isHeld) : undefined;
    if (isHeld && (code ?? whole) !== '') yield { type: 'text', delta: code ?? whole };
    const notices = await delivered(code ?? whole, targets);
    const extracted = code === undefined || isHeld ? {} : { extracted: code };
    yield { ...end, ...extracted, ...(notices.length === 0 ? {} : { notices }) };
  } catch (thrown) {
    // The run itself went well, and may have been saved.
    const { sessionId } = end;
    yield { type: 'failure', error: AppError.from(thrown), ...(sessionId === undefined ? {} : { sessionId }) };
  }
}

function isExtract({ extract, extractLast }: OutputSetting): boolean {
  return Boolean(extract || extractLast);
}

function wantedBlock(text: string, { extractLast }: OutputSetting, isHeld: boolean): string {
  const blocks = codeBlocks(text);
  const block = extractLast ? blocks.at(-1) : blocks[0];
  if (block !== undefined) return block;
  throw new AppError('usage', 'there is no code block in the answer', {
    hint: 'Ask for code in a fenced block, or leave -x out.',
    ...(isHeld ? { answer: text } : {}),
  });
}

/** The same bytes that a pipe would get. */
async function delivered(answer: string, { file, name, clipboard }: Targets): Promise<readonly string[]> {
  const notices: string[] = [];
  if (file !== undefined) {
    const size = await file.write(answer.endsWith('\n') ? answer : `${answer}\n`);
    notices.push(`wrote ${name} (${size} ${size === 1 ? 'byte' : 'bytes'})`);
  }
  if (clipboard !== undefined) notices.push(await clipboard.copy(answer));
  return notices;
}
