import type { TestContext } from 'vitest';
import { runInTerminal, type Terminal } from './pty.ts';
import { testScreen } from './screen.ts';

export interface ChatTerminal extends Terminal {
  /** Resolves once what is seen, in rows of this terminal's width, matches. */
  shows(pattern: RegExp): Promise<string>;
  enter(line: string): void;
  /** Resolves when the chat waits for its `count`-th entry. */
  ready(count: number): Promise<string>;
}

export function chatInTerminal(
  t: TestContext,
  args: readonly string[],
  options: Parameters<typeof runInTerminal>[2] & {} = {},
): ChatTerminal {
  const terminal = runInTerminal(t, ['chat', ...args], options);
  let screen = '';
  t.onTestFailed(() => void process.stderr.write(`The screen was:\n${screen}\n`));
  return {
    ...terminal,
    // An answer that streams is drawn in pieces, so that only the screen has it in one.
    until: (wanted) =>
      terminal.until((output) => {
        if (!(wanted instanceof RegExp)) return wanted(output);
        const screen = screenOf(output, options.columns).replace(/❯$/gm, '❯ ').replaceAll('\n', '\r\n');
        return wanted.test(output) || wanted.test(screen);
      }),
    shows: (pattern) =>
      terminal.until((output) => {
        screen = screenOf(output, options.columns);
        return pattern.test(screen);
      }),
    enter: (line) => terminal.type(`${line}\r`),
    ready: (count) => terminal.until(new RegExp(`(?:❯[\\s\\S]*){${count}}`)),
  };
}

/** Without colours. */
export function screenOf(output: string, columns = 80): string {
  const screen = testScreen({ columns, rows: 200 });
  screen.write(output.replace(/\u001b\[[\d;]*m/g, ''));
  return screen.rows.join('\n');
}
