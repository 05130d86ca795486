import { join, resolve } from 'node:path';
import { formatTable, type PrintOptions, printReport } from '../app/report.ts';
import { parseSettingsText } from '../config/document.ts';
import {
  describeServer,
  listWorkspaceServers,
  type ServerDescription,
  type WorkspaceServer,
} from '../config/servers.ts';
import { changeTrustFile, readTrustFile, trustFilePath } from '../config/trust.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';

interface TrustOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly list?: boolean;
  readonly remove?: boolean;
}

/** A longer definition cannot be reviewed, and would push the others off the screen. */
const MAX_SHOWN = 10_000;
const MAX_LINE = 100;

/**
 * Trusts a folder, by default this one: shows the MCP servers it defines and approves their current definitions,
 * except those too long to be shown in full. Starts none. Throws AppError: `usage` if there is no such folder,
 * `config` if its settings or the trust file are invalid.
 */
export async function run(options: TrustOptions, app: App): Promise<number> {
  if (options.args.length > 1 || (options.list && (options.remove || options.args.length > 0))) {
    throw new AppError('usage', 'trust takes one folder, --list none', { hint: 'Example: gmn trust ./project' });
  }
  if (options.list) return listTrustedFolders(options, app);
  const wanted = resolve(app.cwd, options.args[0] ?? '.');
  return options.remove ? forgetFolder(wanted, options, app) : trustFolder(wanted, options, app);
}

async function trustFolder(wanted: string, options: TrustOptions, app: App): Promise<number> {
  const folder = realPath(wanted);
  if (folder === undefined || !isDirectory(folder)) {
    throw new AppError('usage', `${wanted} is not a folder`, { hint: 'Name a folder that exists.' });
  }
  const settings = join(folder, '.gemini', 'settings.json');
  const text = readSmallFile(settings);
  const servers = text === undefined ? [] : listWorkspaceServers(await parseSettingsText({ file: settings, text }));
  const file = trustFilePath(app.homes().gmn);
  const before = readTrustFile(file).get(folder)?.servers ?? {};
  const described = servers.map((server) => ({ server, description: describeServer(server) }));
  const readable = described.filter(({ description }) => isShortEnough(description));
  const hashes = Object.fromEntries(readable.map(({ server: { name, hash } }) => [name, hash]));
  const time = new Date(app.clock.now()).toISOString();
  await changeTrustFile(file, app, (records) => new Map([...records, [folder, { time, servers: hashes }]]));
  const shown = readable.map(({ server, description }) => ({ ...description, status: compareServer(server, before) }));
  const notices = described.flatMap(({ description }) =>
    isShortEnough(description) ? [] : [formatTooLong(description)],
  );
  const json = { folder, servers: shown.map(({ words: _, ...server }) => server), file };
  return printReport({ text: formatTrusted(folder, shown), json, notices }, options, app);
}

function isShortEnough({ commandLine, details }: ServerDescription): boolean {
  return commandLine.length + details.join('').length <= MAX_SHOWN;
}

function formatTooLong({ name }: ServerDescription): string {
  return `MCP server ${name.slice(0, 200)} is not approved: its definition is too long to review (more than ${MAX_SHOWN} characters)`;
}

function compareServer({ name, hash }: WorkspaceServer, before: Readonly<Record<string, string>>): string {
  if (!Object.hasOwn(before, name)) return 'new';
  return before[name] === hash ? 'unchanged' : 'changed';
}

type ShownServer = ServerDescription & { readonly status: string };

function formatTrusted(folder: string, servers: readonly ShownServer[]): string {
  const lines = servers.flatMap(({ name, status, commandLine, words, details }) => [
    ...(commandLine.length <= MAX_LINE
      ? [`  ${name} (${status}): ${commandLine}`]
      : [`  ${name} (${status}):`, ...words.map((word) => `      ${word}`)]),
    ...details.map((detail) => `      ${detail}`),
  ]);
  const list =
    lines.length === 0 ? 'It defines no MCP servers.' : `Its MCP servers may now start:\n${lines.join('\n')}`;
  return `Trusted: ${folder}\n${list}\nTo undo this: gmn trust --remove\n`;
}

async function forgetFolder(wanted: string, options: TrustOptions, app: App): Promise<number> {
  const file = trustFilePath(app.homes().gmn);
  // The folder may have been removed, or be a link now.
  const folder = [realPath(wanted), wanted].find((path) => path !== undefined && readTrustFile(file).has(path));
  if (folder === undefined) {
    throw new AppError('usage', `${wanted} was not trusted by gmn`, { hint: 'To see what is: gmn trust --list' });
  }
  await changeTrustFile(file, app, (records) => new Map([...records].filter(([path]) => path !== folder)));
  return printReport({ text: `No longer trusted: ${folder}\n`, json: { folder, removed: true, file } }, options, app);
}

async function listTrustedFolders(options: TrustOptions, app: App): Promise<number> {
  const file = trustFilePath(app.homes().gmn);
  const folders = [...readTrustFile(file)].map(([folder, { time, servers }]) => ({
    folder,
    time,
    servers: Object.keys(servers),
  }));
  const rows = folders.map(({ folder, time, servers }) => [folder, time.slice(0, 10), servers.join(', ')]);
  const text = rows.length === 0 ? 'No folder was trusted by gmn.\n' : formatTable(rows);
  return printReport({ text, json: { folders, file } }, options, app);
}
