import { join, relative } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { findContextFiles } from './context-place.ts';
import { parseSettingsText } from './document.ts';
import { listLeafPaths } from './explanation.ts';
import { editFile } from './file-edit.ts';
import { formatKeyPath, listSettingKeys } from './keys.ts';
import { describeServer, listWorkspaceServers, type ServerDescription, type WorkspaceServer } from './servers.ts';
import { listTemplateDirectories } from './templates.ts';
import { readTrustFile, type TrustRecord, type TrustRecords, trustFilePath } from './trust.ts';

/** A longer definition cannot be reviewed, and would push the others off the screen. */
const MAX_SHOWN = 10_000;
const MAX_LINE = 100;
const MAX_KEYS = 30;

/** `status`: compared with what was approved before. */
export type FolderServer = ServerDescription & {
  readonly server: WorkspaceServer;
  readonly status: 'new' | 'unchanged' | 'changed';
};

/** What a folder brings if it is trusted, as it is now. */
export interface FolderReview {
  /** Without symbolic links. */
  readonly folder: string;
  /** One or more for each thing, in which no name of the folder's is more than a name; empty if it brings nothing. */
  readonly lines: readonly string[];
  readonly servers: readonly FolderServer[];
  /** Names the servers that are too long to be shown in full, and so cannot be approved. */
  readonly notices: readonly string[];
}

/** Starts no server. Throws AppError `usage` if it is no folder, `config` if its settings are invalid. */
export async function reviewFolder(path: string, app: Pick<App, 'homes' | 'env' | 'settings'>): Promise<FolderReview> {
  const folder = requireFolder(path);
  const { env } = app;
  const homes = app.homes();
  const document = await readFolderSettings(folder, homes.gemini);
  const before = readTrustFile(trustFilePath(homes.gmn)).get(folder)?.servers ?? {};
  const all = listWorkspaceServers(document ?? {}).map((server) => describeFolderServer(server, before));
  const servers = all.filter(isShortEnough);
  const notices = all.filter((server) => !isShortEnough(server)).map(formatTooLong);
  const context = findContextFiles({ env, cwd: path, homes, settings: await app.settings() });
  const instructions = context.filter(({ scope, directory }) => scope === 'project' && directory === path);
  const commands = (await listTemplateDirectories({ ...app, cwd: path })).filter(({ scope }) => scope === 'workspace');
  const lines = [
    ...(document === undefined ? [] : describeSettings(document)),
    ...(servers.length === 0 ? [] : ['MCP servers:', ...formatServers(servers)]),
    ...(instructions.length === 0 ? [] : [`Instructions for the model: ${relativeTo(path, instructions)}`]),
    ...commands.map(({ directory }) => `Commands: ${sanitize(relative(path, directory))}`),
  ];
  return { folder, lines, servers, notices };
}

/** Its real path. Throws AppError `usage` if there is no such folder. */
export function requireFolder(path: string): string {
  const folder = realPath(path);
  if (folder !== undefined && isDirectory(folder)) return folder;
  throw new AppError('usage', `${sanitize(path)} is not a folder`, { hint: 'Name a folder that exists.' });
}

function relativeTo(folder: string, files: readonly { readonly file: string }[]): string {
  return files.map(({ file }) => sanitize(relative(folder, file))).join(', ');
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
  const keys = listLeafPaths(document).flatMap((path) => (path[0] === 'mcpServers' ? [] : [formatKeyPath(path)]));
  const isRead = (key: string): boolean => listSettingKeys().some((known) => `${key}.`.startsWith(`${known}.`));
  const shown = [...keys.filter(isRead), ...keys.filter((key) => !isRead(key))].slice(0, MAX_KEYS);
  const more = keys.length > MAX_KEYS ? ` and ${keys.length - MAX_KEYS} more` : '';
  if (keys.length > 0) return [`Settings: ${shown.map((key) => sanitize(key.slice(0, MAX_LINE))).join(', ')}${more}`];
  return Object.hasOwn(document, 'mcpServers') ? [] : ['Settings: .gemini/settings.json'];
}

function describeFolderServer(server: WorkspaceServer, before: Readonly<Record<string, string>>): FolderServer {
  const { name, hash } = server;
  const isKnown = Object.hasOwn(before, name);
  const status = isKnown ? (before[name] === hash ? 'unchanged' : 'changed') : 'new';
  return { ...describeServer(server), server, status };
}

function isShortEnough({ commandLine, details }: ServerDescription): boolean {
  return commandLine.length + details.join('').length <= MAX_SHOWN;
}

function formatTooLong({ name }: ServerDescription): string {
  return `MCP server ${name.slice(0, 200)} is not approved: its definition is too long to review (more than ${MAX_SHOWN} characters)`;
}

/** A person's answer for a folder: a no, or a yes to the servers as they were shown. One that has changed since is not approved. */
export interface TrustAnswer {
  readonly folder: string;
  readonly servers: readonly FolderServer[] | 'refused';
}

/** Throws AppError `config` if the trust file is invalid. */
export async function rememberTrust(
  answers: readonly TrustAnswer[],
  app: Pick<App, 'homes' | 'clock' | 'signal'>,
): Promise<void> {
  const time = new Date(app.clock.now()).toISOString();
  const toRecord = (servers: TrustAnswer['servers']): TrustRecord =>
    servers === 'refused'
      ? { time, servers: {}, isRefused: true }
      : { time, servers: Object.fromEntries(servers.map(({ server: { name, hash } }) => [name, hash])) };
  await changeTrustFile(
    trustFilePath(app.homes().gmn),
    app,
    (records) => new Map([...records, ...answers.map(({ folder, servers }) => [folder, toRecord(servers)] as const)]),
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
  const folders = Object.fromEntries(records.filter(([, { isRefused }]) => !isRefused));
  // Apart from the others: an older gmn trusts whatever is in `folders`.
  const no = records.flatMap(([path, { time, isRefused }]) => (isRefused ? [[path, { time }] as const] : []));
  const refused = no.length === 0 ? undefined : Object.fromEntries(no);
  return `${JSON.stringify({ version: 1, folders, refused }, null, 2)}\n`;
}

/** What a person reads after a folder was trusted. */
export function formatApproved(servers: readonly FolderServer[]): string {
  const lines = formatServers(servers);
  return lines.length === 0 ? 'It defines no MCP servers.' : `Its MCP servers may now start:\n${lines.join('\n')}`;
}

/** A long command line has one word a line. */
function formatServers(servers: readonly FolderServer[]): readonly string[] {
  return servers.flatMap(({ name, status, commandLine, words, details }) => [
    ...(commandLine.length <= MAX_LINE
      ? [`  ${name} (${status}): ${commandLine}`]
      : [`  ${name} (${status}):`, ...words.map((word) => `      ${word}`)]),
    ...details.map((detail) => `      ${detail}`),
  ]);
}
