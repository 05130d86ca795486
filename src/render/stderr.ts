import type { AppError } from '../core/error.ts';
import type { Source } from '../core/event.ts';
import type { Out } from '../core/io.ts';
import { stripControls, terminalFilter } from '../core/text/terminal.ts';
import type { FoldedOutput, ToolLine } from './tool-line.ts';

export type Stderr = ReturnType<typeof createStderr>;

/** What a command printed last; `all` says how to see the rest. */
type CommandOutput = FoldedOutput & { readonly all: string };

const GREEN = ['\u001b[32m', '\u001b[39m'] as const;
const RED = ['\u001b[31m', '\u001b[39m'] as const;
const DIM = ['\u001b[2m', '\u001b[22m'] as const;

/** Sanitizes untrusted text if stderr is a terminal, and styles it if allowed. */
export function createStderr(err: Out, { rawThoughts = false, opening = 'gmn: ' } = {}) {
  const clean = (text: string): string => (err.isTerminal ? stripControls(text) : text);
  const paint = (text: string, [on, off]: readonly [string, string]): string =>
    err.isStyled && text !== '' ? `${on}${text}${off}` : text;
  // Loaded for a line that may be too long: measuring needs tables that most runs do not.
  const wrap = async (text: string, start = 0): Promise<string> => {
    const columns = err.columns - start;
    if (!err.isTerminal || text.length * 2 <= columns) return text;
    return (await import('../core/text/width.ts')).wrapText(text, columns, { breaksPaths: start > 0 });
  };
  const thoughts = terminalFilter();
  let isThoughtOpen = false;
  let isBelowTool = false;
  return {
    /** Whether an empty line has to set the answer apart from what was done for it. */
    get isBelowTool(): boolean {
      return isBelowTool;
    },
    async endTools(): Promise<void> {
      isBelowTool = false;
      await err.write('\n');
    },
    get isMidLine(): boolean {
      return isThoughtOpen;
    },
    notice: async (message: string): Promise<void> => err.write(`${await wrap(`${opening}${clean(message)}`)}\n`),
    async tool({ isGood, text, rows: below = [], diff }: ToolLine, output?: CommandOutput): Promise<void> {
      const [mark, color] = isGood ? ['✓', GREEN] : ['✗', RED];
      const rows = output === undefined ? [] : await formatFolded(output, err.columns);
      const line = `${paint(mark, color)} ${await wrap(text, mark.length + 1)}`;
      const shown = await Promise.all(below.map((row) => wrap(row)));
      const changed = diff === undefined ? [] : await (await import('./short-diff.ts')).formatShortDiff(diff, err);
      await err.write(`${[line, ...shown, ...changed, ...rows.map((row) => paint(row, DIM))].join('\n')}\n`);
      isBelowTool = err.isTerminal;
    },
    async sources(sources: readonly Source[]): Promise<void> {
      const lines = sources.map(({ title, uri }, index) => `[${index + 1}] ${`${title} ${uri}`.trimEnd()}\n`);
      if (lines.length > 0) await err.write(clean(`\nSources:\n${lines.join('')}`));
    },
    usage: async (line: string): Promise<void> => err.write(`${paint(await wrap(clean(line)), DIM)}\n`),
    async error(error: AppError): Promise<void> {
      const [headline, hint] = [clean(formatHeadline(error)), clean(formatHint(error))];
      const rest = clean(formatOutput(error) + formatPartialAnswer(error));
      await err.write(paint(await wrap(headline), RED) + (await wrap(hint)) + rest);
    },
    async thought(delta: string): Promise<void> {
      const shown = err.isTerminal && !rawThoughts ? thoughts.filter(delta) : delta;
      if (shown === '') return;
      isThoughtOpen = !shown.endsWith('\n');
      await err.write(paint(shown, DIM));
    },
    async endThought(): Promise<void> {
      thoughts.flush();
      if (!isThoughtOpen) return;
      isThoughtOpen = false;
      await err.write('\n');
    },
  };
}

async function formatFolded({ lines, hidden, all }: CommandOutput, columns: number): Promise<readonly string[]> {
  const { formatOutputRow } = await import('./spinner.ts');
  const more = hidden === 0 ? [] : [`  … ${hidden} more lines above: ${all}`];
  return [...more, ...lines.map((line) => formatOutputRow(line, columns))];
}

/** No "Error:" after Ctrl+C: the user knows what happened. */
function formatHeadline({ fault, message }: AppError): string {
  const isStopped = fault === 'interrupted' || fault === 'terminated' || fault === 'hangup';
  return isStopped ? message : `Error: ${message}`;
}

/** An answer that was withheld from stdout is shown here, so that it is not lost. */
function formatPartialAnswer({ answer }: AppError): string {
  return answer ? `What the model said:\n${answer}${answer.endsWith('\n') ? '' : '\n'}` : '';
}

function formatOutput({ fault, details }: AppError): string {
  return fault === 'verify' && details.output ? `The end of what it printed:\n${details.output}\n` : '';
}

function formatHint({ hint, fault, details }: AppError): string {
  const { guide = hint } = fault === 'auth' ? details : {};
  return guide === undefined ? '\n' : `\n${guide}\n`;
}
