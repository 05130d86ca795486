import { dirname, isAbsolute, normalize } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { isSamePermission, type Permission, tryParsePermission } from '../core/permission.ts';
import { contains } from '../core/text/path.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { realPath } from '../platform/files/path.ts';
import { findDistrust, readSmallFile } from '../platform/files/small-file.ts';
import { makePrivateDirectory, writeAtomic } from '../platform/files/write.ts';

/** A permission of a project, which is a working directory by its real path. */
export interface KeptPermission {
  readonly project: string;
  readonly permission: Permission;
  /** When it was given. */
  readonly time: string;
}

const LOCK_MS = 10_000;

export function permissionsFilePath(gmnHome: string): string {
  return `${gmnHome}/permissions.json`;
}

/**
 * All that is kept, in the order in which it was given. `roots` are the directories of a run: a file that lies in one of them, also by a link, may be
 * part of a project, and grants nothing. Throws AppError `config` if the file is not as gmn writes it, or others could have written it.
 */
export function readPermissionsFile(file: string, roots: readonly string[] = []): readonly KeptPermission[] {
  const text = readSmallFile(file);
  if (text === undefined) return [];
  const real = realPath(file) ?? file;
  if (roots.some((root) => [file, real].some((path) => contains(realPath(root) ?? root, path)))) {
    throw permissionsError(file, 'it is in the working directory, where a project could have put it', {
      hint: 'GMN_HOME must be a directory outside of the project.',
    });
  }
  const distrust = findDistrust(file, 'root or me');
  if (distrust !== undefined) throw permissionsError(file, distrust);
  return parsePermissions(text, file);
}

export function addPermission(file: string, kept: KeptPermission, app: Pick<App, 'clock' | 'signal'>): Promise<void> {
  return changePermissionsFile(file, app, (all) => (all.some((each) => isSameKept(each, kept)) ? all : [...all, kept]));
}

export function removePermissions(
  file: string,
  removed: readonly KeptPermission[],
  app: Pick<App, 'clock' | 'signal'>,
): Promise<void> {
  return changePermissionsFile(file, app, (all) => all.filter((each) => !removed.some((one) => isSameKept(one, each))));
}

function isSameKept(one: KeptPermission, other: KeptPermission): boolean {
  return one.project === other.project && isSamePermission(one.permission, other.permission);
}

/** Under a lock: no change of another process is lost. A damaged file is left alone. Throws AppError `config`. */
async function changePermissionsFile(
  file: string,
  { clock, signal }: Pick<App, 'clock' | 'signal'>,
  change: (all: readonly KeptPermission[]) => readonly KeptPermission[],
): Promise<void> {
  await makePrivateDirectory(dirname(file));
  const lock = await acquireLock(`${file}.lock`, { clock, signal, maxWaitMs: LOCK_MS, isDone: async () => false });
  if (!lock?.isHeld) {
    throw permissionsError(file, 'it cannot be changed now: it is locked, or its directory cannot be written', {
      hint: 'Try again.',
    });
  }
  try {
    await writeAtomic(file, formatPermissions(change(readPermissionsFile(file))), { mode: 0o600 });
  } finally {
    await lock.release();
  }
}

function formatPermissions(all: readonly KeptPermission[]): string {
  const projects = [...new Set(all.map(({ project }) => project))];
  const entries = projects.map((project) => [
    project,
    all.filter((kept) => kept.project === project).map(({ permission, time }) => ({ ...permission, time })),
  ]);
  return `${JSON.stringify({ version: 1, projects: Object.fromEntries(entries) }, null, 2)}\n`;
}

/** In doubt it throws: what is not understood must not grant anything. */
function parsePermissions(text: string, file: string): readonly KeptPermission[] {
  const value = parseText(text, file);
  if (!isObject(value) || value.version !== 1 || !isObject(value.projects) || Object.keys(value).length !== 2)
    throw permissionsError(file, 'it is not a list of permissions');
  return Object.entries(value.projects as JsonObject).flatMap(([project, list]) => {
    const isPath = isAbsolute(project) && normalize(project) === project;
    if (!isPath || !isList(list)) throw permissionsError(file, `the entry ${JSON.stringify(project)} is not valid`);
    return list.map((entry) => parseKept(entry, project, file));
  });
}

function parseText(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw permissionsError(file, 'it is not JSON', { cause });
  }
}

function parseKept(entry: JsonValue, project: string, file: string): KeptPermission {
  const { time, ...fields } = isObject(entry) ? (entry as JsonObject) : {};
  const permission = tryParsePermission(fields);
  if (permission === undefined || typeof time !== 'string')
    throw permissionsError(file, `a permission of ${JSON.stringify(project)} is not valid`);
  return { project, permission, time };
}

function permissionsError(
  file: string,
  why: string,
  { hint, cause }: { hint?: string; cause?: unknown } = {},
): AppError {
  return new AppError('config', `${file}: ${why}`, {
    cause,
    hint: hint ?? 'Nothing in it counts. Fix or remove that file; what it allowed is asked about again.',
  });
}
