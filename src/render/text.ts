import { type AnswerFile, assertNever, type TurnEvent } from '../core/event.ts';
import type { Io, Out } from '../core/io.ts';
import { formatDollars } from '../core/text/format.ts';
import { terminalFilter } from '../core/text/terminal.ts';
import type { Usage } from '../core/usage.ts';
import { loadChalk, loadLive, openMarkdown } from './lazy.ts';
import type { LiveArea } from './live.ts';
import type { MarkdownStream, Preview } from './markdown/stream.ts';
import type { Renderer, RenderOptions } from './renderer.ts';
import { createProgress, createSubjectReader } from './spinner.ts';
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
        return page.text(event.delta);
      case 'thought':
        return options.showThoughts ? page.thought(event.delta) : page.followThought(event.delta);
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
        // What was checked is seen before what came of it.
        await page.flush();
        return page.writeLine((err) => err.tool(line, output && { ...output, all: 'they went to the model' }));
      }
      case 'service': {
        if (options.quiet) return;
        const { formatServiceStep } = await import('./service-line.ts');
        return page.writeLine((err) => err.tool(formatServiceStep(event.step)));
      }
      case 'file':
        return showFile(page, event.file, { io, options });
      case 'notice':
        // A call that was not run, or failed, looks as in a chat.
        if (event.isDenial) return page.writeLine((err) => err.tool({ isGood: false, text: event.message }));
        return options.quiet ? undefined : page.writeLine((err) => err.notice(event.message));
      case 'end': {
        await page.close();
        if (options.quiet) return;
        const { sources, notices = [] } = event;
        if (sources !== undefined) await page.writeLines((err) => err.sources(sources));
        for (const message of notices) await page.writeLines((err) => err.notice(message));
        if (!options.showUsage) return;
        const { model, usage, cost } = event;
        const used = formatUsage(usage, options.clock.now() - startedMs, cost);
        return page.writeLines((err) => err.usage(`${model} · ${used}`));
      }
      case 'failure':
        if (event.error.fault === 'pipe') return page.abandon();
        await page.close();
        return page.writeLines((err) => err.error(event.error));
      default:
        return assertNever(event);
    }
  };
}

async function showFile(
  page: TextPage,
  { saved, ...picture }: AnswerFile,
  { io: { out }, options }: { readonly io: Io; readonly options: RenderOptions },
): Promise<void> {
  // A pager would not know what to do with it.
  const mayShow = out.isTerminal && out.rows !== undefined && !options.isDumb && picture.mimeType.startsWith('image/');
  const protocol = mayShow ? await options.findPictures?.() : undefined;
  if (protocol !== undefined) {
    const { formatPicture } = await import('./picture.ts');
    const sequence = formatPicture(protocol, picture, out);
    if (sequence !== undefined) {
      await page.flush();
      await page.writeMessage(() => out.write(`${sequence}\n`));
    }
  }
  if (saved === undefined || options.quiet) return;
  const { formatSavedFile } = await import('./service-line.ts');
  return page.writeLine((err) => err.tool(formatSavedFile(saved, picture.data)));
}

type WriteMessage = (err: Stderr) => Promise<void>;

type TextPage = ReturnType<typeof textPage>;

function textPage(io: Io, options: RenderOptions) {
  const { out, err: errOut } = io;
  const err = createStderr(errOut, {
    rawThoughts: options.rawOutput,
    opening: options.isChat ? '' : undefined,
  });
  // Created when first needed: asking a stream whether it is a terminal opens it.
  let shape: Presentation | undefined;
  let thoughts: Presentation | undefined;
  const live = pageLive(io, options, () => waiting.clear());
  let readSubject: ReturnType<typeof createSubjectReader> | undefined;
  let isMidLine = false;
  const held: WriteMessage[] = [];
  const waiting = createProgress(errOut, {
    ...options,
    mayDraw: () => !err.isMidLine && !(isMidLine && out.isTerminal),
    area: () => live.area,
  });

  const show = async (text: string): Promise<void> => {
    if (text === '') return;
    await waiting.clear();
    await live.end();
    await err.endThought();
    isMidLine = !text.endsWith('\n');
    await out.write(text);
    if (!isMidLine) for (const words of held.splice(0)) await words(err);
  };
  const showRest = async (): Promise<void> => {
    await live.end();
    if (shape !== undefined && !isFlowing(shape)) await show(await shape.end());
  };
  const say = async (words: WriteMessage): Promise<void> => {
    await waiting.clear();
    await live.hold();
    if (isMidLine && out.isTerminal && errOut.isTerminal) {
      await errOut.write('\n');
      isMidLine = false;
    }
    await words(err).finally(live.release);
  };
  const tell = (words: WriteMessage): Promise<void> => say(() => err.endThought().then(() => words(err)));
  const rest = async (): Promise<void> => {
    await waiting.pause();
    await showRest();
    await err.endThought();
    live.release();
  };
  return {
    wait: waiting.wait,
    followThought(delta: string): void {
      readSubject ??= createSubjectReader();
      waiting.setThought(readSubject(delta));
    },
    async text(delta: string): Promise<void> {
      if (readSubject !== undefined) waiting.setThought('');
      readSubject = undefined;
      const isBelowTool = err.isBelowTool && out.isTerminal;
      const said = isBelowTool ? delta.replace(/^(?:[ \t]*\r?\n)+/, '') : delta;
      if (said !== '' && isBelowTool) await tell(err.endTools);
      shape ??= choosePresentation(out, options);
      if (isFlowing(shape)) return live.flow(said, { shape, paint: leavePlain });
      await show(await shape.push(said));
    },
    async thought(delta: string): Promise<void> {
      thoughts ??= choosePresentation(errOut, { ...options, isPlain: true });
      if (isFlowing(thoughts)) {
        const { dim } = await loadChalk(errOut.isStyled);
        return live.flow(delta, { shape: thoughts, paint: (line) => dim(line) });
      }
      await live.end();
      await say(() => err.thought(delta));
    },
    async writeMessage(words: WriteMessage): Promise<void> {
      await live.end();
      await say(words);
    },
    writeLines: tell,
    /** stdout and stderr may be the same pipe, and a message must not split a line of the answer. */
    async writeLine(words: WriteMessage): Promise<void> {
      if (isMidLine && !out.isTerminal) held.push(words);
      else await tell(words);
    },
    /** Shows everything so far, and draws nothing more until the next `wait` or text. */
    flush: rest,
    async close(): Promise<void> {
      await rest();
      await live.leave();
      if (isMidLine) await show('\n');
    },
    async abandon(): Promise<void> {
      await waiting.pause();
      await live.leave();
    },
  };
}

/** Text that is live while it comes. `clear` is called before anything is shown. */
function pageLive(io: Io, { live: given, ticker }: RenderOptions, clear: () => Promise<void> | undefined) {
  let area = given;
  let flowing: Flow | undefined;
  let isHeld = false;
  const open = async ({ shape }: Flow): Promise<LiveArea> => {
    area ??= await loadLive(io.out.isTerminal ? io : { out: io.err, err: io.err }, ticker);
    const scrolled = area.countScrolled();
    if (scrolled > 0) await area.leave(await shape.leave(scrolled));
    return area;
  };
  const release = (): void => {
    if (isHeld) area?.resume();
    isHeld = false;
  };
  const show = async (complete: string, { paint }: Flow, rest?: readonly string[]): Promise<void> => {
    await clear();
    release();
    await area?.show(complete === '' ? [] : complete.slice(0, -1).split('\n').map(paint), rest?.map(paint));
  };
  const end = async (): Promise<void> => {
    if (flowing === undefined) return;
    const ended = flowing;
    flowing = undefined;
    await open(ended);
    await show(await ended.shape.end(), ended);
  };
  return {
    get area(): LiveArea | undefined {
      return area;
    },
    async flow(delta: string, text: Flow): Promise<void> {
      if (flowing?.shape !== text.shape) await end();
      flowing = text;
      const shown = await open(text);
      const pushed = await text.shape.push(delta);
      await clear();
      const { complete, live } = await text.shape.preview(shown.room);
      await show(pushed + complete, text, live);
    },
    end,
    async hold(): Promise<void> {
      if (!isHeld) await area?.suspend();
      isHeld = area !== undefined;
    },
    release,
    async leave(): Promise<void> {
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
  leave(count: number): Promise<number>;
}

interface Flow {
  readonly shape: FlowingPresentation;
  readonly paint: (line: string) => string;
}

const leavePlain = (line: string): string => line;

function isFlowing(shape: Presentation): shape is FlowingPresentation {
  return 'preview' in shape;
}

type PresentationOptions = Pick<RenderOptions, 'render' | 'rawOutput' | 'isDumb' | 'pause'> & {
  readonly isPlain?: boolean;
};

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

function sanitizedPresentation({ pause }: PresentationOptions): Presentation {
  const { filter, flush } = terminalFilter();
  return {
    push: (delta) => (delta.length <= SLICE ? filter(delta) : processInSlices(delta, pause, filter)),
    end: flush,
  };
}

function markdownPresentation(out: Out, { pause, isPlain }: PresentationOptions): FlowingPresentation {
  const { filter, flush } = terminalFilter();
  let page: Promise<MarkdownStream> | undefined;
  return {
    async push(delta) {
      page ??= openMarkdown({
        columns: () => out.columns,
        isStyled: isPlain ? false : out.isStyled,
        hasLinks: out.hasLinks === true,
        pause,
      });
      const { push } = await page;
      return delta.length <= SLICE
        ? push(filter(delta))
        : processInSlices(delta, pause, (slice) => push(filter(slice)));
    },
    async end() {
      flush();
      return page === undefined ? '' : (await page).end();
    },
    preview: async (room) => (await page)?.preview(room) ?? { complete: '', live: [] },
    leave: async (count) => (await page)?.leave(count) ?? count,
  };
}

async function processInSlices(
  text: string,
  pause: RenderOptions['pause'],
  step: (slice: string) => string | Promise<string>,
): Promise<string> {
  let made = '';
  for (let start = 0; start < text.length; start += SLICE) {
    made += await step(text.slice(start, start + SLICE));
    await pause?.();
  }
  return made;
}

/** `48 in · 31 out · 79 tokens · 0.1s · $0.000092`; what is not known is omitted. */
export function formatUsage(usage: Usage, elapsedMs: number, cost?: number): string {
  const counts = [
    formatAmount(usage.promptTokenCount, 'in'),
    formatAmount(usage.cachedContentTokenCount || undefined, 'cached'),
    formatAmount(usage.candidatesTokenCount, 'out'),
    formatAmount(usage.thoughtsTokenCount || undefined, 'thoughts'),
    formatAmount(usage.totalTokenCount, 'tokens'),
  ];
  const known = counts.filter((part) => part !== undefined);
  return [...known, formatSeconds(elapsedMs), ...(cost === undefined ? [] : [formatDollars(cost)])].join(' · ');
}

function formatAmount(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value} ${unit}`;
}

function formatSeconds(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
