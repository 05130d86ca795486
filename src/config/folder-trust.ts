import { join, relative } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { joinFirst } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { wrapText } from '../core/text/width.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { findContextFiles } from './context-place.ts';
import { type FolderThing, listFolderThings } from './conventions/folder-things.ts';
import { parseSettingsText } from './document.ts';
import { listLeafPaths } from './explanation.ts';
import { editFile } from './file-edit.ts';
import { formatKeyPath, listSettingKeys } from './keys.ts';
import {
  ITEM_KINDS,
  type ItemKind,
  isApprovedItem,
  isKnownItem,
  readTrustFile,
  type TrustRecord,
  type TrustRecords,
  trustFilePath,
} from './trust.ts';

/** A longer definition cannot be reviewed, and would push the others off the screen. */
const MAX_SHOWN = 10_000;
const MAX_LINE = 100;
const MAX_KEYS = 30;

/** `status`: compared with what was approved before. */
export type FolderItem = FolderThing & {
  readonly status: 'new' | 'unchanged' | 'changed';
};

/** What a folder brings if it is trusted, as it is now. */
export interface FolderReview {
  /** Without symbolic links. */
  readonly folder: string;
  /** One or more for each thing, in which no name of the folder's is more than a name; empty if it brings nothing. */
  readonly lines: readonly string[];
  readonly items: readonly FolderItem[];
  /** Context files, which every run there reads. */
  readonly instructions: readonly string[];
  /** What is gone since the folder was trusted. */
  readonly removed: readonly string[];
  /** Names what is too long to be shown in full, or faulty, and so cannot be approved. */
  readonly notices: readonly string[];
}

/** Starts nothing. Throws AppError `usage` if it is no folder, `config` if its settings are invalid. */
export async function reviewFolder(path: string, app: Pick<App, 'homes' | 'env' | 'settings'>): Promise<FolderReview> {
  const folder = requireFolder(path);
  const { env } = app;
  const homes = app.homes();
  const document = await readFolderSettings(folder, homes.gemini);
  const record = readTrustFile(trustFilePath(homes.gmn)).get(folder);
  const found = await listFolderThings({ path, folder, document: document ?? {}, app });
  const all = found.things.map((thing) => describeThing(thing, record));
  const items = all.filter(isShortEnough);
  const tooLong = all.filter((item) => !isShortEnough(item)).map(formatTooLong);
  const context = findContextFiles({ env, cwd: path, homes, settings: await app.settings() });
  const own = context.filter(({ scope, directory }) => scope === 'project' && directory === path);
  const instructions = own.map(({ file }) => sanitize(relative(path, file)));
  const removed = listRemoved(record, all);
  const lines = [
    ...(document === undefined ? [] : describeSettings(document)),
    ...formatFolderItems(items),
    ...describeInstructions(instructions),
  ];
  return { folder, lines, items, instructions, removed, notices: [...tooLong, ...found.faults] };
}

function describeThing({ item, ...description }: FolderThing, record: TrustRecord | undefined): FolderItem {
  const status = isApprovedItem(record, item) ? 'unchanged' : isKnownItem(record, item) ? 'changed' : 'new';
  return { ...description, item, status };
}

function listRemoved(record: TrustRecord | undefined, items: readonly FolderItem[]): readonly string[] {
  return ITEM_KINDS.flatMap((kind) =>
    Object.keys(record?.approved[kind] ?? {})
      .filter((name) => !items.some(({ item }) => item.kind === kind && item.name === name))
      .map((name) => `${KIND_LABELS[kind].one} ${sanitize(name)}`),
  );
}

/** Its real path. Throws AppError `usage` if there is no such folder. */
export function requireFolder(path: string): string {
  const folder = realPath(path);
  if (folder !== undefined && isDirectory(folder)) return folder;
  throw new AppError('usage', `${sanitize(path)} is not a folder`, {
    hint: 'Name a folder that exists. Those that were answered for: gmn trust --list',
  });
}

function describeInstructions(files: FolderReview['instructions']): readonly string[] {
  return files.length === 0 ? [] : [`Instructions for the model: ${files.join(', ')}`];
}

/** Undefined if there are none, or if they are the user's own. */
async function readFolderSettings(folder: string, home: string): Promise<JsonObject | undefined> {
  if (realPath(join(folder, '.gemini')) === realPath(home)) return undefined;
  const file = join(folder, '.gemini', 'settings.json');
  const text = readSmallFile(file);
  return text === undefined ? undefined : parseSettingsText({ file, text });
}

/** Those that gmn reads come first, so that no others push them out of sight. */
function describeSettings(document: JsonObject): readonly string[] {
  const isShown = (key: string | undefined): boolean => key === 'mcpServers' || key === 'hooks';
  const keys = listLeafPaths(document).flatMap((path) => (isShown(path[0]) ? [] : [formatKeyPath(path)]));
  const isRead = (key: string): boolean => listSettingKeys().some((known) => `${key}.`.startsWith(`${known}.`));
  const sorted = [...keys.filter(isRead), ...keys.filter((key) => !isRead(key))];
  if (keys.length > 0) return [`Settings: ${joinFirst(sorted, MAX_KEYS, (key) => sanitize(key.slice(0, MAX_LINE)))}`];
  return Object.keys(document).some(isShown) ? [] : ['Settings: .gemini/settings.json'];
}

function isShortEnough({ commandLine, details }: FolderItem): boolean {
  return commandLine.length + details.join('').length <= MAX_SHOWN;
}

function formatTooLong({ name, item: { kind } }: FolderItem): string {
  return `${KIND_LABELS[kind].one} ${name.slice(0, 200)} is not approved: its definition is too long to review (more than ${MAX_SHOWN} characters)`;
}

/** A person's answer for a folder: a no, or a yes to what was shown. What has changed since is not approved. */
export interface TrustAnswer {
  readonly folder: string;
  readonly items: readonly FolderItem[] | 'refused';
}

/** Throws AppError `config` if the trust file is invalid. */
export async function rememberTrust(
  answers: readonly TrustAnswer[],
  app: Pick<App, 'homes' | 'clock' | 'signal'>,
): Promise<void> {
  const time = new Date(app.clock.now()).toISOString();
  const toRecord = (items: TrustAnswer['items']): TrustRecord =>
    items === 'refused' ? { time, approved: {}, isRefused: true } : { time, approved: toApproved(items) };
  await changeTrustFile(
    trustFilePath(app.homes().gmn),
    app,
    (records) => new Map([...records, ...answers.map(({ folder, items }) => [folder, toRecord(items)] as const)]),
  );
}

/** Every kind, also without any: what comes later is new then. */
function toApproved(items: readonly FolderItem[]): TrustRecord['approved'] {
  return Object.fromEntries(
    ITEM_KINDS.map((kind) => {
      const own = items.filter(({ item }) => item.kind === kind);
      return [kind, Object.fromEntries(own.map(({ item: { name, hash } }) => [name, hash]))];
    }),
  );
}

/** Changes of other processes at the same time are not lost. A broken file is left alone. Throws AppError `config`. */
export async function changeTrustFile(
  file: string,
  app: Pick<App, 'clock' | 'signal' | 'homes'>,
  change: (records: TrustRecords) => TrustRecords,
): Promise<void> {
  // The file itself tells an empty one, which is broken, from none.
  await editFile(file, app, { edit: () => formatTrustRecords([...change(readTrustFile(file))]) });
}

function formatTrustRecords(records: readonly (readonly [string, TrustRecord])[]): string {
  const trusted = records.filter(([, { isRefused }]) => !isRefused);
  const folders = Object.fromEntries(
    // An older gmn wants `servers` to be there.
    trusted.map(([path, { time, approved }]) => [path, { time, servers: {}, ...approved }]),
  );
  // Apart from the others: an older gmn trusts whatever is in `folders`.
  const no = records.flatMap(([path, { time, isRefused }]) => (isRefused ? [[path, { time }] as const] : []));
  const refused = no.length === 0 ? undefined : Object.fromEntries(no);
  return `${JSON.stringify({ version: 1, folders, refused }, null, 2)}\n`;
}

const KIND_LABELS: Readonly<Record<ItemKind, { readonly one: string; readonly many: string }>> = {
  servers: { one: 'MCP server', many: 'MCP servers' },
  hooks: { one: 'hook', many: 'Hooks' },
  skills: { one: 'skill', many: 'Skills' },
  agents: { one: 'agent', many: 'Agents' },
  commands: { one: 'command', many: 'Commands' },
};

/** What a person reads after a folder was trusted. */
export function formatApproved({
  items,
  instructions,
  removed,
}: Pick<FolderReview, 'items' | 'instructions' | 'removed'>): string {
  const used = [...formatFolderItems(items), ...describeInstructions(instructions)];
  const gone = removed.length === 0 ? [] : [`Gone since then: ${removed.join(', ')}`];
  if (used.length === 0) return ['It brings nothing that runs programs or instructs models.', ...gone].join('\n');
  return ['It may now use:', ...used, ...gone].join('\n');
}

/** By kind. A long command line has one word a line. */
function formatFolderItems(items: readonly FolderItem[]): readonly string[] {
  return ITEM_KINDS.flatMap((kind) => {
    const own = items.filter(({ item }) => item.kind === kind);
    return own.length === 0 ? [] : [`${KIND_LABELS[kind].many}:`, ...own.flatMap(formatFolderItem)];
  });
}

function formatFolderItem({ name, status, commandLine, words, details, item }: FolderItem): readonly string[] {
  const isShort = commandLine.length <= MAX_LINE;
  // What is said of a skill or an agent is text, and need not be told from a similar one.
  const isText = item.kind !== 'servers' && item.kind !== 'hooks';
  const rows = isText ? wrapText(commandLine, MAX_LINE).split('\n') : words;
  return [
    ...(isShort
      ? [`  ${name} (${status}): ${commandLine}`]
      : [`  ${name} (${status}):`, ...rows.map((row) => `      ${row}`)]),
    ...details.map((detail) => `      ${detail}`),
  ];
}
