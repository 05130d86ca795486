import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { extractCodeBlocks } from '../../core/text/code-block.ts';
import { formatSize } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { expandHome } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { findClipboardWriter, writeClipboard } from '../../platform/process/clipboard.ts';
import { feedCommand } from '../../platform/process/run.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import type { Chat } from '../chat.ts';
import { type ChatConversation, readSavedSession } from '../conversation.ts';
import { joinAnswer } from '../recap.ts';
import type { SlashCommand } from './command.ts';

export const COPY: SlashCommand = {
  name: 'copy',
  isForTerminals: true,
  argument: '[code|n]',
  help: 'Copy the last answer, its last code block, or the n-th answer from the end',
  complete: () => [{ insert: 'code', hint: 'the last code block' }],
  async run(argument, { app, conversation, lines, view }, signal) {
    const text = requireAnswerText(conversation, argument);
    if (!lines.isTerminal || !view.io.err.isTerminal) throw copyError('a clipboard needs a terminal');
    const size = formatSize(Buffer.byteLength(text));
    if (view.isPlain) {
      const writer = findClipboardWriter(app.env);
      if (writer === undefined) throw copyError('no program for the clipboard is known here');
      await lines.withTerminal(() => writeClipboard(text, writer, app, signal));
      await view.say(`Copied ${size}.`);
    } else {
      await view.io.err.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
      // OSC 52 has no reply: no terminal reports whether it copied.
      await view.say(`Asked the terminal to copy ${size}.`);
    }
  },
};

function copyError(why: string): AppError {
  return new AppError('usage', `nothing was copied: ${why}`, {
    hint: 'Pass it to a program of yours: /pipe <command>',
  });
}

export const PIPE: SlashCommand = {
  name: 'pipe',
  isForTerminals: true,
  argument: '<command>',
  help: 'Pass the last answer to a command',
  async run(argument, chat, signal) {
    if (argument === '') throw new AppError('usage', '/pipe needs a command', { hint: 'Example: /pipe less' });
    // The command gets a final newline, so that gmn's next message starts on a line of its own.
    await pipeToCommand(chat, argument, requireAnswerText(chat.conversation, '').replace(/\n?$/, '\n'), signal);
  },
};

async function pipeToCommand(
  { app: { env, cwd }, lines, run }: Chat,
  command: string,
  input: string,
  signal: AbortSignal,
): Promise<void> {
  const shell = chooseShell(run.facts.setup.tools.shell, env);
  const exitCode = await lines.withTerminal(() => feedCommand({ shell, command, input, env, cwd }, signal));
  if (exitCode === 0) return;
  throw new AppError('usage', `the command failed (exit code ${exitCode})`, { hint: 'See what it says above.' });
}

const EXPORT_FORMATS = ['md', 'json', 'html'] as const;

export const EXPORT: SlashCommand = {
  name: 'export',
  argument: '[file|md|json|html]',
  help: 'Write this session to a file: .md, .json or .html',
  complete: () => EXPORT_FORMATS.map((insert) => ({ insert, hint: `a new file: gmn-….${insert}` })),
  async run(argument, { app: { cwd, clock, env }, conversation, run, view }) {
    const { session } = conversation;
    if (session.turns === 0) {
      throw new AppError('usage', 'there is nothing to export yet', { hint: 'Ask something first.' });
    }
    const { exportSession, findFormat, writeExport } = await import('../../export/export.ts');
    const wanted = argument === '' ? 'md' : EXPORT_FORMATS.find((each) => each === argument.toLowerCase());
    const named =
      wanted === undefined ? argument : `gmn-${toFileName(session.name ?? shortenId(session.id))}.${wanted}`;
    const file = expandHome(named, env.HOME);
    const format = findFormat(file);
    if (format === undefined) {
      throw new AppError('usage', `${sanitize(file)} has no file extension of a known format`, {
        hint: 'Choose one of: .md, .json, .html',
      });
    }
    const { model } = run.facts.agent.request;
    await writeExport(
      { name: file, cwd, force: false, hint: 'Name another file: /export <file>' },
      await exportSession(await readSavedSession(conversation, { model, cwd, at: clock.now() }), format),
    );
    await view.say(`Wrote ${sanitize(file)}.`);
  },
};

/** Replaces the characters that have a meaning in a path on any system. */
function toFileName(name: string): string {
  return name.replace(/[\u0000-\u001f/\\:*?"<>|]/g, '-');
}

function requireAnswerText({ session }: ChatConversation, which: string): string {
  const answers = session.contents.filter(isAnswer).map(joinAnswer);
  const back = which === '' || which === 'code' ? 1 : Number(which);
  const text = Number.isInteger(back) && back > 0 ? answers.at(-back) : undefined;
  if (text === undefined) {
    throw new AppError('usage', which === '' ? 'there is no answer yet' : `there is no answer "${sanitize(which)}"`, {
      hint: answers.length === 0 ? 'Type a prompt.' : `1 is the last answer, ${answers.length} the first.`,
    });
  }
  if (which !== 'code') return text;
  const block = extractCodeBlocks(text).at(-1);
  if (block !== undefined) return block;
  throw new AppError('usage', 'there is no code block in the last answer', { hint: 'All of it: /copy' });
}

function isAnswer(content: StoredContent): boolean {
  return content.role === 'model' && joinAnswer(content) !== '';
}
