import type { TestContext } from 'vitest';
import type { GmnOptions } from './gmn.ts';
import { runInTerminal, type Terminal } from './pty.ts';
import { testScreen } from './screen.ts';

export interface ChatTerminal extends Terminal {
  enter(line: string): void;
  /** Resolves when the chat waits for its `count`-th entry. */
  ready(count: number): Promise<string>;
}

export function chatInTerminal(
  t: TestContext,
  args: readonly string[],
  options: GmnOptions & { readonly columns?: number; readonly rows?: number } = {},
): ChatTerminal {
  const terminal = runInTerminal(t, ['chat', ...args], options);
  return {
    ...terminal,
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
