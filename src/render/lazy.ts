import type { ChalkInstance } from 'chalk';
import type { Io, Ticker } from '../core/io.ts';
import type { LiveArea } from './live.ts';
import type { MarkdownPage, MarkdownStream } from './markdown/stream.ts';

export async function openMarkdown(page: MarkdownPage): Promise<MarkdownStream> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}

/** `diff` in colours, with the changed words marked. Its text must be safe for a terminal. */
export async function styleDiff(diff: string): Promise<string> {
  const [{ paintDiff }, { createTheme }] = await Promise.all([
    import('./markdown/diff-lines.ts'),
    import('./markdown/theme.ts'),
  ]);
  const theme = createTheme(true, false);
  const paintOther = (line: string): string => (line.startsWith(' ') ? line : theme.faint(line));
  return paintDiff(diff.split('\n'), theme, paintOther).join('\n');
}

/** Loading chalk takes a millisecond, which no start has to spare: see decisions/0003 for those who paint without it. */
export async function loadChalk(isStyled: boolean): Promise<ChalkInstance> {
  const { Chalk } = await import('chalk');
  return new Chalk({ level: isStyled ? 1 : 0 });
}

export async function loadLive(io: Io, echoTicker?: Ticker): Promise<LiveArea> {
  return (await import('./live.ts')).openLive(io, echoTicker);
}
