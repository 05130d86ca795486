import { join } from 'node:path';
import { isObject, parseJson } from '../../core/json.ts';
import { sha256 } from '../../platform/runtime/native.ts';

/** Where the official CLI keeps things, and how its files are read: undefined for what cannot be. */
export interface OfficialPlace {
  /** Its own directory. */
  readonly home: string;
  /** The names of the folders of its projects. */
  readonly folders: readonly string[];
  readonly cwd: string;
  readonly read: (path: string) => Promise<string | undefined>;
}

/** The directory that a folder of the official CLI, and a session in it, belong to; undefined if nothing tells. */
export type DirectoryOf = (folder: string, projectHash: string | undefined) => string | undefined;

/**
 * Learns which directories the official CLI knows: each folder may say whose it is, a list gives directories their folders, and
 * older folders and all sessions have a hash, which is that of one of these directories or of the one we are in.
 */
export async function officialProjects({ home, folders, cwd, read }: OfficialPlace): Promise<DirectoryOf> {
  const byFolder = listed((await read(join(home, 'projects.json'))) ?? '');
  for (const folder of folders) {
    const owner = (await read(join(home, 'tmp', folder, '.project_root')))?.trim();
    if (owner) byFolder.set(folder, owner);
  }
  const byHash = new Map([cwd, ...byFolder.values()].map((directory) => [sha256(directory), directory]));
  return (folder, projectHash = '') => byFolder.get(folder) ?? byHash.get(folder) ?? byHash.get(projectHash);
}

function listed(text: string): Map<string, string> {
  const value = parseJson(text);
  const projects = isObject(value) && isObject(value.projects) ? value.projects : {};
  return new Map(
    Object.entries(projects).flatMap(([directory, slug]) => (typeof slug === 'string' ? [[slug, directory]] : [])),
  );
}
