import { basename, dirname, sep } from 'node:path';
import type { ServerSetting } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { readStateFile } from '../platform/files/small-file.ts';
import { expandDocument, parseSettingsText } from './document.ts';
import { valueAt } from './keys.ts';

/** An extension of the official CLI, which has variables of its own. */
const EXTENSION = 'gemini-extension.json';

/** Where the servers stand: for the official CLI and most others, in VS Code's `mcp.json` and settings, in Zed's settings. */
const PLACES: readonly (readonly string[])[] = [['mcpServers'], ['servers'], ['mcp', 'servers'], ['context_servers']];

/**
 * The servers of a file that the command line names, variables put in: `{ "mcpServers": { … } }`, an extension's, or what VS
 * Code and Zed have in its place. Naming it is leave to start them, but not to run their tools unasked: it may have come with a
 * folder. Throws AppError `config` if it is broken or has no servers, `usage` if there is none.
 */
export async function readServersFile(
  file: string,
  { env, cwd }: { readonly env: Env; readonly cwd: string },
): Promise<readonly ServerSetting[]> {
  const text = readStateFile(file);
  if (text === undefined)
    throw new AppError('usage', `no such file: ${file}`, { hint: 'Check the path after --mcp-config.' });
  const servers = serversOf(await parseSettingsText({ file, text }));
  if (servers === undefined) {
    throw new AppError('config', `${file}: there is no mcpServers in it`, {
      hint: 'gmn reads "mcpServers", "servers" as VS Code writes it, and "context_servers" as Zed does.',
    });
  }
  const document = await expandDocument({ mcpServers: servers }, text, { ...env, ...variablesFor(file, cwd) });
  const { mcpServers = {} } = document;
  return Object.entries(isObject(mcpServers) ? mcpServers : {}).flatMap(([name, definition]) =>
    definition === undefined ? [] : [{ name, definition: definition as JsonValue, scope: 'flag' as const, file }],
  );
}

/** The servers in a file that the command line names, as they stand there; undefined if it has none of the known keys. */
export function serversOf(document: JsonObject): JsonObject | undefined {
  const place = PLACES.find((path) => isObject(valueAt(document, path)));
  if (place === undefined) return undefined;
  const servers = valueAt(document, place) as JsonObject;
  if (place[0] === 'mcpServers') return servers;
  return Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, inOurWords(entry ?? null)]));
}

/** `${env:NAME}` is VS Code's for `${NAME}`; older settings of Zed have the program and its arguments in one object. */
function inOurWords(value: JsonValue): JsonValue {
  const entry = renamed(value);
  if (!isObject(entry) || !isObject(entry.command)) return entry;
  const { command, ...rest } = entry as JsonObject;
  const { path, args, env } = command as JsonObject;
  return {
    ...rest,
    ...(path === undefined ? {} : { command: path }),
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
  };
}

function renamed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replace(/\$\{env:([^{}:]+)\}/g, (_, name: string) => `$\{${name}}`);
  if (Array.isArray(value)) return value.map(renamed);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, renamed(item ?? null)]));
}

function variablesFor(file: string, cwd: string): Env {
  const directory = dirname(file);
  if (basename(file) === EXTENSION) {
    return { extensionPath: directory, workspacePath: cwd, '/': sep, pathSeparator: sep };
  }
  const folder = basename(directory) === '.vscode' ? dirname(directory) : cwd;
  return basename(directory) === '.vscode' || basename(file) === 'mcp.json'
    ? { workspaceFolder: folder, workspaceFolderBasename: basename(folder), cwd }
    : {};
}
