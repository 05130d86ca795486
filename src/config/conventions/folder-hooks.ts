import { dirname, join, relative, resolve } from 'node:path';
import type { App, Homes } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { canonicalJson, isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { contains, leadsAway, toSlashes } from '../../core/text/path.ts';
import { isDirectory, pathExists, realPath } from '../../platform/files/path.ts';
import { readBytes } from '../../platform/files/read.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { parseSettingsText } from '../document.ts';
import { isApprovedItem, readTrustRecords, type TrustDecision, type TrustItem, type TrustRecord } from '../trust.ts';
import { type Hook, type HookEntries, type HookEntry, readClaudeHooks, readHookEntries } from './hooks.ts';
import type { Skipped } from './places.ts';

/** A hook that a folder's settings bring. */
export interface FolderHook extends TrustItem {
  readonly kind: 'hooks';
  readonly entry: HookEntry;
  readonly command: string;
  readonly matcher?: string;
  /** The files that its command names, relative to the folder: a change of these is a change of the hook. */
  readonly scripts: readonly string[];
  /** Why it cannot be approved. */
  readonly fault?: string;
}

/** What a file of a folder has. */
export interface FolderHooks extends Pick<HookEntries, 'faults'> {
  readonly hooks: readonly FolderHook[];
}

/** `folder` without links. */
export async function listFolderHooks({ hooks }: JsonObject, folder: string): Promise<FolderHooks> {
  const { entries, faults } = readHookEntries(isObject(hooks) ? (hooks as JsonObject) : {});
  return { hooks: await Promise.all(entries.map((entry) => toFolderHook(entry, folder))), faults };
}

/** The files of Claude Code in a folder that is not the user's home; those that count more come last. */
export function listClaudeFiles(path: string, { gemini }: Pick<Homes, 'gemini'>): readonly string[] {
  if (realPath(path) === realPath(dirname(gemini))) return [];
  return ['settings.json', 'settings.local.json'].map((name) => join(path, '.claude', name)).filter(pathExists);
}

async function toFolderHook(entry: HookEntry, folder: string): Promise<FolderHook> {
  const { writtenEvent, name, matcher, definition } = entry;
  const command = typeof definition.command === 'string' ? definition.command : '';
  const { scripts, fault } = await hashScripts(command, folder);
  const written = canonicalJson({ event: writtenEvent, matcher: matcher ?? null, definition });
  return {
    ...{ kind: 'hooks', name, entry, command, fault },
    hash: sha256([written, ...scripts.map(({ path, hash }) => `${path} ${hash}`)].join('\n')),
    matcher: toNonEmptyString(matcher),
    scripts: scripts.map(({ path }) => path),
  };
}

const MAX_WORDS = 200;
/** Of those that a command names, such as by `cd`. */
const MAX_DIRECTORIES = 10;
const MAX_BYTES = 20_000_000;

interface Script {
  /** `a.sh`, or `a.sh -> /elsewhere/b.sh` for a link. */
  readonly path: string;
  readonly hash: string;
}

/** Each word that is the path of a file in the folder. Not every script is found: a command can build its path. */
async function hashScripts(
  command: string,
  folder: string,
): Promise<Pick<FolderHook, 'fault'> & { scripts: Script[] }> {
  const plain = command
    .replace(/["']/g, '')
    .replace(/\$\{?(?:GEMINI_PROJECT_DIR|CLAUDE_PROJECT_DIR|GEMINI_CWD|PWD)\}?/g, () => folder)
    // What it writes, such as a log, differs after each run.
    .replace(/>{1,2}\|?\s*[^\s;|&()<>]+/g, ' ');
  const words = plain
    .split(/[\s;|&()<>=]+/)
    .filter((word) => word !== '' && !leadsAway(word, [folder]))
    .slice(0, MAX_WORDS);
  const inside = (path: string): boolean => path !== folder && contains(folder, path);
  const directories = words.map((word) => resolve(folder, word)).filter((path) => inside(path) && isDirectory(path));
  const bases = [folder, ...new Set(directories)].slice(0, MAX_DIRECTORIES);
  const scripts: Script[] = [];
  for (const path of new Set(bases.flatMap((base) => words.map((word) => resolve(base, word))))) {
    const real = realPath(path);
    if (real === undefined || !(inside(path) || inside(real)) || isDirectory(real)) continue;
    const name = toSlashes(relative(folder, inside(real) ? real : path));
    try {
      const bytes = await readBytes(real, { maxBytes: MAX_BYTES, tooLarge: largeScriptError, links: 'never' });
      scripts.push({ path: inside(real) ? name : `${name} -> ${toSlashes(real)}`, hash: sha256(bytes) });
    } catch (thrown) {
      return { scripts: [], fault: `${name} cannot be reviewed: ${AppError.from(thrown).message}` };
    }
  }
  return { scripts };
}

function largeScriptError(): AppError {
  return new AppError('config', `it is larger than ${MAX_BYTES / 1_000_000} MB`);
}

export function isApprovedHook(record: TrustRecord | undefined, hook: FolderHook): boolean {
  return hook.fault === undefined && isApprovedItem(record, hook);
}

/** Whether `gmn trust` has shown it and its files as they are now. Throws AppError `config`. */
export async function isStillApproved({ entry }: Pick<Hook, 'entry'>, { cwd, homes }: Pick<App, 'cwd' | 'homes'>) {
  const folder = realPath(cwd);
  if (folder === undefined) return false;
  return isApprovedHook(readTrustRecords(homes()).get(folder), await toFolderHook(entry, folder));
}

/** Keeps these alone. */
export function restrictHooks(document: JsonObject, kept: readonly FolderHook[]): JsonObject {
  const { hooks, ...rest } = document;
  if (!isObject(hooks)) return document;
  const events = new Map<string, JsonObject[]>();
  for (const { entry } of kept) {
    const { writtenEvent, matcher, definition } = entry;
    const group = { ...(matcher === undefined ? {} : { matcher }), hooks: [definition] };
    events.set(writtenEvent, [...(events.get(writtenEvent) ?? []), group]);
  }
  return { ...rest, hooks: Object.fromEntries(events) };
}

/** The hooks of the working directory that are not used, and why. A broken file has none. */
export async function findPendingHooks(
  { cwd, homes: findHomes }: Pick<App, 'cwd' | 'homes'>,
  decide: (folder: string) => TrustDecision,
): Promise<readonly Skipped[]> {
  const homes = findHomes();
  const folder = realPath(cwd);
  if (folder === undefined) return [];
  const { isTrusted, why, isRefused } = decide(cwd);
  const record = readTrustRecords(homes).get(folder);
  const found: Skipped[] = [];
  for (const { file, document } of await readHookFiles(cwd, homes)) {
    const { hooks, faults } = await listFolderHooks(document, folder);
    for (const { name, fault } of hooks.filter((hook) => !isTrusted || !isApprovedHook(record, hook))) {
      const pending = { kind: 'hook', name, file, pendingIn: folder, isQuiet: isRefused } as const;
      found.push({ ...pending, why: isTrusted ? (fault ?? 'it is new or has changed') : why });
    }
    for (const each of faults) found.push({ kind: 'hook', name: each.name, file, why: each.why, isQuiet: isRefused });
  }
  return found;
}

/** Broken ones are left out. */
async function readHookFiles(path: string, homes: Homes) {
  const own = join(path, '.gemini', 'settings.json');
  const isOwn = realPath(dirname(own)) === realPath(homes.gemini);
  const found: { file: string; document: JsonObject }[] = [];
  for (const file of isOwn ? [] : [own, ...listClaudeFiles(path, homes)]) {
    try {
      const text = file === own ? readSmallFile(file) : undefined;
      const document =
        file === own ? text && (await parseSettingsText({ file, text })) : { hooks: readClaudeHooks(file) };
      if (document) found.push({ file, document });
    } catch (thrown) {
      if (AppError.from(thrown).fault !== 'config') throw thrown;
    }
  }
  return found;
}
