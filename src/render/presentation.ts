import type { Out } from '../core/io.ts';
import { terminalFilter } from '../core/text/terminal-filter.ts';
import type { TextWork } from '../core/text-work.ts';
import { openMarkdown } from './lazy.ts';
import type { RenderOptions } from './renderer.ts';

/** Turns the model's text into what is written to stdout. */
export interface Presentation {
  /** What can be written now that this delta has come. */
  push(delta: string): string | Promise<string>;
  /** What is left when the text ends, or pauses for a tool. Text that follows starts afresh. */
  end(): string | Promise<string>;
}

type PresentationOptions = Pick<RenderOptions, 'render' | 'rawOutput' | 'isDumb' | 'openTextWork'>;

/** Exact for a pipe and for `rawOutput`, laid out or at least made harmless for a terminal. */
export function presentation(out: Out, options: PresentationOptions): Presentation {
  const { render, rawOutput, isDumb } = options;
  if (render === 'always') return laidOut(out, options);
  if (rawOutput || !out.isTerminal) return exact;
  return render === 'auto' && !isDumb ? laidOut(out, options) : harmless(options);
}

const exact: Presentation = { push: (delta) => delta, end: () => '' };

/** As much of a delta as is looked at before others have their turn. */
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

/** What a step makes of a long text, piece by piece. */
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
