import type { Out } from '../core/io.ts';
import { openMarkdown } from './lazy.ts';
import type { RenderOptions } from './renderer.ts';
import { terminalFilter } from './terminal-filter.ts';

/** Turns the model's text into what is written to stdout. */
export interface Presentation {
  /** What can be written now that this delta has come. */
  push(delta: string): string | Promise<string>;
  /** What is left when the text ends, or pauses for a tool. Text that follows starts afresh. */
  end(): string | Promise<string>;
}

type PresentationOptions = Pick<RenderOptions, 'render' | 'rawOutput' | 'isDumb'>;

/** Exact for a pipe and for `rawOutput`, laid out or at least made harmless for a terminal. */
export function presentation(out: Out, { render, rawOutput, isDumb }: PresentationOptions): Presentation {
  if (render === 'always') return laidOut(out);
  if (rawOutput || !out.isTerminal) return exact;
  return render === 'auto' && !isDumb ? laidOut(out) : harmless();
}

const exact: Presentation = { push: (delta) => delta, end: () => '' };

function harmless(): Presentation {
  const { filter, flush } = terminalFilter();
  return { push: filter, end: flush };
}

function laidOut(out: Out): Presentation {
  const { filter, flush } = terminalFilter();
  let page: Promise<Presentation> | undefined;
  return {
    async push(delta) {
      page ??= openMarkdown({ columns: () => out.columns, isStyled: out.isStyled });
      return (await page).push(filter(delta));
    },
    async end() {
      flush();
      return page === undefined ? '' : (await page).end();
    },
  };
}
