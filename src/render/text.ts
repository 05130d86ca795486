import type { AppError } from '../core/error.ts';
import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io, Out } from '../core/io.ts';
import { terminalFilter } from '../core/text/terminal.ts';
import type { TextWork } from '../core/text-work.ts';
import type { Usage } from '../core/usage.ts';
import { loadLive, openMarkdown } from './lazy.ts';
import type { LiveArea } from './live.ts';
import type { MarkdownStream, Preview } from './markdown/stream.ts';
import type { Renderer, RenderOptions } from './renderer.ts';
import { createProgress } from './spinner.ts';
import { createStderr, type Stderr } from './stderr.ts';

/**
 * `-o text`: the model's text on stdout as it streams, ended by exactly one newline; all messages to the user on
 * stderr. A pipe gets the exact text.
 */
export function textRenderer(io: Io, options: RenderOptions): Renderer {
  const startedMs = options.clock.now();
  const page = textPage(io, options);
  const calls = new Map<string, Extract<TurnEvent, { type: 'call' }>>();
  return async (event: TurnEvent) => {
    switch (event.type) {
      case 'wait': {
        if (event.calls === undefined || options.quiet) return page.wait(event.what);
        const { formatRunningCalls } = await import('./tool-line.ts');
        return page.wait(formatRunningCalls(event.calls.flatMap((id) => calls.get(id) ?? [])), 'call');
      }
      case 'begin':
        return page.wait(event.model);
      case 'text':
        return page.text(event.delta, event.pieces);
      case 'thought':
        return options.showThoughts ? page.writeMessage((err) => err.thought(event.delta)) : undefined;
      case 'call':
        calls.set(event.id, event);
        // Show everything so far before the user is asked whether the call may run.
        return page.flush();
      case 'answer': {
        // In a chat no notice repeats what the line says.
        if (options.quiet || (event.outcome.isReported && !options.isChat)) return;
        const { foldOutput, formatToolLine } = await import('./tool-line.ts');
        const line = formatToolLine(event, event.args ?? calls.get(event.id)?.args ?? {});
        const output = options.isChat && io.err.isTerminal ? foldOutput(event.outcome) : undefined;
        return page.writeLine((err) => err.tool(line, output && { ...output, all: '/output' }));
      }
      case 'verify': {
        if (options.quiet) return;
        const { foldLines, formatVerifyLine } = await import('./tool-line.ts');
        const line = formatVerifyLine(event);
        const output = options.isChat && io.err.isTerminal && !line.isGood ? foldLines(event.output) : undefined;
        return page.writeLine((err) => err.tool(line, output && { ...output, all: 'they went to the model' }));
      }
      case 'notice':
        return options.quiet && !event.isDenial ? undefined : page.writeLine((err) => err.notice(event.message));
      case 'end': {
        await page.close();
        if (options.quiet) return;
        const { sources, notices = [] } = event;
        if (sources !== undefined) await page.writeLines((err) => err.sources(sources));
        for (const message of notices) await page.writeLines((err) => err.notice(message));
        if (!options.showUsage) return;
        const line = formatUsageLine({ ...event, elapsedMs: options.clock.now() - startedMs });
        return page.writeLines((err) => err.usage(line));
      }
      case 'failure':
        return showFailure(page, event.error);
      default:
        return assertNever(event);
    }
  };
}

async function showFailure(page: TextPage, error: AppError): Promise<void> {
  if (error.fault === 'pipe') return page.abandon();
  await page.close(error.fault === 'interrupted');
  return page.writeLines((err) => err.error(error));
}

type WriteMessage = (err: Stderr) => Promise<void>;

interface TextPage {
  wait(what: string, kind?: 'call'): void;
  /** `pieces` are those of `delta`, if there are several. */
  text(delta: string, pieces?: readonly string[]): Promise<void>;
  /** Writes to stderr on a line of its own, but does not end the line of an open thought. */
  writeMessage(words: WriteMessage): Promise<void>;
  writeLines(words: WriteMessage): Promise<void>;
  /** The same; if the answer is in the middle of a line on a pipe, after that line. */
  writeLine(words: WriteMessage): Promise<void>;
  /** Shows everything so far, and draws nothing more until the next `wait` or text. */
  flush(): Promise<void>;
  /** Shows everything so far and ends the last line. `isInterrupted`: the terminal may have echoed Ctrl+C. */
  close(isInterrupted?: boolean): Promise<void>;
  abandon(): Promise<void>;
}

function textPage(io: Io, options: RenderOptions): TextPage {
  const { out, err: errOut } = io;
  const err = createStderr(errOut, {
    rawThoughts: options.rawOutput,
    isDumb: options.isDumb,
    ...(options.isChat ? { opening: '' } : {}),
  });
  // Created when first needed: asking a stream whether it is a terminal opens it.
  let shape: Presentation | undefined;
  const live = pageLive(io, options.live);
  let isMidLine = false;
  const held: WriteMessage[] = [];
  const waiting = createProgress(errOut, {
    ...options,
    mayDraw: () => !err.isMidLine && !(isMidLine && out.isTerminal),
    area: () => (options.live?.hasCaret ? options.live : undefined),
  });

  const show = async (text: string, pieces: readonly string[] = [text]): Promise<void> => {
    if (text === '') return;
    await waiting.clear();
    await err.endThought();
    isMidLine = !pieces.at(-1)?.endsWith('\n');
    for (const piece of pieces) await out.write(piece);
    if (!isMidLine) for (const words of held.splice(0)) await words(err);
  };
  // Nothing can be drawn below a thought whose line is not ended.
  const releaseLive = (): void => (err.isMidLine ? undefined : live.release());
  const showLive = async (area: LiveArea, complete: string, rest: readonly string[]): Promise<void> => {
    await waiting.clear();
    await err.endThought();
    releaseLive();
    await area.show(complete === '' ? [] : complete.slice(0, -1).split('\n'), rest);
  };
  const flow = async (delta: string, { push, preview, skipOpen }: FlowingPresentation): Promise<void> => {
    const area = await live.open();
    if (area.leaveScrolled()) await skipOpen();
    const complete = await push(delta);
    const next = await preview(area.room);
    await showLive(area, complete + next.complete, next.live);
  };
  const showRest = async (): Promise<void> => {
    if (shape === undefined || !isFlowing(shape)) return show((await shape?.end()) ?? '');
    const area = await live.open();
    if (area.leaveScrolled()) await shape.skipOpen();
    await showLive(area, await shape.end(), []);
  };
  const say = async (words: WriteMessage): Promise<void> => {
    await waiting.clear();
    await live.hold();
    if (isMidLine && out.isTerminal && errOut.isTerminal) {
      await errOut.write('\n');
      isMidLine = false;
    }
    await words(err).finally(releaseLive);
  };
  const tell = (words: WriteMessage): Promise<void> =>
    say(async () => {
      await err.endThought();
      await words(err);
    });
  const rest = async (): Promise<void> => {
    await waiting.pause();
    await showRest();
    await err.endThought();
    releaseLive();
  };
  return {
    wait: waiting.wait,
    async text(delta, pieces) {
      shape ??= choosePresentation(out, options);
      if (isFlowing(shape)) return flow(delta, shape);
      const pushed = shape.push(delta);
      const shown = typeof pushed === 'string' ? pushed : await pushed;
      await show(shown, shown === delta ? pieces : undefined);
    },
    async writeMessage(words) {
      if (live.area !== undefined && !err.isMidLine) await showRest();
      await say(words);
    },
    writeLines: tell,
    async writeLine(words) {
      // stdout and stderr may be the same pipe, and a message must not split a line of the answer.
      if (isMidLine && !out.isTerminal) held.push(words);
      else await tell(words);
    },
    flush: rest,
    async close(isInterrupted) {
      await rest();
      await live.leave(isInterrupted);
      if (isMidLine) await show('\n');
    },
    async abandon() {
      await waiting.pause();
      await live.leave();
    },
  };
}

interface PageLive {
  /** Undefined before there was text to draw. */
  readonly area: LiveArea | undefined;
  open(): Promise<LiveArea>;
  /** Keeps it off the screen until `release`. */
  hold(): Promise<void>;
  release(): void;
  leave(isInterrupted?: boolean): Promise<void>;
}

function pageLive(io: Io, given: LiveArea | undefined): PageLive {
  let area = given;
  let isHeld = false;
  return {
    get area() {
      return area;
    },
    async open() {
      area ??= await loadLive(io);
      return area;
    },
    async hold() {
      if (!isHeld) await area?.suspend();
      isHeld = area !== undefined;
    },
    release() {
      if (isHeld) area?.resume();
      isHeld = false;
    },
    async leave(isInterrupted = false) {
      if (isInterrupted) await area?.clearBelow();
      if (area !== given) await area?.close();
      area = given;
    },
  };
}

interface Presentation {
  push(delta: string): string | Promise<string>;
  /** The rest, when the text ends or pauses for a tool. Later text starts afresh. */
  end(): string | Promise<string>;
}

interface FlowingPresentation extends Presentation {
  preview(room: number): Promise<Preview>;
  skipOpen(): Promise<void>;
}

function isFlowing(shape: Presentation): shape is FlowingPresentation {
  return 'preview' in shape;
}

type PresentationOptions = Pick<RenderOptions, 'render' | 'rawOutput' | 'isDumb' | 'openTextWork'>;

/** Exact for a pipe and for `rawOutput`; laid out, or at least sanitized, for a terminal. */
function choosePresentation(out: Out, options: PresentationOptions): Presentation {
  const { render, rawOutput, isDumb } = options;
  const isLaidOut = render === 'always' || (render === 'auto' && !rawOutput && !isDumb && out.isTerminal);
  if (!isLaidOut) return rawOutput || !out.isTerminal ? exactPresentation : sanitizedPresentation(options);
  const { push, end, ...flowing } = markdownPresentation(out, options);
  return out.isTerminal && out.rows !== undefined && !isDumb ? { push, end, ...flowing } : { push, end };
}

const exactPresentation: Presentation = { push: (delta) => delta, end: () => '' };

/** In characters: how much of a delta is processed before yielding to the event loop. */
const SLICE = 16_384;

function sanitizedPresentation({ openTextWork }: PresentationOptions): Presentation {
  const { filter, flush } = terminalFilter();
  let work: Promise<TextWork> | undefined;
  return {
    push(delta) {
      if (delta.length <= SLICE) return filter(delta);
      work ??= openTextWork?.();
      return processInSlices(delta, work, filter);
    },
    end: flush,
  };
}

function markdownPresentation(out: Out, { openTextWork }: PresentationOptions): FlowingPresentation {
  const { filter, flush } = terminalFilter();
  let page: Promise<MarkdownStream> | undefined;
  let work: Promise<TextWork> | undefined;
  return {
    async push(delta) {
      work ??= openTextWork?.();
      page ??= work === undefined ? openPage(out) : work.then((opened) => openPage(out, opened));
      const { push } = await page;
      return delta.length <= SLICE ? push(filter(delta)) : processInSlices(delta, work, (slice) => push(filter(slice)));
    },
    async end() {
      flush();
      return page === undefined ? '' : (await page).end();
    },
    preview: async (room) => (await page)?.preview(room) ?? { complete: '', live: [] },
    skipOpen: async () => (await page)?.skipOpen(),
  };
}

function openPage(out: Out, work?: TextWork): Promise<MarkdownStream> {
  return openMarkdown({ columns: () => out.columns, isStyled: out.isStyled, hasLinks: out.hasLinks === true, work });
}

async function processInSlices(
  text: string,
  work: Promise<TextWork> | undefined,
  step: (slice: string) => string | Promise<string>,
): Promise<string> {
  let made = '';
  for (let start = 0; start < text.length; start += SLICE) {
    made += await step(text.slice(start, start + SLICE));
    await (await work)?.pause();
  }
  return made;
}

interface UsageInfo {
  readonly model: string;
  readonly usage: Usage;
  readonly elapsedMs: number;
}

/** `gemini-2.5-flash · 48 in · 31 out · 79 tokens · 0.1s`; counts that the server did not give are omitted. */
function formatUsageLine({ model, usage, elapsedMs }: UsageInfo): string {
  return `${model} · ${formatUsage(usage, elapsedMs)}`;
}

export function formatUsage(usage: Usage, elapsedMs: number): string {
  const counts = [
    formatAmount(usage.promptTokenCount, 'in'),
    formatAmount(usage.cachedContentTokenCount || undefined, 'cached'),
    formatAmount(usage.candidatesTokenCount, 'out'),
    formatAmount(usage.thoughtsTokenCount || undefined, 'thoughts'),
    formatAmount(usage.totalTokenCount, 'tokens'),
  ];
  return [...counts.filter((part) => part !== undefined), formatSeconds(elapsedMs)].join(' · ');
}

function formatAmount(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value} ${unit}`;
}

function formatSeconds(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
