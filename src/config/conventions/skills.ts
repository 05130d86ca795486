import { basename, join, relative } from 'node:path';
import { AppError } from '../../core/error.ts';
import { canonicalJson, toNonEmptyString } from '../../core/json.ts';
import { contains, toSlashes } from '../../core/text/path.ts';
import { realPath } from '../../platform/files/path.ts';
import { inspectPath, readBytes, readDirectory } from '../../platform/files/read.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { readSetting } from '../keys.ts';
import { isApprovedItem, isKnownItem } from '../trust.ts';
import { parseConventionFile, ReviewLimits, readConventionFile } from './front-matter.ts';
import { type ConventionPlace, listPlaces, type PlaceContext, type Skipped } from './places.ts';

/** https://agentskills.io/specification */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly body: string;
  /** Without links. */
  readonly directory: string;
  readonly file: string;
  readonly scope: ConventionPlace['scope'];
  readonly extension?: string;
  /** Only the user may choose it: it is not in the list that the model gets. */
  readonly isForUser: boolean;
}

export interface FoundSkills {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  readonly skipped: readonly Skipped[];
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const MAX_DESCRIPTION = 1024;
const MAX_SKILLS = 500;

/** Of two with one name, the one whose place counts more. Never throws for what is in a file. */
export async function findSkills(context: PlaceContext): Promise<FoundSkills> {
  const off = readSetting(context.settings.document ?? {}, 'skills.disabled') ?? [];
  const found = new Map<string, Skill>();
  const skipped: Skipped[] = [];
  const limits = new ReviewLimits();
  for (const place of listPlaces('skills', context)) {
    const inPlace = new Set<string>();
    for (const directory of await listSkillDirectories(place.directory)) {
      const skill = await readPlacedSkill(directory, place, limits);
      const isTwice = !('why' in skill) && inPlace.has(skill.name);
      if ('why' in skill) skipped.push(skill);
      else if (isTwice) skipped.push(skipSkill(skill.name, skill.file, 'another one beside it has the same name'));
      else if (off.includes(skill.name))
        skipped.push({
          ...skipSkill(skill.name, skill.file, 'skills.disabled in the settings names it'),
          isQuiet: true,
        });
      else {
        inPlace.add(skill.name);
        found.set(skill.name, skill);
      }
    }
  }
  const skills = [...found.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  return { skills, skipped };
}

/** Those with a SKILL.md; the user's own may be links. */
export async function listSkillDirectories(place: string): Promise<readonly string[]> {
  const entries = await readDirectory(place).catch(() => []);
  const names = entries.filter(({ kind }) => kind === 'directory' || kind === 'link').map(({ name }) => name);
  return names
    .sort()
    .slice(0, MAX_SKILLS)
    .map((name) => join(place, name))
    .filter((directory) => realPath(join(directory, 'SKILL.md')) !== undefined);
}

async function readPlacedSkill(
  directory: string,
  place: ConventionPlace,
  limits: ReviewLimits,
): Promise<Skill | Skipped> {
  const file = join(directory, 'SKILL.md');
  const name = basename(directory);
  const { folder, trust, record } = place;
  if (trust !== undefined && !trust.isTrusted)
    return { ...skipSkill(name, file, trust.why), isQuiet: trust.isRefused, pendingIn: folder };
  try {
    if (folder === undefined)
      return { ...(await readSkill(directory)), scope: place.scope, extension: place.extension };
    const changed = { ...skipSkill(name, file, 'it is new or has changed'), pendingIn: folder };
    // Nothing of one that nobody has seen is read.
    if (!isKnownItem(record, { kind: 'skills', name: nameFolderSkill(directory, folder) })) return changed;
    const read = await hashFolderSkill(directory, folder, limits);
    if (!isApprovedItem(record, read.item)) return changed;
    return { ...(await parseSkill(read.text, directory, limits)), scope: place.scope };
  } catch (thrown) {
    return skipSkill(name, file, AppError.from(thrown).message);
  }
}

function skipSkill(name: string, file: string, why: string): Skipped {
  return { kind: 'skill', name, file, why };
}

type ReadSkill = Omit<Skill, 'scope' | 'extension'>;

async function readSkill(directory: string): Promise<ReadSkill> {
  const file = join(directory, 'SKILL.md');
  return parseSkill(await readConventionFile(realPath(file) ?? file), directory);
}

/** Throws AppError `config` with the reason if it is faulty. */
async function parseSkill(bytes: Uint8Array, directory: string, limits?: ReviewLimits): Promise<ReadSkill> {
  const { fields, body } = await parseConventionFile(bytes, limits);
  // Some have a title there; the directory's name is what the specification wants in both places.
  const name = [fields.name, basename(directory)].find((each) => typeof each === 'string' && NAME.test(each));
  if (typeof name !== 'string') throw new AppError('config', 'its name must be 1 to 64 of a-z, 0-9 and -');
  const description = toNonEmptyString(fields.description)?.replace(/\s+/g, ' ').trim();
  if (!description) throw new AppError('config', 'it has no description');
  if (body === '') throw new AppError('config', 'there is nothing below its --- lines');
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    body,
    directory: realPath(directory) ?? directory,
    file: join(directory, 'SKILL.md'),
    isForUser: fields['disable-model-invocation'] === true,
  };
}

/** In one skill. */
const REVIEWED = { entries: 1000, bytes: 20_000_000 };
const MAX_DEPTH = 8;

/** A folder's skill, with the hash of all its files: scripts that it tells the model to run are a part of it. Throws AppError `config`. */
export async function readFolderSkill(directory: string, folder: string, limits: ReviewLimits) {
  const { item, files, text } = await hashFolderSkill(directory, folder, limits);
  return { item, files, skill: await parseSkill(text, directory, limits) };
}

function nameFolderSkill(directory: string, folder: string): string {
  const real = realPath(directory);
  if (real === undefined || !contains(folder, real)) throw new AppError('config', `it leads out of ${folder}`);
  return toSlashes(relative(folder, real));
}

async function hashFolderSkill(directory: string, folder: string, limits: ReviewLimits) {
  const name = nameFolderSkill(directory, folder);
  const real = join(folder, name);
  const files: (readonly [path: string, hash: string])[] = [];
  let left = REVIEWED.bytes;
  let text: Uint8Array | undefined;
  for (const path of await listSkillTree(real)) {
    const tooLarge = (): AppError =>
      limits.maxBytes < left
        ? new AppError('config', 'with those before it, there is too much to review')
        : new AppError('config', `its files have more than ${REVIEWED.bytes / 1_000_000} MB, too much to review`);
    const bytes = await readBytes(path, { maxBytes: Math.min(left, limits.maxBytes), tooLarge, links: 'never' });
    left -= bytes.length;
    limits.takeBytes(bytes.length);
    if (path === join(real, 'SKILL.md')) text = bytes;
    files.push([relative(real, path), sha256(bytes)]);
  }
  if (text === undefined) throw new AppError('config', 'its SKILL.md is no file of its own');
  const item = { kind: 'skills', name, hash: sha256(canonicalJson(files)) } as const;
  return { item, files: files.length, text };
}

/** Regular files, sorted. Links are refused: what they lead to could change unseen. Throws AppError `config`. */
async function listSkillTree(top: string): Promise<readonly string[]> {
  const files: string[] = [];
  let entries = 0;
  const walk = async (directory: string, depth: number): Promise<void> => {
    for (const { name, kind } of await readDirectory(directory)) {
      const path = join(directory, name);
      const shown = toSlashes(relative(top, path));
      entries += 1;
      if (entries > REVIEWED.entries)
        throw new AppError('config', `it has more than ${REVIEWED.entries} files, too many to review`);
      // Bytes that are no text all become the same character.
      if (name.includes('\ufffd')) throw new AppError('config', `the name of ${shown} in it is not UTF-8`);
      if (kind === 'file') files.push(path);
      else if (kind !== 'directory') throw new AppError('config', `${shown} in it is no regular file`);
      else if (depth === MAX_DEPTH) throw new AppError('config', `${shown} in it is too deep to review`);
      else await walk(path, depth + 1);
    }
  };
  await walk(top, 0);
  return files.sort();
}

/** What a person may look for in it, beside SKILL.md; never throws. */
export async function listSkillFiles(
  { directory }: Pick<Skill, 'directory'>,
  limit: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (path: string, depth: number): Promise<void> => {
    for (const { name, kind } of await readDirectory(path).catch(() => [])) {
      if (found.length >= limit) return;
      const inner = join(path, name);
      const real = kind === 'link' ? (await inspectPath(inner).catch(() => undefined))?.kind : kind;
      if (real === 'file' && !(depth === 0 && name === 'SKILL.md')) found.push(toSlashes(relative(directory, inner)));
      else if (kind === 'directory' && depth < MAX_DEPTH) await walk(inner, depth + 1);
    }
  };
  await walk(directory, 0);
  return found.sort();
}
