import type { ApprovalMode } from '../approval/policy.ts';
import { type SessionSummary, SOURCE_LABELS } from '../core/session.ts';
import { formatAge, plural } from '../core/text/format.ts';
import { shortId } from '../core/text/names.ts';
import { shortenPath } from '../core/text/path.ts';
import { sanitize } from '../core/text/terminal.ts';
import { measureWidth } from '../core/text/width.ts';
import type { Chat, ListRow } from './chat.ts';

const MODE_LABELS: Readonly<Record<ApprovalMode, string>> = {
  default: 'edits ask first',
  auto_edit: 'edits run unasked',
  plan: 'tools only read',
  yolo: 'nothing asks first',
};

export function describeMode(mode: ApprovalMode): string {
  return MODE_LABELS[mode];
}

/** `gmn 0.1.0 · demo · gemini-2.5-flash · ~/work · edits ask first · /help`, broken into rows that fit the window. */
export function formatBanner(chat: Chat): string {
  const { version, assistant, cwd, env, session } = chat;
  const { service, agent, setup } = assistant;
  const { err } = chat.io;
  const words = [
    `gmn ${version}`,
    service,
    sanitize(agent.request.model),
    sanitize(shortenPath(cwd, env.HOME)),
    ...(session.turns === 0 ? [] : [plural(session.turns, 'earlier turn')]),
    assistant.tools.length === 0 ? 'no tools' : describeMode(setup.mode),
    '/help',
  ];
  return wrapItems(words, err.isTerminal ? err.columns - 1 : Number.POSITIVE_INFINITY).join('\n');
}

function wrapItems(words: readonly string[], columns: number): readonly string[] {
  const rows: string[] = [];
  for (const word of words) {
    const last = rows.at(-1);
    const longer = `${last} · ${word}`;
    if (last !== undefined && measureWidth(longer) <= columns) rows[rows.length - 1] = longer;
    else rows.push(word);
  }
  return rows;
}

/** The stats, and the command that resumes this session if it can be resumed. */
export async function formatFarewell(chat: Chat): Promise<readonly string[]> {
  const { isSaved, turns, unanswered } = chat.session;
  const canGoOn = isSaved && (turns > 0 || unanswered !== undefined);
  const reference = canGoOn ? await findReference(chat) : undefined;
  return [
    ...chat.stats.lines(),
    ...(reference === undefined ? [] : [`Resume: gmn chat ${chat.resumeFlags}-r ${reference}`]),
  ];
}

/** The shortest reference that really finds this session; undefined if none does, as when nothing could be written. */
async function findReference({ session, store }: Chat): Promise<string | undefined> {
  const { name, id } = session;
  const words = [...(name !== undefined && /^[\w.-]+$/.test(name) ? [name] : []), shortId(id), id];
  for (const word of words) {
    const found = await store.find(word).catch(() => undefined);
    if (found?.id === id) return word;
  }
  return undefined;
}

const MAX_TITLE = 50;

/** A session as a row: number and short id; name, source, turns, age, title. Sanitized for the terminal. */
export function formatSessionRow(summary: SessionSummary, number: string, now: number): ListRow {
  const { id, name, title, turns, isUnanswered, source, updatedAt } = summary;
  const words = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1).toWellFormed()}…` : title;
  const about = [
    ...(name === undefined ? [] : [sanitize(name)]),
    SOURCE_LABELS[source],
    turns === 0 && isUnanswered ? 'no answer yet' : plural(turns, 'turn'),
    formatAge(updatedAt, now),
    sanitize(words),
  ];
  return [`${number}  ${shortId(id)}`, about.join('  ')];
}
