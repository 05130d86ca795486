import { relative } from 'node:path';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { openTty } from '../../platform/terminal/tty.ts';
import type { Chat } from '../chat.ts';
import { buildPrompt, requireFile } from '../prompt.ts';
import { type SlashCommand, splitWords } from './command.ts';

export const FILE: SlashCommand = {
  name: 'file',
  argument: '[path…]',
  help: 'Attach files to the next prompt; without a path, show what is attached; - drops it',
  async run(argument, chat) {
    if (argument === '-') {
      chat.files = [];
      chat.notes = [];
      chat.pictures = [];
    } else {
      for (const path of splitWords(argument)) await attach(chat, path);
    }
    const files = chat.files.map((path) => `+ ${sanitize(path)}`);
    const notes = chat.notes.length === 0 ? [] : [`+ ${chat.notes.length} from commands and undone changes`];
    const pictures = chat.pictures.map(({ label }) => `+ ${label}`);
    const all = [...files, ...pictures, ...notes];
    await chat.say(all.length === 0 ? 'Nothing goes with the next prompt.' : all.join('\n'));
    return undefined;
  },
};

async function attach(chat: Chat, path: string): Promise<void> {
  await requireFile(path, chat.cwd);
  if (!chat.files.includes(path)) chat.files = [...chat.files, path];
}

export const EDIT: SlashCommand = {
  name: 'edit',
  argument: '[text]',
  help: 'Write the next prompt in your editor',
  async run(argument, chat, signal) {
    const text = await chat.lines.withTerminal(async () => {
      const tty = chat.lines.isTerminal ? openTty() : undefined;
      if (tty === undefined) {
        throw new AppError('usage', '/edit needs a terminal', { hint: 'Type the prompt on a line of its own.' });
      }
      try {
        return await tty.edit(argument, 'prompt.md', chat.env, signal);
      } finally {
        tty.close();
      }
    });
    if (text === undefined) {
      throw new AppError('usage', 'the editor failed', { hint: 'VISUAL or EDITOR names the one to use.' });
    }
    if (text.trim() === '') {
      await chat.say('Nothing was written.');
      return undefined;
    }
    await chat.say(text.trim());
    return { ask: await buildPrompt(chat, text, signal) };
  },
};

export const DIFF: SlashCommand = {
  name: 'diff',
  help: 'Show what tools changed in this session',
  async run(_, chat) {
    const diff = await chat.changes.diff(chat.session);
    await (diff === '' ? chat.say('Tools changed nothing in this session.') : chat.sayDiff(diff.trimEnd()));
    return undefined;
  },
};

export const UNDO: SlashCommand = {
  name: 'undo',
  help: 'Put back the files that the last turn changed',
  async run(_, chat) {
    const done = await chat.changes.undo(chat.session);
    const lines = done.map((result) => {
      const path = sanitize(relative(chat.cwd, result.path));
      return 'outcome' in result ? `${result.outcome} ${path}` : `✗ ${sanitize(result.problem.message)}`;
    });
    await chat.say(lines.join('\n'));
    if (done.some((result) => 'outcome' in result)) {
      chat.notes = [...chat.notes, `I took back changes that your tools made:\n\n${lines.join('\n')}`];
    }
    return undefined;
  },
};
