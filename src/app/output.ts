import type { App, OutputFormat } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { type TurnEvent, toFailure } from '../core/event.ts';
import { type Env, type Io, NEVER_REDRAWN, type Out, wrapOut } from '../core/io.ts';
import { extractCodeBlocks } from '../core/text/code-block.ts';
import { formatSize } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { type OutputFile, openOutputFile } from '../platform/files/write.ts';
import { findClipboardWriter, writeClipboard } from '../platform/process/clipboard.ts';
import { showInPager } from '../platform/process/editor.ts';
import { TTY_PATH } from '../platform/terminal/tty.ts';
import { createStderr } from '../render/stderr.ts';
import { type PrintOptions, printReport, type Report } from './report.ts';

export interface Output {
  readonly io: Io;
  /** The events to show. Throws AppError `usage` before the run begins if the output file cannot be written. */
  events(run: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent, void>;
  close(): Promise<void>;
}

/** Applies `-x`, `--output-file`, `--copy`, `--pager` and `--no-stream` to a run. */
export function openOutput(options: OutputContext, app: App): Output {
  const pages = isPaged(options, app.env, app.io.out) ? createPagedIo(app, options.quiet === true) : undefined;
  return {
    io: pages?.io ?? app.io,
    async *events(run) {
      try {
        const file =
          options.outputFile === undefined
            ? undefined
            : await openOutputFile(options.outputFile, app.cwd, options.isFileSynced);
        const clipboard = options.copy ? openClipboard(app) : undefined;
        for await (const event of routeEvents(run, options, { file, name: options.outputFile ?? '', clipboard })) {
          // Print what has arrived before the error.
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

interface Targets {
  readonly file: OutputFile | undefined;
  readonly name: string;
  readonly clipboard: ReturnType<typeof openClipboard> | undefined;
}

async function* routeEvents(
  run: AsyncIterable<TurnEvent>,
  options: OutputContext,
  targets: Targets,
): AsyncGenerator<TurnEvent, void> {
  const isText = (options.outputFormat ?? 'text') === 'text';
  const isHeld = isText && (wantsExtract(options) || options.noStream === true);
  let whole = '';
  let last = '';
  let isFileTaken = false;
  for await (const event of run) {
    if (event.type === 'file' && event.file.saved?.isNamed) isFileTaken = true;
    if (event.type === 'answer' || (event.type === 'verify' && event.exit.code !== 0)) last = '';
    if (event.type === 'text') {
      whole += event.delta;
      last += event.delta;
    }
    // Show the text that arrived before the failure; with -x show nothing, since the code may be incomplete.
    if (event.type === 'failure' && isHeld && !wantsExtract(options) && whole !== '')
      yield { type: 'text', delta: whole };
    if (event.type === 'end') {
      const free = isFileTaken ? { ...targets, file: undefined } : targets;
      yield* finishOutput(event, { whole, last, isHeld }, { options, targets: free });
    } else if (!isHeld || event.type !== 'text') yield event;
  }
}

interface AnswerText {
  readonly whole: string;
  readonly last: string;
  readonly isHeld: boolean;
}

type End = Extract<TurnEvent, { type: 'end' }>;

async function* finishOutput(
  end: End,
  { whole, last, isHeld }: AnswerText,
  { options, targets }: { readonly options: OutputContext; readonly targets: Targets },
): AsyncGenerator<TurnEvent, void> {
  try {
    const code = wantsExtract(options) ? requireBlock(last, options, isHeld) : undefined;
    if (isHeld && (code ?? whole) !== '') yield { type: 'text', delta: code ?? whole };
    const notices = await writeTargets(code ?? whole, targets);
    const extracted = isHeld ? undefined : code;
    yield { ...end, extracted, notices: notices.length === 0 ? undefined : notices };
  } catch (thrown) {
    // The run itself succeeded, and may have been saved.
    yield* toFailure(thrown, end.sessionId);
  }
}

function wantsExtract({ extract, extractLast }: OutputContext): boolean {
  return Boolean(extract || extractLast);
}

function requireBlock(text: string, { extractLast }: OutputContext, isHeld: boolean): string {
  const blocks = extractCodeBlocks(text);
  const block = extractLast ? blocks.at(-1) : blocks[0];
  if (block !== undefined) return block;
  throw new AppError('usage', 'there is no code block in the answer', {
    hint: 'Ask for code in a fenced block, or leave -x out.',
    answer: isHeld ? text : undefined,
  });
}

/** Writes the same bytes that a pipe would get. */
async function writeTargets(answer: string, { file, name, clipboard }: Targets): Promise<readonly string[]> {
  const notices: string[] = [];
  if (file !== undefined) {
    const size = await file.write(answer.endsWith('\n') ? answer : `${answer}\n`);
    notices.push(`wrote ${name} (${size} ${size === 1 ? 'byte' : 'bytes'})`);
  }
  if (clipboard !== undefined) notices.push(await clipboard.copy(answer));
  return notices;
}

export interface OutputOptions {
  readonly extract?: boolean;
  readonly extractLast?: boolean;
  readonly outputFile?: string;
  readonly copy?: boolean;
  readonly pager?: boolean;
  readonly noStream?: boolean;
}

interface OutputContext extends OutputOptions {
  readonly outputFormat?: OutputFormat;
  readonly dryRun?: boolean;
  readonly countTokens?: boolean;
  readonly quiet?: boolean;
  /** Whether the output file survives a power failure, too. */
  readonly isFileSynced?: boolean;
}

/** Pages only text on a terminal, if the flag or `GMN_PAGER` asks for it. */
function isPaged({ pager, outputFormat = 'text', dryRun, countTokens }: OutputContext, env: Env, out: Out) {
  return Boolean(pager || env.GMN_PAGER) && outputFormat === 'text' && !dryRun && !countTokens && out.isTerminal;
}

/** The clipboard program of this machine, else the terminal (OSC 52), also over SSH. Throws AppError `usage`. */
function openClipboard({ env, cwd, io, signal }: App) {
  const isRemote = Boolean(env.SSH_CONNECTION || env.SSH_TTY);
  const writer = isRemote ? undefined : findClipboardWriter(env);
  if (writer === undefined && !io.err.isTerminal) {
    throw new AppError('usage', '--copy found no clipboard: there is no terminal and no display', {
      hint: 'Pass the answer to a program of yours: gmn "…" | <program>',
    });
  }
  return {
    /** Resolves with a notice about the copy. */
    async copy(text: string): Promise<string> {
      if (writer === undefined) await io.err.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
      else await writeClipboard(text, writer, { env, cwd }, signal);
      return `copied ${formatSize(Buffer.byteLength(text))}`;
    },
  };
}

/** A report with no more lines than this fits any usual window. */
const WINDOW_LINES = 22;

export async function printPaged(report: Report, options: PrintOptions, app: App): Promise<0> {
  const isLong = report.text.split('\n').length > WINDOW_LINES;
  if (options.json || !app.io.out.isTerminal || !isLong) return printReport(report, options, app);
  // Only a pager that the user named is worth a notice if it does not work.
  const isNamed = Boolean(app.env.GMN_PAGER || app.env.PAGER);
  const pages = createPagedIo(app, options.quiet === true || !isNamed);
  await printReport(report, options, { ...app, io: pages.io });
  await pages.show();
  return 0;
}

/** -F leaves a short answer on the screen, -R shows colours, -X does not clear the screen. */
const PAGER = 'less -FRX';

/** The pager is `GMN_PAGER`, else `PAGER`. Reports a pager that does not work unless `isQuiet`. */
function createPagedIo({ io, env, signal }: App, isQuiet: boolean) {
  const { out, err } = io;
  const pager = env.GMN_PAGER || env.PAGER || PAGER;
  let text = '';
  let isHeld = true;
  const write = async (chunk: string): Promise<void> => {
    if (!isHeld) return out.write(chunk);
    text += chunk;
  };
  /** Writes the collected text to stdout, and everything after it directly. */
  const abandon = async (): Promise<void> => {
    isHeld = false;
    const rest = text;
    text = '';
    if (rest !== '') await out.write(rest);
  };
  return {
    io: { err, out: wrapOut(out, { ...NEVER_REDRAWN, rows: undefined, write }) },
    abandon,
    async show(): Promise<void> {
      if (text === '') return;
      if (await showInPager({ text, pager, env, terminal: TTY_PATH }, signal)) text = '';
      else if (!isQuiet) await createStderr(err).notice(`the pager does not work: ${sanitize(pager)}`);
      await abandon();
    },
  };
}
