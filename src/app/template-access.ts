import { resolve } from 'node:path';
import { markBlanks } from '../approval/view.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import { decodeText } from '../core/text/decode.ts';
import { plural } from '../core/text/format.ts';
import { leadsAway } from '../core/text/path.ts';
import { quoteForShell } from '../core/text/quote.ts';
import { sanitize } from '../core/text/terminal.ts';
import { takeBefore } from '../core/text/trim.ts';
import type { Host } from '../engine/host.ts';
import { checkCommand } from '../engine/tools/check-command.ts';
import type { ToolSetup } from '../engine/tools/setup.ts';
import { createAttachments, NO_FILE_SUPPORT, toPlainName } from '../input/attachment.ts';
import { type AttachedItem, addDirectory, createWalkContext, type WalkContext } from '../input/files.ts';
import { findMentionRefusal } from '../input/mentions.ts';
import { type FoundPath, inspectPath, readBytes } from '../platform/files/read.ts';
import { runShell } from '../platform/process/shell.ts';
import { chooseShell, isPosixShell, type Shell } from '../platform/process/shell-choice.ts';
import type { TemplateValues } from './template.ts';

const MAX_BYTES = 1_000_000;
const MAX_CHARS = 200_000;
const COMMAND_MS = 60_000;

export type AccessOptions = Pick<ToolSetup, 'allowedTools' | 'approvalMode' | 'yolo' | 'shell'>;

export interface AccessContext {
  readonly app: App;
  /** Is asked about commands, and told about files that are left out. */
  readonly host: Pick<Host, 'notify' | 'withPerson'>;
  readonly signal: AbortSignal;
}

type TemplateAccess = Pick<TemplateValues, 'run' | 'read' | 'quote'>;

export function createTemplateAccess(options: AccessOptions, context: AccessContext): TemplateAccess {
  const shell = chooseShell(options.shell, context.app.env);
  return {
    run: (command) => runTemplateCommand(command, shell, { options, context }),
    read: (path) => readTemplatePath(path, context),
    quote: (words) => quoteArguments(shell, words),
  };
}

function quoteArguments(shell: Shell, words: string): string {
  if (isPosixShell(shell)) return words === '' ? '' : quoteForShell(words);
  throw new AppError('usage', `the template puts {{args}} into a command, which is not safe with ${shell.path}`, {
    hint: 'Take {{args}} out of !{…}.',
  });
}

/** A template may come from someone else: only what `@path` in a prompt would attach is read. Throws AppError `usage`. */
async function readTemplatePath(path: string, { app, host, signal }: AccessContext): Promise<string> {
  const isAway = leadsAway(path, [app.cwd]);
  const found = isAway ? undefined : await inspectPath(resolve(app.cwd, path), path);
  if (found === undefined) {
    const why = isAway ? 'is outside the working directory' : 'does not exist';
    throw new AppError('usage', `the template wants ${sanitize(path)}, which ${why}`, {
      hint: 'Check the path.',
    });
  }
  const { cwd, env, homes } = app;
  const attachments = createAttachments(NO_FILE_SUPPORT);
  const walk = await createWalkContext({ cwd, env, homes, signal, attachments, notify: host.notify });
  const refusal = await findMentionRefusal({ ...found, name: path }, walk);
  if (refusal !== undefined) {
    throw new AppError('usage', `the template wants ${sanitize(path)}, which ${refusal.replace(/ \(.*$/, '')}`, {
      hint: 'If you want it to be sent, add it yourself: -f <path>',
    });
  }
  return found.kind === 'directory' ? readTemplateDirectory(path, found, walk) : readTemplateFile(path, found);
}

/** All its files, as the official CLI inserts them, each below its name. */
async function readTemplateDirectory(path: string, found: FoundPath, walk: WalkContext): Promise<string> {
  return formatFiles(path, (await addDirectory(path, found, walk)) ?? [], walk.notify);
}

function formatFiles(path: string, files: readonly AttachedItem[], notify: Notify): string {
  const texts = files.flatMap((file) => ('text' in file ? [`=== ${file.name} ===\n${file.text}`] : []));
  const media = files.flatMap((file) => ('text' in file ? [] : [file.name]));
  if (media.length > 0)
    notify(`left out ${plural(media.length, 'file')} (no text; send it with -f): ${media.join(', ')}`);
  return texts.length === 0 ? `[${toPlainName(path)} has no files to send]` : texts.join('\n\n');
}

async function readTemplateFile(path: string, found: FoundPath): Promise<string> {
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
  const decision = await checkCommand(
    command,
    shell,
    { ...options, isInteractive: context.host.withPerson !== undefined },
    app,
  );
  if (decision.kind === 'deny') throw forbiddenError(command, decision.advice);
  if (decision.kind === 'ask' && !(await isApproved(command, context))) throw unapprovedError(command);
  const run = { shell, command, cwd: app.cwd, env: app.env, timeoutMs: COMMAND_MS, maxChars: MAX_CHARS };
  const { head, tail, omitted, exitCode, hasTimedOut } = await runShell(run, signal);
  if (hasTimedOut) {
    throw new AppError('usage', `the command of the template took more than a minute: ${clipCommand(command)}`, {
      hint: 'Run it yourself, and pipe its output in.',
    });
  }
  const output = omitted === 0 ? head + tail : `${head}\n[${omitted} characters left out]\n${tail}`;
  return exitCode === 0 ? output.trimEnd() : `${output.trimEnd()}\n[exit code ${exitCode ?? 'none'}]`;
}

async function isApproved(command: string, { app, host, signal }: AccessContext): Promise<boolean> {
  const preview = { kind: 'command', command, directory: app.cwd } as const;
  const question = { items: [{ name: 'The template wants to run this', preview }], hasFile: false };
  const answer = await host.withPerson?.((person) => person.ask(question, signal));
  signal.throwIfAborted();
  return answer?.kind === 'yes';
}

function forbiddenError(command: string, why: string): AppError {
  return new AppError(
    'usage',
    `the template wants to run a command, and ${takeBefore(why, '. ')}: ${clipCommand(command)}`,
    {
      hint: why.slice(why.indexOf('. ') + 2),
    },
  );
}

function unapprovedError(command: string): AppError {
  return new AppError('usage', `the template wants to run a command, which nobody approved: ${clipCommand(command)}`, {
    hint: 'If you want it to run, add: --allowed-tools run_shell_command',
  });
}

const MAX_SHOWN = 200;

/** In an error, a command must not push its own beginning out of sight. */
function clipCommand(command: string): string {
  const shown = sanitize(markBlanks(command));
  const more = shown.length - MAX_SHOWN;
  return more <= 0 ? shown : `${shown.slice(0, MAX_SHOWN).toWellFormed()}… (${more} more characters)`;
}
