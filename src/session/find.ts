import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { fileNames, readEnds } from '../platform/files/lines.ts';
import { errnoOf } from '../platform/runtime/system.ts';
import { headerOf, idIn } from './header.ts';
import { parseLine, type ReadLine } from './parse.ts';
import { troubleOf } from './trouble.ts';

/** Where one session is. */
export interface Place {
  readonly id: string;
  readonly file: string;
}

/** Every file in a directory that has the name of a session. None if the directory cannot be read. */
export function sessionPlaces(directory: string): readonly Place[] {
  return namesIn(directory).flatMap((name) => {
    const id = idIn(name);
    return id === undefined ? [] : [{ id, file: join(directory, name) }];
  });
}

function namesIn(directory: string): readonly string[] {
  try {
    return fileNames(directory);
  } catch {
    return [];
  }
}

/** Throws AppError `config` if there may be sessions in a directory, and it cannot be read; where there is none, all is well. */
export function refuseUnreadable(directory: string): void {
  try {
    fileNames(directory);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return;
    throw new AppError('config', `cannot read the sessions in ${directory}: ${troubleOf(thrown)}`, {
      cause: thrown,
      hint: 'It must be a directory that you may read: gmn sessions path',
    });
  }
}

/** What the two ends of a session's file tell. */
export interface Glance {
  readonly summary: SessionSummary;
  /** Of the format. */
  readonly version: number;
  readonly last: ReadLine | undefined;
}

/**
 * A session as a list shows it; undefined if the file is none: neither its first line nor any other can be read. Reads only the
 * ends of the file.
 */
export function glanceAt({ id, file }: Place): Glance | undefined {
  const ends = readEnds(file, parseLine);
  const header = ends === undefined ? undefined : headerOf(file, ends.first);
  if (ends === undefined || header === undefined) return undefined;
  const { last, size } = ends;
  if (header.isDamaged && last === undefined) return undefined;
  const { name, model } = last?.standing ?? { name: header.name, model: undefined };
  const summary = {
    id,
    title: header.title,
    cwd: header.cwd,
    createdAt: header.at,
    updatedAt: last?.at ?? header.at,
    turns: last?.standing.turn ?? 0,
    isUnanswered: last?.standing.unanswered ?? false,
    source: last?.standing.by ?? header.by,
    bytes: size,
    file,
    ...(name === undefined ? {} : { name }),
    ...(model === undefined ? {} : { model }),
  };
  return { summary, version: header.v, last };
}

/**
 * The sessions of a directory, the one that was written to last first. One in which nothing counts, since all of it was
 * rewound, is left out unless it has a name.
 */
export function listSessions(directory: string): readonly SessionSummary[] {
  const all = glances(directory).map(({ summary }) => summary);
  return all.filter((summary) => canGoOn(summary) || summary.name !== undefined);
}

/** Whether there is something in a session to go on with: an exchange, or a prompt that waits to be asked again. */
export function canGoOn({ turns, isUnanswered }: SessionSummary): boolean {
  return turns > 0 || isUnanswered;
}

/** All of them, with what else the ends of their files tell. */
export function glances(directory: string): readonly Glance[] {
  const found = sessionPlaces(directory).flatMap((place) => glanceAt(place) ?? []);
  return found.sort(
    ({ summary: left }, { summary: right }) =>
      right.updatedAt - left.updatedAt || right.createdAt - left.createdAt || (left.id < right.id ? -1 : 1),
  );
}
