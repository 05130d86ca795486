import { AppError } from '../../core/error.ts';
import { expandHome } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { openTty } from '../../platform/terminal/tty.ts';
import { dropAttached } from '../attached.ts';
import { formatUndone } from '../changes.ts';
import type { Chat } from '../chat.ts';
import { buildPrompt, requireFile } from '../prompt.ts';
import { type SlashCommand, splitWords } from './command.ts';

export const FILE: SlashCommand = {
  name: 'file',
  argument: '[path…]',
  help: 'Attach files to the next prompt; without a path, show what is attached; - drops it',
  async run(argument, chat) {
    const { attached, view } = chat;
    if (argument === '-') dropAttached(attached);
    else for (const path of splitWords(argument)) await attach(chat, path);
    const files = attached.files.map((path) => `+ ${sanitize(path)}`);
    const notes = attached.notes.length === 0 ? [] : [`+ ${attached.notes.length} from commands and undone changes`];
    const pictures = attached.pictures.map(({ label }) => `+ ${label}`);
    const all = [...files, ...pictures, ...notes];
    await view.say(all.length === 0 ? 'Nothing goes with the next prompt.' : all.join('\n'));
  },
};

async function attach({ app, attached }: Chat, word: string): Promise<void> {
  const path = expandHome(word, app.env.HOME);
  await requireFile(path, app.cwd);
  if (!attached.files.includes(path)) attached.files = [...attached.files, path];
}

export const EDIT: SlashCommand = {
  name: 'edit',
  isForTerminals: true,
  argument: '[text]',
  help: 'Write the next prompt in your editor',
  async run(argument, chat, signal) {
    const { app, lines, view } = chat;
    const text = await lines.withTerminal(async () => {
      const tty = lines.isTerminal ? openTty() : undefined;
      if (tty === undefined) {
        throw new AppError('usage', '/edit needs a terminal', { hint: 'Type the prompt on a line of its own.' });
      }
      try {
        return await tty.edit(argument, 'prompt.md', app.env, signal);
      } finally {
        tty.close();
      }
    });
    if (text === undefined) {
      throw new AppError('usage', 'the editor failed', { hint: 'VISUAL or EDITOR names the one to use.' });
    }
    if (text.trim() === '') {
      await view.say('Nothing was written.');
      return undefined;
    }
    await view.sayVerbatim(text.trim());
    return { ask: await buildPrompt(chat, text, signal) };
  },
};

export const DIFF: SlashCommand = {
  name: 'diff',
  onlyShows: true,
  help: 'Show what tools changed in this session',
  async run(_, { changes, conversation, view }) {
    const diff = await changes.diff(conversation.session);
    await (diff === '' ? view.say('Tools changed nothing in this session.') : view.sayDiff(diff.trimEnd()));
  },
};

export const UNDO: SlashCommand = {
  name: 'undo',
  help: 'Put back the files that the last turn changed',
  async run(_, { app, attached, changes, conversation, view }) {
    const done = await changes.undo(conversation.session);
    const lines = formatUndone(done, app.cwd);
    await view.say(lines.join('\n'));
    if (done.some((result) => 'outcome' in result)) {
      attached.notes = [...attached.notes, `I took back changes that your tools made:\n\n${lines.join('\n')}`];
    }
  },
};
