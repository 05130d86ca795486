import { AppError } from '../../core/error.ts';
import { type KeptSetup, type SessionSource, SOURCE_LABELS } from '../../core/session.ts';
import { plural } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { RunPatch } from '../../engine/setup.ts';
import { formatSessionRows } from '../banner.ts';
import type { Chat } from '../chat.ts';
import type { Candidate } from '../line/source.ts';
import { restoredNotice, showRecap, showUnanswered } from '../recap.ts';
import { listNumbered, toSessionCandidates } from '../session-picker.ts';
import type { SlashCommand } from './command.ts';

const MAX_LISTED = 20;

const SOURCES = Object.values(SOURCE_LABELS);

export const SESSIONS: SlashCommand = {
  name: 'sessions',
  isForTerminals: true,
  mayBegin: true,
  argument: '[source]',
  help: `Choose a saved session to continue, or list those of one source: ${SOURCES.join(', ')}`,
  complete: () => SOURCES.map((insert) => ({ insert })),
  async run(argument, chat) {
    if (argument === '' && chat.lines.pick !== undefined) await LOAD.run('', chat, chat.app.signal);
    else await printSessions(chat, argument === '' ? undefined : requireSource(argument));
  },
};

async function printSessions({ app, conversation, view }: Chat, source?: SessionSource): Promise<void> {
  const all = await listNumbered(conversation.store);
  const wanted = all.filter(({ summary }) => source === undefined || summary.source === source);
  const now = app.clock.now();
  const rows = formatSessionRows(wanted.slice(0, MAX_LISTED), now);
  if (rows.length === 0) await view.say(all.length === 0 ? 'No session is saved.' : `There are no such sessions.`);
  else await view.list(rows);
  if (wanted.length > MAX_LISTED) await view.say(`and ${wanted.length - MAX_LISTED} more: gmn sessions list`);
}

function requireSource(word: string): SessionSource {
  const found = (['chat', 'prompt', 'mcp', 'agent'] as const).find((source) => SOURCE_LABELS[source] === word);
  if (found !== undefined) return found;
  throw new AppError('usage', `/sessions cannot be narrowed to "${sanitize(word)}"`, {
    hint: `Choose one of: ${SOURCES.join(', ')}`,
  });
}

export const SAVE: SlashCommand = {
  name: 'save',
  argument: '[name]',
  help: 'Name this session, and save it if it is not saved yet',
  async run(argument, { changes, conversation, run, view }) {
    const wanted = (await run.facts.agent.redaction?.redact(argument)) ?? argument;
    const { session: before, isSaved } = conversation;
    if (!isSaved) {
      await conversation.save(wanted || undefined);
      changes.transfer(before, conversation.session);
    } else if (wanted !== '') await before.rename(wanted);
    const { session } = conversation;
    if (!session.isSaved) throw notSavedError();
    const name = sanitize(session.name ?? shortenId(session.id));
    await view.say(
      session.turns === 0 && session.unanswered === undefined
        ? `Your first prompt will be saved as ${name}.`
        : `Saved as ${name}.`,
    );
  },
};

/** The reason has already been reported where it was noticed. */
function notSavedError(): AppError {
  return new AppError('usage', 'this session could not be saved', {
    hint: 'Write it to a file of yours: /export <file>',
  });
}

export const LOAD: SlashCommand = {
  name: 'load',
  isForTerminals: true,
  mayBegin: true,
  aliases: ['resume'],
  argument: '[session]',
  help: 'Continue a saved session by id, name or number; without one, choose from a list',
  complete: completeSessions,
  async run(argument, chat) {
    const { conversation, lines, view } = chat;
    const wanted = argument === '' ? await chooseSession(chat) : argument;
    if (wanted === undefined) return;
    const summary = await conversation.store.find(wanted);
    if (summary.id === conversation.session.id) {
      throw new AppError('usage', 'this is the session you are in', { hint: 'To see the others: /sessions' });
    }
    await conversation.load(summary);
    const { session } = conversation;
    await view.say(`Continuing ${sanitize(session.name ?? shortenId(session.id))}: ${plural(session.turns, 'turn')}.`);
    await restoreSessionSetup(chat);
    if (lines.isTerminal) await showRecap(session, view);
    await showUnanswered(session, view);
  },
};

async function restoreSessionSetup({ conversation, run, view }: Chat): Promise<void> {
  const { setup } = conversation.session;
  const { model: wanted, ...texts } = setup;
  const { model: before } = run.facts.agent.request;
  await run.change(toPatch(setup));
  const { model } = run.facts.agent.request;
  const restored = restoredNotice(model === before ? texts : { ...texts, model });
  if (restored !== undefined) await view.showNotice(restored);
}

/** A session of a version that did not keep its model leaves the chat as it is. */
function toPatch({ model, start, ...texts }: KeptSetup): RunPatch {
  if (model === undefined) return { instruction: { ...texts, start } };
  const { systemText, appendText } = texts;
  return { model: { model }, instruction: { ...texts, systemText, appendText, start } };
}

async function chooseSession(chat: Chat): Promise<string | undefined> {
  const { app, conversation, lines } = chat;
  const all = await listNumbered(conversation.store);
  if (lines.pick !== undefined && all.length > 0) {
    const candidates = toSessionCandidates(all, app.clock.now());
    return (await lines.pick({ title: 'session', candidates }))?.insert;
  }
  await printSessions(chat);
  if (!lines.isTerminal || all.length === 0) return undefined;
  const entry = await lines.read({ prompt: 'number, id or name (Ctrl+D: none) › ', isAnswer: true });
  return entry.kind === 'text' ? entry.text.trim() : undefined;
}

async function completeSessions({ conversation: { store, session } }: Chat): Promise<readonly Candidate[]> {
  const all = (await store.list()).filter(({ id }) => id !== session.id);
  return all.map((summary) => ({ insert: summary.name ?? shortenId(summary.id), hint: summary.title }));
}
