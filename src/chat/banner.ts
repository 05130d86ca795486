import { type SessionSummary, SOURCE_LABELS } from '../core/session.ts';
import { formatAge, plural } from '../core/text/format.ts';
import { shortenId } from '../core/text/names.ts';
import { shortenPath } from '../core/text/path.ts';
import { sanitize } from '../core/text/terminal.ts';
import { measureWidth } from '../core/text/width.ts';
import { describeApproval } from './approval-modes.ts';
import type { Chat } from './chat.ts';
import type { ChatConversation } from './conversation.ts';
import { alignColumns, type ListRow } from './rows.ts';

/**
 * `gmn 0.1.0 · demo · gemini-2.5-flash · ~/work · edits ask first · /help` in one row if that is possible with only the
 * end of the path; else in rows that fit the window.
 */
export function formatBanner({ app: { version, cwd, env }, run, view: { columns } }: Chat): string {
  const { agent, model } = run.facts;
  const before = [`gmn ${version}`, model.billedTo, sanitize(agent.request.model)];
  const after = [describeApproval(run), '/help'];
  const path = sanitize(shortenPath(cwd, env.HOME));
  const room = columns - measureWidth([...before, '', ...after].join(' · '));
  return wrapItems([...before, cutPath(path, room), ...after], columns).join('\n');
}

/** `…/app/src` of `/home/ada/work/app/src`: as many of the last names as fit; all of it if not even one does. */
function cutPath(path: string, columns: number): string {
  const names = path.split('/');
  const ends = names.map((_, index) => (index === 0 ? path : `…/${names.slice(index).join('/')}`));
  return ends.find((end) => measureWidth(end) <= columns) ?? path;
}

function wrapItems(items: readonly string[], columns: number): readonly string[] {
  const rows: string[] = [];
  for (const item of items) {
    const last = rows.at(-1);
    const longer = `${last} · ${item}`;
    if (last !== undefined && measureWidth(longer) <= columns) rows[rows.length - 1] = longer;
    else rows.push(item);
  }
  return rows;
}

export async function formatFarewell({ conversation, run, stats }: Chat): Promise<readonly string[]> {
  const { isSaved, turns, unanswered } = conversation.session;
  const canGoOn = isSaved && (turns > 0 || unanswered !== undefined);
  const reference = canGoOn ? await findReference(conversation) : undefined;
  return [
    ...stats.formatLines(),
    ...(reference === undefined
      ? []
      : [`Resume: gmn chat ${run.facts.setup.model.demo ? '--demo ' : ''}-r ${reference}`]),
  ];
}

/** As it is typed: the name, else the shortest reference that really finds this session; undefined if none does, as when nothing could be written. */
async function findReference({ session, store }: ChatConversation): Promise<string | undefined> {
  const { name, id } = session;
  for (const reference of [...(name !== undefined && PLAIN_NAME.test(name) ? [name] : []), shortenId(id), id]) {
    const found = await store.find(reference).catch(() => undefined);
    if (found?.id === id) return reference.includes(' ') ? `"${reference}"` : reference;
  }
  return undefined;
}

/** A name that no shell reads otherwise, between double quotes if it has spaces. */
const PLAIN_NAME = /^[\p{L}\p{N}_.][\p{L}\p{M}\p{N}_. -]*$/u;

const MAX_TITLE = 50;

export interface ListedSession {
  readonly summary: SessionSummary;
  /** Its place among those of every directory. */
  readonly number: number;
}

/** In columns; that of the names is there if a session has one. A narrow window cuts the last first: people choose by the title. */
export function formatSessionRows(listed: readonly ListedSession[], now: number): readonly ListRow[] {
  const digits = String(listed.at(-1)?.number ?? '').length;
  const abouts = alignColumns(listed.map(({ summary }) => formatSessionCells(summary, now)));
  return listed.map(({ summary: { id }, number }, index) => [
    `${String(number).padStart(digits)}  ${shortenId(id)}`,
    abouts[index] ?? '',
  ]);
}

function formatSessionCells(summary: SessionSummary, now: number): readonly string[] {
  const { name = '', title, turns, isUnanswered, source, updatedAt } = summary;
  const shortTitle = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1).toWellFormed()}…` : title;
  return [
    sanitize(name),
    sanitize(shortTitle),
    formatAge(updatedAt, now),
    turns === 0 && isUnanswered ? 'no answer yet' : plural(turns, 'turn'),
    SOURCE_LABELS[source],
  ];
}
