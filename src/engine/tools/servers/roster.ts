import { dirname, join, resolve } from 'node:path';
import { parseSettingsText } from '../../../config/document.ts';
import { readSetting } from '../../../config/keys.ts';
import { readServerEnablement } from '../../../config/server-enablement.ts';
import {
  addServers,
  findServers,
  listWorkspaceServers,
  readServersFile,
  readSharedServers,
  SHARED_SERVERS,
} from '../../../config/servers.ts';
import type { App, ServerSetting } from '../../../core/app.ts';
import { AppError } from '../../../core/error.ts';
import type { JsonObject, JsonValue } from '../../../core/json.ts';
import { findNearestNames, splitList } from '../../../core/text/names.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { type ConfiguredServer, listConfiguredServers, listServerEntries } from '../../../mcp/client/servers.ts';
import { realPath } from '../../../platform/files/path.ts';
import { readSmallFile } from '../../../platform/files/small-file.ts';
import { resolveWritingTarget } from '../../../platform/files/writing-target.ts';

const COMMAND_KEY = 'mcp.serverCommand';

export interface RosterOptions {
  readonly mcpConfig?: string;
  readonly allowedMcpServerNames?: readonly string[];
  /** Of whoever started gmn; they come before those of the same name. */
  readonly clientServers?: readonly ServerSetting[];
}

export type ServerState =
  | { readonly kind: 'ready'; readonly server: ConfiguredServer }
  | { readonly kind: 'disabled'; readonly why: string; readonly hint: string }
  | { readonly kind: 'faulty'; readonly why: string }
  | { readonly kind: 'unapproved' };

/** All fields are untrusted text. */
export interface ServerEntry extends Pick<ServerSetting, 'name' | 'scope' | 'file'> {
  /** As written in the file, without variable expansion; secrets must be redacted before it is shown. */
  readonly written: JsonValue;
  readonly state: ServerState;
}

export interface Roster {
  /** In the order of the settings files; a name may appear twice if one of the two is not approved. */
  readonly entries: readonly ServerEntry[];
  readonly notices: readonly string[];
}

/** Starts no server. Throws AppError `config`, `usage` or `mcp` for a wrong file or flag. */
export async function readRoster(options: RosterOptions, app: App): Promise<Roster> {
  const settings = await app.settings();
  const { mcpConfig, clientServers = [] } = options;
  const inFile =
    mcpConfig === undefined
      ? []
      : await readServersFile(resolve(app.cwd, mcpConfig), { env: settings.env, cwd: app.cwd });
  const flagged = [
    ...inFile.filter(({ name }) => clientServers.every((server) => server.name !== name)),
    ...clientServers,
  ];
  const isFlagged = ({ name }: ServerSetting): boolean => flagged.some((server) => server.name === name);
  const enablement = readServerEnablement(app.homes().gemini);
  const named = {
    document: settings.document,
    serverCommand: settings.serverCommand,
    servers: [...(settings.servers ?? []).filter((server) => !isFlagged(server)), ...flagged],
  };
  const sorted = listConfiguredServers({ ...named, isOfficiallyDisabled: enablement.isDisabled });
  const states = new Map<string, ServerState>([
    ...sorted.servers.map((server) => [server.name, { kind: 'ready', server }] as const),
    ...sorted.faulty.map(({ name, why }) => [name, { kind: 'faulty', why }] as const),
    ...sorted.disabled.map(({ name, why, hint }) => [name, { kind: 'disabled', why, hint }] as const),
  ]);
  const allowed = listAllowedNames(options);
  const entries: ServerEntry[] = [];
  for (const { name, scope, file, definition } of listServerEntries(named)) {
    const found = states.get(name);
    const state = found?.kind !== 'disabled' && allowed?.includes(name) === false ? NOT_IN_FLAG : found;
    if (state !== undefined)
      entries.push({ name, scope, file, written: (await readWritten(name, scope, file)) ?? definition, state });
  }
  const all = [...entries, ...(await findUnapproved(entries, app))];
  const known = all.map(({ name }) => name);
  for (const name of allowed ?? []) if (!known.includes(name)) throw unknownServerError(name, known);
  return { entries: all, notices: [...settings.notices, ...enablement.notices] };
}

const NOT_IN_FLAG: ServerState = {
  kind: 'disabled',
  why: 'not in --allowed-mcp-server-names',
  hint: 'Add its name to that flag, or leave the flag out.',
};

function listAllowedNames({ allowedMcpServerNames }: RosterOptions): readonly string[] | undefined {
  return allowedMcpServerNames && splitList(allowedMcpServerNames);
}

export function requireEntry({ entries }: Roster, name: string): ServerEntry {
  const named = entries.filter((entry) => entry.name === name);
  const entry = named.find(({ state }) => state.kind === 'ready') ?? named[0];
  if (entry !== undefined) return entry;
  throw unknownServerError(
    name,
    entries.map((known) => known.name),
  );
}

function unknownServerError(name: string, known: readonly string[]): AppError {
  return new AppError('mcp', `there is no MCP server ${sanitize(name)}`, {
    hint: suggestNames(name, known, 'To see which there are, run: gmn mcp list'),
  });
}

export function suggestNames(name: string, known: readonly string[], otherwise: string): string {
  const near = findNearestNames(name, known).map(sanitize);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : otherwise;
}

/** A broken file is not reported here: the settings do that. */
async function findUnapproved(counted: readonly ServerEntry[], { cwd, homes }: App): Promise<readonly ServerEntry[]> {
  const file = join(cwd, '.gemini', 'settings.json');
  if (realPath(dirname(file)) === realPath(homes().gemini)) return [];
  const approved = counted.filter(({ scope }) => scope === 'workspace').map(({ name }) => name);
  const sharedFile = join(cwd, SHARED_SERVERS);
  const own = await readSettingsDocument(file);
  const all = addServers(own, await readSharedServers(sharedFile).catch(() => ({})));
  return listWorkspaceServers(all)
    .filter(({ name }) => !approved.includes(name === COMMAND_KEY ? 'mcp' : name))
    .map(({ name, definition }) => ({
      name,
      scope: 'workspace',
      file: name === COMMAND_KEY || definesServer(own, name) ? file : sharedFile,
      written: definition,
      state: { kind: 'unapproved' },
    }));
}

/** Empty also if the file is broken, which is reported elsewhere. */
async function readSettingsDocument(file: string): Promise<JsonObject> {
  return readSettingsFile(file).catch(() => ({}));
}

async function readWritten(name: string, scope: ServerSetting['scope'], file: string): Promise<JsonValue | undefined> {
  return scope === 'client' ? undefined : findServers(await readSettingsDocument(file))?.[name];
}

export type WritableScope = 'user' | 'project' | 'gmn';

export interface SettingsFile {
  readonly scope: WritableScope;
  readonly file: string;
}

/** The home directory is no project. Throws AppError `config`. */
export function listWritableFiles({ cwd, homes }: Pick<App, 'cwd' | 'homes'>): readonly SettingsFile[] {
  const { gemini, gmn } = homes();
  const project = join(cwd, '.gemini');
  const isHome = project === gemini || (realPath(project) !== undefined && realPath(project) === realPath(gemini));
  return [
    { scope: 'user', file: join(gemini, 'settings.json') },
    { scope: 'gmn', file: join(gmn, 'config.json') },
    ...(isHome ? [] : [{ scope: 'project' as const, file: join(project, 'settings.json') }]),
  ];
}

export function requireWritableFile(scope: WritableScope, app: Pick<App, 'cwd' | 'homes'>): SettingsFile {
  const place = listWritableFiles(app).find((candidate) => candidate.scope === scope);
  if (place !== undefined) return place;
  throw new AppError('usage', 'this is no project: your own settings are in this directory', {
    hint: 'Use -s user, or go to the directory of the project.',
  });
}

/** Where a change of that file is written. Throws AppError `usage` if the project's is a link to somewhere else. */
export function resolveSettingsFile({ scope, file }: SettingsFile, { cwd }: Pick<App, 'cwd'>): string {
  return scope === 'project' ? resolveWritingTarget(file, cwd) : file;
}

export async function readSettingsFile(file: string): Promise<JsonObject> {
  const text = readSmallFile(file);
  return text === undefined ? {} : parseSettingsText({ file, text });
}

export function definesServer(document: JsonObject, name: string): boolean {
  return Object.hasOwn(readSetting(document, 'mcpServers') ?? {}, name);
}
