import { AppError } from '../../core/error.ts';
import { type SessionSource, SOURCE_LABELS } from '../../core/session.ts';
import { plural } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { formatSessionRow } from '../banner.ts';
import type { Chat } from '../chat.ts';
import type { Candidate } from '../line/source.ts';
import { copyConversation } from '../session.ts';
import { restoredNotice, showRecap, unansweredNotice } from '../setup.ts';
import { prepareWindow } from '../window.ts';
import type { SlashCommand } from './command.ts';

const MAX_LISTED = 20;

const SOURCES = Object.values(SOURCE_LABELS);

export const SESSIONS: SlashCommand = {
  name: 'sessions',
  argument: `[${SOURCES.join('|')}]`,
  help: 'Choose a saved session to continue, or list those from one source',
  complete: () => SOURCES.map((insert) => ({ insert })),
  async run(argument, chat) {
    if (argument === '' && chat.lines.pick !== undefined) return LOAD.run('', chat, chat.signal);
    await printSessions(chat, argument === '' ? undefined : requireSource(argument));
    return undefined;
  },
};

async function printSessions(chat: Chat, source?: SessionSource): Promise<void> {
  const all = (await chat.store.list()).map((summary, index) => ({ summary, number: index + 1 }));
  const wanted = all.filter(({ summary }) => source === undefined || summary.source === source);
  const now = chat.clock.now();
  const listed = wanted.slice(0, MAX_LISTED);
  const digits = String(listed.at(-1)?.number ?? '').length;
  const rows = listed.map(({ summary, number }) => formatSessionRow(summary, String(number).padStart(digits), now));
  if (rows.length === 0) await chat.say(all.length === 0 ? 'No session is saved.' : `There are no such sessions.`);
  else await chat.list(rows);
  if (wanted.length > MAX_LISTED) await chat.say(`and ${wanted.length - MAX_LISTED} more: gmn sessions list`);
}

function requireSource(word: string): SessionSource {
  const found = (['chat', 'prompt', 'mcp'] as const).find((source) => SOURCE_LABELS[source] === word);
  if (found !== undefined) return found;
  throw new AppError('usage', `/sessions cannot be narrowed to "${sanitize(word)}"`, {
    hint: `Choose one of: ${SOURCES.join(', ')}`,
  });
}

export const SAVE: SlashCommand = {
  name: 'save',
  argument: '[name]',
  help: 'Name this session, and save it if it is not saved yet',
  async run(argument, chat) {
    const wanted = (await chat.run.facts.agent.redaction?.redact(argument)) ?? argument;
    if (!chat.isSaved) await beginSaving(chat, wanted);
    else if (wanted !== '') await chat.session.rename(wanted);
    const { session } = chat;
    if (!session.isSaved) throw notSavedError();
    const name = sanitize(session.name ?? shortenId(session.id));
    await chat.say(
      session.turns === 0 && session.unanswered === undefined
        ? `Your first prompt will be saved as ${name}.`
        : `Saved as ${name}.`,
    );
    return undefined;
  },
};

/** The reason has already been reported where it was noticed. */
function notSavedError(): AppError {
  return new AppError('usage', 'this session could not be saved', {
    hint: 'Write it to a file of yours: /export <file>',
  });
}

async function beginSaving(chat: Chat, name: string): Promise<void> {
  const session = await chat.store.create({ cwd: chat.cwd, by: 'chat', name: name || undefined });
  await copyConversation(chat.session, session);
  chat.changes.transfer(chat.session, session);
  chat.session = session;
  chat.isSaved = true;
}

export const LOAD: SlashCommand = {
  name: 'load',
  aliases: ['resume'],
  argument: '[session]',
  help: 'Continue a saved session by id, name or number; without one, choose from a list',
  complete: completeSessions,
  async run(argument, chat) {
    const wanted = argument === '' ? await chooseSession(chat) : argument;
    if (wanted === undefined) return undefined;
    const summary = await chat.store.find(wanted);
    if (summary.id === chat.session.id) {
      throw new AppError('usage', 'this is the session you are in', { hint: 'To see the others: /sessions' });
    }
    const session = await chat.store.resume(summary, chat.cwd);
    await prepareWindow(session);
    await chat.session.close();
    chat.session = session;
    chat.isSaved = true;
    chat.stats.forgetWindow();
    chat.lastPrompt = session.unanswered;
    const { turns } = session;
    await chat.say(`Continuing ${sanitize(session.name ?? shortenId(session.id))}: ${plural(turns, 'turn')}.`);
    await restoreSessionSetup(chat);
    if (chat.lines.isTerminal) await showRecap(chat);
    const notice = unansweredNotice(session);
    if (notice !== undefined) await chat.showNotice(notice);
    return undefined;
  },
};

async function restoreSessionSetup(chat: Chat): Promise<void> {
  const { setup } = chat.session;
  // A session of a version that did not keep its model leaves the chat as it is.
  const own = setup.model === undefined ? {} : { systemText: undefined, appendText: undefined };
  const { model: before } = chat.run.facts.agent.request;
  await chat.run.change({ ...own, start: undefined, ...setup });
  const { model } = chat.run.facts.agent.request;
  const { model: _, ...texts } = setup;
  const restored = restoredNotice(model === before ? texts : { ...texts, model });
  if (restored !== undefined) await chat.showNotice(restored);
}

async function chooseSession(chat: Chat): Promise<string | undefined> {
  const { lines, store } = chat;
  const all = await store.list();
  if (lines.pick !== undefined && all.length > 0) {
    const now = chat.clock.now();
    const digits = String(all.length).length;
    const candidates = all.map((summary, index) => {
      const [label, hint] = formatSessionRow(summary, String(index + 1).padStart(digits), now);
      return { insert: summary.id, label, hint };
    });
    return (await lines.pick({ title: 'session', candidates }))?.insert;
  }
  await printSessions(chat);
  if (!lines.isTerminal || all.length === 0) return undefined;
  const entry = await lines.read({ prompt: 'number, id or name (Ctrl+D: none) › ', isAnswer: true });
  return entry.kind === 'text' ? entry.text.trim() : undefined;
}

async function completeSessions({ store, session }: Chat): Promise<readonly Candidate[]> {
  const all = (await store.list()).filter(({ id }) => id !== session.id);
  return all.map((summary) => ({ insert: summary.name ?? shortenId(summary.id), hint: summary.title }));
}
