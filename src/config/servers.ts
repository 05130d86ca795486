import { basename, dirname, sep } from 'node:path';
import type { ServerSetting } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { canonicalJson, isObject, type JsonObject, type JsonValue, omitUndefined } from '../core/json.ts';
import { quoteForShell } from '../core/text/quote.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { expandDocument, parseSettingsText } from './document.ts';
import { findValue, readSetting } from './keys.ts';
import { hideSecrets } from './secrets.ts';

export interface WorkspaceServer {
  /** `mcp.serverCommand` for the server of that key. */
  readonly name: string;
  readonly definition: JsonValue;
  readonly hash: string;
}

const COMMAND_KEY = 'mcp.serverCommand';

export function listWorkspaceServers(document: JsonObject): readonly WorkspaceServer[] {
  const command = readSetting(document, COMMAND_KEY);
  const entries: readonly (readonly [string, JsonValue])[] = [
    ...Object.entries(readSetting(document, 'mcpServers') ?? {}).map(([name, value]) => [name, value ?? null] as const),
    ...(command === undefined ? [] : [[COMMAND_KEY, command] as const]),
  ];
  return entries.map(([name, definition]) => ({ name, definition, hash: sha256(canonicalJson(definition)) }));
}

/** The file in a project that Claude Code and others read servers from. */
export const SHARED_SERVERS = '.mcp.json';

/** Its servers as they are written; empty if there is no such file. Throws AppError `config`. */
export async function readSharedServers(file: string): Promise<JsonObject> {
  const text = readSmallFile(file);
  return text === undefined ? {} : (findServers(await parseSettingsText({ file, text })) ?? {});
}

/** The document's own servers win over these. */
export function addServers(document: JsonObject, servers: JsonObject): JsonObject {
  if (Object.keys(servers).length === 0) return document;
  return { ...document, mcpServers: { ...servers, ...readSetting(document, 'mcpServers') } };
}

export function restrictServers(document: JsonObject, approved: readonly string[]): JsonObject {
  const { mcpServers, mcp, ...rest } = document;
  const kept: Record<string, JsonValue | undefined> = { ...rest };
  if (isObject(mcpServers)) kept.mcpServers = keepApproved(mcpServers, approved);
  if (isObject(mcp)) kept.mcp = approved.includes(COMMAND_KEY) ? mcp : omitKey(mcp, 'serverCommand');
  return kept;
}

function keepApproved(servers: JsonObject, approved: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(servers)
      .filter(([name]) => approved.includes(name))
      .map(([name, definition]) => [name, isObject(definition) ? omitKey(definition, 'trust') : definition]),
  );
}

function omitKey(object: JsonObject, key: string): JsonObject {
  const { [key]: _, ...rest } = object;
  return rest;
}

/** The official CLI's extensions have variables of their own. */
const EXTENSION = 'gemini-extension.json';

/** Of the official CLI and most others, VS Code's `mcp.json`, VS Code's settings, Zed's settings. */
const SERVER_KEYS: readonly (readonly string[])[] = [
  ['mcpServers'],
  ['servers'],
  ['mcp', 'servers'],
  ['context_servers'],
];

/**
 * Reads the servers of a `--mcp-config` file and expands variables. Naming the file permits starting its servers, but
 * not running their tools without approval, since it may have come with a folder. Throws AppError `config` if it is
 * broken or has no servers, `usage` if it does not exist.
 */
export async function readServersFile(
  file: string,
  { env, cwd }: { readonly env: Env; readonly cwd: string },
): Promise<readonly ServerSetting[]> {
  const text = readSmallFile(file);
  if (text === undefined)
    throw new AppError('usage', `no such file: ${file}`, { hint: 'Check the path after --mcp-config.' });
  const servers = findServers(await parseSettingsText({ file, text }));
  if (servers === undefined) {
    throw new AppError('config', `${file}: there is no mcpServers in it`, {
      hint: 'gmn reads "mcpServers", "servers" as VS Code writes it, and "context_servers" as Zed does.',
    });
  }
  const document = await expandDocument({ mcpServers: servers }, text, { ...env, ...listFileVariables(file, cwd) });
  const { mcpServers = {} } = document;
  return Object.entries(isObject(mcpServers) ? mcpServers : {}).flatMap(([name, definition]) =>
    definition === undefined ? [] : [{ name, definition: definition as JsonValue, scope: 'flag' as const, file }],
  );
}

export function findServers(document: JsonObject): JsonObject | undefined {
  const place = SERVER_KEYS.find((path) => isObject(findValue(document, path)));
  if (place === undefined) return undefined;
  const servers = findValue(document, place) as JsonObject;
  if (place[0] === 'mcpServers') return servers;
  return Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, normalizeServer(entry ?? null)]));
}

/** VS Code writes `${env:NAME}` for `${NAME}`; older settings of Zed have program and arguments in one object. */
function normalizeServer(value: JsonValue): JsonValue {
  const entry = renameVariables(value);
  if (!isObject(entry) || !isObject(entry.command)) return entry;
  const { command, ...rest } = entry as JsonObject;
  const { path, args, env } = command as JsonObject;
  return { ...rest, ...omitUndefined({ command: path, args, env }) };
}

function renameVariables(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replace(/\$\{env:([^{}:]+)\}/g, (_, name: string) => `$\{${name}}`);
  if (Array.isArray(value)) return value.map(renameVariables);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, renameVariables(item ?? null)]),
  );
}

function listFileVariables(file: string, cwd: string): Env {
  const directory = dirname(file);
  if (basename(file) === EXTENSION) {
    return { extensionPath: directory, workspacePath: cwd, '/': sep, pathSeparator: sep };
  }
  const folder = basename(directory) === '.vscode' ? dirname(directory) : cwd;
  return basename(directory) === '.vscode' || basename(file) === 'mcp.json'
    ? { workspaceFolder: folder, workspaceFolderBasename: basename(folder), cwd }
    : {};
}

export interface ServerDescription {
  readonly name: string;
  readonly commandLine: string;
  readonly words: readonly string[];
  readonly details: readonly string[];
}

/** Shows everything in the definition; only secret values of variables and headers are hidden. */
export function describeServer({ name, definition }: WorkspaceServer): ServerDescription {
  if (!isObject(definition)) return toDescription(name, [sanitize(toSettingText(definition))], []);
  const { command, args, url, httpUrl, ...rest } = definition;
  const line = [command, ...(Array.isArray(args) ? args : [])].filter((word) => word !== undefined);
  const addresses = [httpUrl, url].filter((address) => address !== undefined);
  const words = [
    ...line.map((word) => quoteCommandWord(toSettingText(word))),
    ...addresses.map((address) => sanitize(toSettingText(address))),
  ];
  return toDescription(name, words.length === 0 ? ['(nothing to start)'] : words, formatDetails(rest));
}

function toDescription(name: string, words: readonly string[], details: readonly string[]): ServerDescription {
  return { name: sanitize(name), commandLine: words.join(' '), words, details };
}

function formatDetails(rest: JsonObject): readonly string[] {
  return Object.entries(rest).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const isPairs = isObject(value) && (key === 'env' || key === 'headers');
    const pairs = isPairs
      ? Object.entries(value).map(
          ([name, item]) => `${sanitize(name)}=${sanitize(toSettingText(hideSecret(name, item ?? null)))}`,
        )
      : [];
    return [`${sanitize(key)}: ${isPairs ? pairs.join(' ') : formatItems(value)}`];
  });
}

/** A reference `$NAME` is not secret, and the user needs to see it. */
function hideSecret(name: string, value: JsonValue): JsonValue {
  return typeof value === 'string' && value.startsWith('$') ? value : hideSecrets(value, [name]);
}

function toSettingText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Quoted as for a shell, so that different commands never look the same. */
function quoteCommandWord(word: string): string {
  return /^[\w@%+=:,./$-]+$/.test(word) ? word : sanitize(quoteForShell(word));
}

function formatItems(value: JsonValue): string {
  if (!Array.isArray(value)) return sanitize(JSON.stringify(value));
  return `[${value.map((item) => sanitize(JSON.stringify(item))).join(',')}]`;
}
