import type { AppError } from '../core/error.ts';
import { type TurnEvent, unreachable } from '../core/event.ts';
import type { Io, Out } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { terminalFilter } from '../core/text/terminal.ts';
import type { TextWork } from '../core/text-work.ts';
import type { Usage } from '../core/usage.ts';
import { openMarkdown } from './lazy.ts';
import type { Renderer, RenderOptions } from './renderer.ts';
import { progress } from './spinner.ts';
import { type Stderr, stderr } from './stderr.ts';

/**
 * `-o text`: the model's text on stdout as it streams, ended by exactly one newline; all messages to the user on
 * stderr. A pipe gets the exact text.
 */
export function textRenderer(io: Io, options: RenderOptions): Renderer {
  const startedMs = options.clock.now();
  const page = textPage(io, options);
  const calls = new Map<string, JsonObject>();
  return async (event: TurnEvent) => {
    switch (event.type) {
      case 'wait':
        return page.wait(event.what);
      case 'begin':
        return page.wait(event.model);
      case 'text':
        return page.text(event.delta);
      case 'thought':
        return options.showThoughts ? page.say((err) => err.thought(event.delta)) : undefined;
      case 'call':
        calls.set(event.id, event.args);
        // Show everything so far before the user is asked whether the call may run.
        return page.rest();
      case 'answer': {
        // A one-shot reports only changed files; a chat reports every tool result.
        if (!options.isChat && (options.quiet || event.outcome.change === undefined)) return;
        const { toolLine } = await import('./tool-line.ts');
        return page.tell((err) => err.tool(toolLine(event, event.args ?? calls.get(event.id) ?? {})));
      }
      case 'notice':
        return options.quiet && !event.isDenial ? undefined : page.note(event.message);
      case 'end': {
        await page.close();
        if (options.quiet) return;
        const { sources, notices = [] } = event;
        if (sources !== undefined) await page.tell((err) => err.sources(sources));
        for (const message of notices) await page.tell((err) => err.notice(message));
        if (!options.showUsage) return;
        const line = usageLine({ ...event, elapsedMs: options.clock.now() - startedMs });
        return page.tell((err) => err.usage(line));
      }
      case 'failure':
        return fail(page, event.error);
      default:
        return unreachable(event);
    }
  };
}

async function fail(page: TextPage, error: AppError): Promise<void> {
  if (error.fault === 'pipe') return page.abandon();
  await page.close();
  return page.tell((err) => err.error(error));
}

type Say = (err: Stderr) => Promise<void>;

interface TextPage {
  wait(what: string): void;
  text(delta: string): Promise<void>;
  /** Writes to stderr on a line of its own, but does not end the line of an open thought. */
  say(words: Say): Promise<void>;
  /** Writes whole lines to stderr. */
  tell(words: Say): Promise<void>;
  /** Writes a notice; if the answer is in the middle of a line on a pipe, after that line. */
  note(message: string): Promise<void>;
  /** Shows everything so far, and draws nothing more until the next `wait` or text. */
  rest(): Promise<void>;
  /** Shows everything so far and ends the last line. */
  close(): Promise<void>;
  /** Stops without output. */
  abandon(): Promise<void>;
}

function textPage({ out, err: errOut }: Io, options: RenderOptions): TextPage {
  const err = stderr(errOut, { rawThoughts: options.rawOutput, ...(options.isChat ? { opening: '' } : {}) });
  // Created when first needed: asking a stream whether it is a terminal opens it.
  let shape: Presentation | undefined;
  let isMidLine = false;
  let unshown = '';
  const held: string[] = [];
  const waiting = progress(errOut, { ...options, mayDraw: () => !err.isMidLine && !(isMidLine && out.isTerminal) });

  const show = async (text: string): Promise<void> => {
    if (text === '') return;
    await waiting.clear();
    await err.endThought();
    isMidLine = !text.endsWith('\n');
    await out.write(text);
    if (!isMidLine) for (const message of held.splice(0)) await err.notice(message);
  };
  const say = async (words: Say): Promise<void> => {
    await waiting.clear();
    if (isMidLine && out.isTerminal && errOut.isTerminal) {
      await errOut.write('\n');
      isMidLine = false;
    }
    await words(err);
  };
  const tell = (words: Say): Promise<void> =>
    say(async () => {
      await err.endThought();
      await words(err);
    });
  const rest = async (): Promise<void> => {
    await waiting.pause();
    await show((await shape?.end()) ?? '');
    await err.endThought();
  };
  return {
    wait: waiting.wait,
    async text(delta) {
      shape ??= presentation(out, options);
      const pushed = shape.push(delta);
      const shown = typeof pushed === 'string' ? pushed : await pushed;
      await show(shown);
      // A paragraph is laid out when it is complete; until then the spinner shows its last words.
      unshown = shown === '' ? (unshown + delta).slice(-MAX_UNSHOWN) : '';
      if (unshown !== '') waiting.wait(lastWords(unshown, errOut.columns));
    },
    say,
    tell,
    async note(message) {
      // stdout and stderr may be the same pipe, and a notice must not split a line of the answer.
      if (isMidLine && !out.isTerminal) held.push(message);
      else await tell(() => err.notice(message));
    },
    rest,
    async close() {
      await rest();
      if (isMidLine) await show('\n');
    },
    abandon: async () => void (await waiting.pause()),
  };
}

const MAX_UNSHOWN = 400;

/** As much of the end of a text as fits beside a spinner. */
function lastWords(text: string, columns: number): string {
  let room = columns - 16;
  const characters = [...text.replace(/\s+/g, ' ').trim()];
  let start = characters.length;
  while (start > 0 && room > 0) {
    start -= 1;
    // Characters beyond Latin-1 may be two columns wide.
    room -= (characters[start] ?? '') > '\u00ff' ? 2 : 1;
  }
  return `…${characters.slice(start).join('')}`;
}

/** Turns the model's text into what is written to stdout. */
interface Presentation {
  /** What can be written after this delta. */
  push(delta: string): string | Promise<string>;
  /** The rest, when the text ends or pauses for a tool. Later text starts afresh. */
  end(): string | Promise<string>;
}

type PresentationOptions = Pick<RenderOptions, 'render' | 'rawOutput' | 'isDumb' | 'openTextWork'>;

/** Exact for a pipe and for `rawOutput`; laid out, or at least sanitized, for a terminal. */
function presentation(out: Out, options: PresentationOptions): Presentation {
  const { render, rawOutput, isDumb } = options;
  if (render === 'always') return laidOut(out, options);
  if (rawOutput || !out.isTerminal) return exact;
  return render === 'auto' && !isDumb ? laidOut(out, options) : harmless(options);
}

const exact: Presentation = { push: (delta) => delta, end: () => '' };

/** In characters: how much of a delta is processed before yielding to the event loop. */
const SLICE = 16_384;

function harmless({ openTextWork }: PresentationOptions): Presentation {
  const { filter, flush } = terminalFilter();
  let work: Promise<TextWork> | undefined;
  return {
    push(delta) {
      if (delta.length <= SLICE) return filter(delta);
      work ??= openTextWork?.();
      return inSlices(delta, work, filter);
    },
    end: flush,
  };
}

function laidOut(out: Out, { openTextWork }: PresentationOptions): Presentation {
  const { filter, flush } = terminalFilter();
  let page: Promise<Presentation> | undefined;
  let work: Promise<TextWork> | undefined;
  return {
    async push(delta) {
      work ??= openTextWork?.();
      page ??= work === undefined ? openPage(out) : work.then((opened) => openPage(out, opened));
      const { push } = await page;
      return delta.length <= SLICE ? push(filter(delta)) : inSlices(delta, work, (slice) => push(filter(slice)));
    },
    async end() {
      flush();
      return page === undefined ? '' : (await page).end();
    },
  };
}

function openPage(out: Out, work?: TextWork): Promise<Presentation> {
  return openMarkdown({ columns: () => out.columns, isStyled: out.isStyled, work });
}

/** Applies `step` to a long text in slices, yielding in between. */
async function inSlices(
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

interface Spent {
  readonly model: string;
  readonly usage: Usage;
  readonly elapsedMs: number;
}

/** `gemini-2.5-flash · 48 in · 31 out · 79 tokens · 0.1s`; counts that the server did not give are omitted. */
function usageLine({ model, usage, elapsedMs }: Spent): string {
  return `${model} · ${spending(usage, elapsedMs)}`;
}

/** The same without the model. */
export function spending(usage: Usage, elapsedMs: number): string {
  const counts = [
    count(usage.promptTokenCount, 'in'),
    count(usage.cachedContentTokenCount || undefined, 'cached'),
    count(usage.candidatesTokenCount, 'out'),
    count(usage.thoughtsTokenCount || undefined, 'thoughts'),
    count(usage.totalTokenCount, 'tokens'),
  ];
  return [...counts.filter((part) => part !== undefined), seconds(elapsedMs)].join(' · ');
}

function count(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value} ${unit}`;
}

function seconds(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
