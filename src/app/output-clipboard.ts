import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { formatSize } from '../core/text/size.ts';
import { clipboardProgram } from '../platform/process/clipboard.ts';
import { feedCommand } from '../platform/process/run.ts';
import { chooseShell } from '../platform/process/shell-choice.ts';

/** The person's clipboard. */
export interface Clipboard {
  /** Resolves with words that say so. Throws AppError `usage` if it fails. */
  copy(text: string): Promise<string>;
}

/**
 * The clipboard program of this machine, if the person sits at it, else the terminal itself (OSC 52). Throws AppError
 * `usage` if there is neither.
 */
export function openClipboard({ env, cwd, io, signal }: App): Clipboard {
  const isRemote = Boolean(env.SSH_CONNECTION || env.SSH_TTY);
  const program = isRemote ? undefined : clipboardProgram(env);
  if (program === undefined && !io.err.isTerminal) {
    throw new AppError('usage', '--copy finds no clipboard: no terminal, no display', {
      hint: 'Hand the answer to a program of yours: gmn "…" | <program>',
    });
  }
  return {
    async copy(text) {
      if (program === undefined) await io.err.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
      else {
        const shell = chooseShell(undefined, env);
        const exitCode = await feedCommand({ shell, command: program, input: text, cwd, env }, signal);
        if (exitCode !== 0) {
          throw new AppError('usage', `the answer was not copied: ${program} failed (exit code ${exitCode})`, {
            hint: 'See what it says above, or leave --copy out.',
          });
        }
      }
      return `copied ${formatSize(Buffer.byteLength(text))}`;
    },
  };
}
