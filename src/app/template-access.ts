import { resolve } from 'node:path';
import type { RunPaused } from '../approval/approve.ts';
import type { App, OutputFormat } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { quoteForShell } from '../core/text/quote.ts';
import { sanitize } from '../core/text/terminal.ts';
import { createWalkContext } from '../input/files.ts';
import { findMentionRefusal } from '../input/mentions.ts';
import { inspectPath, readBytes } from '../platform/files/read.ts';
import { runShell } from '../platform/process/shell.ts';
import { chooseShell, type Shell } from '../platform/process/shell-choice.ts';
import { openTty } from '../platform/terminal/tty.ts';
import type { TemplateValues } from './template.ts';
import { chooseMode, type ToolOptions } from './toolbox.ts';

const MAX_BYTES = 1_000_000;
const MAX_CHARS = 200_000;
const COMMAND_MS = 60_000;

export interface AccessOptions extends Pick<ToolOptions, 'allowedTools' | 'approvalMode' | 'yolo' | 'shell'> {
  readonly outputFormat?: OutputFormat;
}

export interface AccessContext {
  readonly app: App;
  readonly runPaused: RunPaused;
  readonly signal: AbortSignal;
}

/** Lets a template read files of the working directory and run commands the user approves. */
export function createTemplateAccess(
  options: AccessOptions,
  context: AccessContext,
): Pick<TemplateValues, 'run' | 'read' | 'quote'> {
  const shell = chooseShell(options.shell, context.app.env);
  return {
    run: (command) => runTemplateCommand(command, shell, { options, context }),
    read: (path) => readTemplateFile(path, context.app),
    quote: (words) => quoteArguments(shell, words),
  };
}

function quoteArguments({ path, args }: Shell, words: string): string {
  if (args.length === 1 && args[0] === '-c') return words === '' ? '' : quoteForShell(words);
  throw new AppError('usage', `the template puts {{args}} into a command, which is not safe with ${path}`, {
    hint: 'Take {{args}} out of !{…}.',
  });
}

/**
 * A template may come from someone else. Throws AppError `usage` for a file that `@path` in a prompt would not attach.
 */
async function readTemplateFile(path: string, app: App): Promise<string> {
  const found = await inspectPath(resolve(app.cwd, path), path);
  if (found === undefined) {
    throw new AppError('usage', `the template wants ${sanitize(path)}, which does not exist`, {
      hint: 'Check the path.',
    });
  }
  const refusal = await findMentionRefusal({ ...found, name: path }, await createWalkContext(app));
  if (refusal !== undefined) {
    throw new AppError('usage', `the template wants ${sanitize(path)}, which ${refusal.replace(/ \(.*$/, '')}`, {
      hint: 'If you want it to be sent, add it yourself: -f <path>',
    });
  }
  const bytes = await readBytes(found.path, {
    name: path,
    links: 'never',
    maxBytes: MAX_BYTES,
    tooLarge: () =>
      new AppError('usage', `${sanitize(path)} is larger than 1 MB`, { hint: 'Send it with -f instead.' }),
  });
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', `${sanitize(path)} is not text`, { hint: 'Send it with -f instead.' });
}

interface ApprovalRequest {
  readonly options: AccessOptions;
  readonly context: AccessContext;
}

async function runTemplateCommand(
  command: string,
  shell: Shell,
  { options, context }: ApprovalRequest,
): Promise<string> {
  const { app, signal } = context;
  if (!(await isAllowed(options, app)) && !(await isApproved(command, { options, context })))
    throw unapprovedError(command);
  const run = { shell, command, cwd: app.cwd, env: app.env, timeoutMs: COMMAND_MS, maxChars: MAX_CHARS };
  const { head, tail, omitted, exitCode, hasTimedOut } = await runShell(run, signal);
  if (hasTimedOut) {
    throw new AppError('usage', `the command of the template took more than a minute: ${sanitize(command)}`, {
      hint: 'Run it yourself, and pipe its output in.',
    });
  }
  const output = omitted === 0 ? head + tail : `${head}\n[${omitted} characters left out]\n${tail}`;
  return exitCode === 0 ? output.trimEnd() : `${output.trimEnd()}\n[exit code ${exitCode ?? 'none'}]`;
}

/** Throws AppError `usage` if the settings turn `yolo` off. */
async function isAllowed(options: AccessOptions, app: App): Promise<boolean> {
  const names = (options.allowedTools ?? []).flatMap((list) => list.split(',')).map((name) => name.trim());
  return chooseMode(options, await app.settings()).mode === 'yolo' || names.includes('run_shell_command');
}

/** Asks only in text format on a terminal; otherwise false. */
async function isApproved(
  command: string,
  { options, context: { app, runPaused, signal } }: ApprovalRequest,
): Promise<boolean> {
  const canAsk = (options.outputFormat ?? 'text') === 'text' && app.io.err.isTerminal;
  const tty = canAsk ? openTty() : undefined;
  if (tty === undefined) return false;
  try {
    const question = `The template wants to run: ${sanitize(command)}\nRun it? [y]es [n]o › `;
    const key = await runPaused(() => tty.key(new Set(['y', 'n']), () => app.io.err.write(question), signal));
    await app.io.err.write('\n');
    signal.throwIfAborted();
    return key === 'y';
  } finally {
    tty.close();
  }
}

function unapprovedError(command: string): AppError {
  return new AppError('usage', `the template wants to run a command, which nobody approved: ${sanitize(command)}`, {
    hint: 'If you want it to run, add: --allowed-tools run_shell_command',
  });
}
