import type { Out } from '../core/io.ts';
import { plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { loadChalk } from './lazy.ts';
import { clipText } from './spinner.ts';

const MAX_LINES = 12;

/** The first lines of a unified diff, without its file names, and how many more there are. They fit the width of a terminal. */
export async function formatShortDiff(
  diff: string,
  { isTerminal, isStyled, columns }: Out,
): Promise<readonly string[]> {
  const start = diff.startsWith('@@') ? 0 : diff.indexOf('\n@@') + 1;
  const lines = diff.slice(start).replace(/\n$/, '').split('\n');
  const chalk = await loadChalk(isStyled);
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    const text = `  ${line.split('\t').map(sanitize).join('    ')}`;
    const row = isTerminal ? clipText(text, columns - 1) : text;
    if (line.startsWith('+')) return chalk.green(row);
    return line.startsWith('-') ? chalk.red(row) : chalk.dim(row);
  });
  const more = lines.length - shown.length;
  return more === 0 ? shown : [...shown, chalk.dim(`  … ${plural(more, 'more line')}`)];
}
