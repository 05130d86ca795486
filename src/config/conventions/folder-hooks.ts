import { dirname, join } from 'node:path';
import type { App, Homes } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { canonicalJson, isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { pathExists, realPath } from '../../platform/files/path.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { parseSettingsText } from '../document.ts';
import { isApprovedItem, readTrustRecords, type TrustDecision, type TrustItem, type TrustRecord } from '../trust.ts';
import { hashScripts } from './hook-scripts.ts';
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
    hash: sha256(canonicalJson([written, ...scripts.map(({ path, hash }) => [path, hash])])),
    matcher: toNonEmptyString(matcher),
    scripts: scripts.map(({ path }) => path),
  };
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
    events.set(writtenEvent, [...(events.get(writtenEvent) ?? []), { matcher, hooks: [definition] }]);
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
