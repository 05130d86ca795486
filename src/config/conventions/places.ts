import { join } from 'node:path';
import type { App, Settings } from '../../core/app.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';
import { createTrustCheck } from '../context.ts';
import { CONVENTION_OWNERS, type ConventionKind, listProjectFolders, listUserPlaces } from '../context-place.ts';
import { readTrustRecords, type TrustDecision, type TrustRecord } from '../trust.ts';

/** Where skills or agents are. */
export interface ConventionPlace {
  readonly directory: string;
  readonly scope: 'user' | 'extension' | 'folder';
  /** The folder that brings it, without links; absent unless the scope is `folder`. */
  readonly folder?: string;
  /** Absent unless the scope is `folder`. */
  readonly trust?: TrustDecision;
  /** What `gmn trust` has approved of the folder. */
  readonly record?: TrustRecord;
  /** The extension that brings it. */
  readonly extension?: string;
}

/** A thing that is there, but not used. */
export interface Skipped {
  readonly kind: 'skill' | 'agent' | 'hook' | 'extension';
  readonly name: string;
  readonly file: string;
  readonly why: string;
  /** The folder that the user can review with `gmn trust`. */
  readonly pendingIn?: string;
  /** The user has said no to the folder, or turned the thing off, and need not hear of it. */
  readonly isQuiet?: true;
}

export interface PlaceContext extends Pick<App, 'env' | 'cwd' | 'homes'> {
  readonly settings: Pick<Settings, 'env' | 'document' | 'ownDocument' | 'extensions'>;
}

/** What counts most comes last: extensions, the user's own, the project's from its root down to the working directory. */
export function listPlaces(
  kind: ConventionKind,
  { env, cwd, homes: findHomes, settings }: PlaceContext,
): readonly ConventionPlace[] {
  const homes = findHomes();
  const installed = (settings.extensions ?? []).map(
    ({ path, name }) => ({ directory: join(path, kind), scope: 'extension', extension: name }) as const,
  );
  const user = homes.isMissing
    ? []
    : listUserPlaces(kind, homes.gemini).map((directory) => ({ directory, scope: 'user' }) as const);
  const own = user.map(({ directory }) => realPath(directory));
  const shared = listProjectFolders(cwd).flatMap((folder) =>
    CONVENTION_OWNERS[kind]
      .map((owner) => ({ folder, directory: join(folder, owner, kind) }))
      .filter(({ directory }) => isDirectory(directory) && !own.includes(realPath(directory))),
  );
  const others = [...installed, ...user].filter(({ directory }) => isDirectory(directory));
  if (shared.length === 0) return others;
  const decide = createTrustCheck({ env, cwd, homes, settings });
  const records = readTrustRecords(homes);
  const folders = shared.map(({ folder, directory }) => {
    const real = realPath(folder) ?? folder;
    return { directory, scope: 'folder', folder: real, trust: decide(folder), record: records.get(real) } as const;
  });
  return [...others, ...folders];
}

/** Of one folder, whether it is trusted or not. */
export function listFolderDirectories(kind: ConventionKind, folder: string): readonly string[] {
  return CONVENTION_OWNERS[kind].map((owner) => join(folder, owner, kind)).filter(isDirectory);
}
