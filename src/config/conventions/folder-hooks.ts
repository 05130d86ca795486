import { dirname, join, relative, resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { canonicalJson, isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { contains, leadsAway, toSlashes } from '../../core/text/path.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';
import { readBytes } from '../../platform/files/read.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { parseSettingsText } from '../document.ts';
import { isApprovedItem, readTrustRecords, type TrustDecision, type TrustItem, type TrustRecord } from '../trust.ts';
import { type Hook, type HookEntry, listHookEntries } from './hooks.ts';
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

/** `folder` without links. */
export async function listFolderHooks({ hooks }: JsonObject, folder: string): Promise<readonly FolderHook[]> {
  const entries = isObject(hooks) ? listHookEntries(hooks as JsonObject) : [];
  return Promise.all(entries.map((entry) => toFolderHook(entry, folder)));
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
  const file = join(cwd, '.gemini', 'settings.json');
  if (realPath(dirname(file)) === realPath(homes.gemini)) return [];
  try {
    const text = readSmallFile(file);
    const folder = realPath(cwd);
    if (text === undefined || folder === undefined) return [];
    const hooks = await listFolderHooks(await parseSettingsText({ file, text }), folder);
    const { isTrusted, why, isRefused } = decide(cwd);
    const record = readTrustRecords(homes).get(folder);
    return hooks
      .filter((hook) => !isTrusted || !isApprovedHook(record, hook))
      .map(({ name, fault }) => ({
        ...{ kind: 'hook', name, file, pendingIn: folder, isQuiet: isRefused },
        why: isTrusted ? (fault ?? 'it is new or has changed') : why,
      }));
  } catch (thrown) {
    if (AppError.from(thrown).fault === 'config') return [];
    throw thrown;
  }
}
