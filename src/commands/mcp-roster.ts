import { dirname, join, resolve } from 'node:path';
import { expandDocument, parseSettingsText } from '../config/document.ts';
import { readSetting } from '../config/keys.ts';
import { readLayers } from '../config/layers.ts';
import { workspaceServers } from '../config/workspace-servers.ts';
import type { App, ServerSetting, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { parseDefinition, type ServerDefinition } from '../mcp/client/definition.ts';
import { realPath } from '../platform/real-path.ts';
import { readStateFile } from '../platform/state-file.ts';
import { commandWords } from './mcp-words.ts';

/** The flags that say which MCP servers there are. */
export interface RosterOptions {
  readonly mcpConfig?: string;
  readonly allowedMcpServerNames?: readonly string[];
}

export type ServerState =
  | { readonly kind: 'ready'; readonly definition: ServerDefinition }
  /** Somebody's settings, or a flag, say not to use it; `hint` is how to undo that. */
  | { readonly kind: 'disabled'; readonly why: string; readonly hint: string }
  /** Its definition is none. */
  | { readonly kind: 'faulty'; readonly why: string }
  /** A folder's settings define it, and nobody has approved it as it is. */
  | { readonly kind: 'unapproved' };

/** An MCP server that the settings or a flag name. All of it is untrusted text. */
export interface ServerEntry {
  readonly name: string;
  readonly scope: ServerSetting['scope'] | 'flag';
  readonly file: string;
  /** As it stands in the file, variables not put in: for people, once its secrets are hidden. */
  readonly written: JsonValue;
  readonly state: ServerState;
}

export interface Roster {
  /** In the order of the files; a name may be there twice if one of the two is not approved. */
  readonly entries: readonly ServerEntry[];
  readonly notices: readonly string[];
}

/**
 * Every MCP server there is, and whether it may be used. Starts none. `trust` counts from the user's own files only.
 * Throws AppError `config` if a settings file or the file of `--mcp-config` is broken, `usage` if that is missing.
 */
export async function readRoster(options: RosterOptions, app: App): Promise<Roster> {
  const settings = await app.settings();
  const found = [...(settings.servers ?? []), ...(await commandServer(settings, app))];
  const flagged = options.mcpConfig === undefined ? [] : await flagServers(options.mcpConfig, settings, app);
  const counted = [...found.filter(({ name }) => !flagged.some((server) => server.name === name)), ...flagged];
  const verdict = verdictOf(settings, options);
  const files = writtenFiles();
  const entries: ServerEntry[] = [];
  for (const { name, definition, scope, file } of counted) {
    const written = (await files(file))[name] ?? definition;
    entries.push({ name, scope, file, written, state: verdict(name) ?? stateOf(definition, scope) });
  }
  return { entries: [...entries, ...(await unapproved(found, app))], notices: settings.notices };
}

function stateOf(value: JsonValue, scope: ServerEntry['scope']): ServerState {
  const definition = parseDefinition(value);
  if (definition.kind === 'fault') return { kind: 'faulty', why: definition.why };
  return { kind: 'ready', definition: { ...definition, isTrusted: definition.isTrusted && scope === 'user' } };
}

type Verdict = (name: string) => ServerState | undefined;

function verdictOf({ document = {} }: Settings, { allowedMcpServerNames }: RosterOptions): Verdict {
  const allowed = readSetting(document, 'mcp.allowed');
  const excluded = readSetting(document, 'mcp.excluded') ?? [];
  const flagged = allowedMcpServerNames?.flatMap((names) => names.split(',').map((name) => name.trim()));
  return (name) => {
    if (excluded.includes(name)) return disabled('disabled', `To use it again, run: gmn mcp enable ${name}`);
    if (allowed !== undefined && !allowed.includes(name)) {
      return disabled('not in mcp.allowed', 'To see where that is set, run: gmn config explain mcp.allowed');
    }
    if (flagged === undefined || flagged.includes(name)) return undefined;
    return disabled('not in --allowed-mcp-server-names', 'Add its name to that flag, or leave the flag out.');
  };
}

function disabled(why: string, hint: string): ServerState {
  return { kind: 'disabled', why, hint };
}

/** `mcp.serverCommand`: a server named `mcp`, as in the official CLI. */
async function commandServer({ document = {} }: Settings, app: App): Promise<readonly ServerSetting[]> {
  const line = readSetting(document, 'mcp.serverCommand');
  if (line === undefined || line.trim() === '') return [];
  const { layers } = await readLayers(app);
  const owner = layers.findLast((layer) => readSetting(layer.document, 'mcp.serverCommand') !== undefined);
  const [command = '', ...args] = commandWords(line);
  const scope = owner?.name === 'workspace' ? 'workspace' : owner?.name.startsWith('system') ? 'system' : 'user';
  return [{ name: 'mcp', definition: { command, args }, scope, file: owner?.source ?? '' }];
}

type FlagServer = Omit<ServerSetting, 'scope'> & { readonly scope: 'flag' };

async function flagServers(path: string, settings: Settings, app: App): Promise<readonly FlagServer[]> {
  const file = resolve(app.cwd, path);
  const text = readStateFile(file);
  if (text === undefined) {
    throw new AppError('usage', `--mcp-config: no such file: ${path}`, {
      hint: 'Name a file with "mcpServers" in it.',
    });
  }
  const document = await expandDocument(await parseSettingsText({ file, text }), text, settings.env);
  const servers = readSetting(document, 'mcpServers');
  if (servers === undefined) {
    throw new AppError('config', `${file}: there is no "mcpServers" in it`, {
      hint: 'It must look like this: {"mcpServers":{"files":{"command":"npx","args":["some-server"]}}}',
    });
  }
  return Object.entries(servers).map(([name, value]) => ({ name, definition: value ?? null, scope: 'flag', file }));
}

/** What the folder's settings define and no layer has let through. A broken file is told of by the settings. */
async function unapproved(counted: readonly ServerSetting[], { cwd, homes }: App): Promise<readonly ServerEntry[]> {
  const file = join(cwd, '.gemini', 'settings.json');
  if (realPath(dirname(file)) === realPath(homes().gemini)) return [];
  const approved = counted.filter(({ scope }) => scope === 'workspace').map(({ name }) => name);
  return (await serversIn(file))
    .filter(({ name }) => !approved.includes(name) && !(name === 'mcp.serverCommand' && approved.includes('mcp')))
    .map(({ name, definition }) => ({
      name,
      scope: 'workspace',
      file,
      written: definition,
      state: { kind: 'unapproved' },
    }));
}

async function serversIn(file: string) {
  try {
    const text = readStateFile(file);
    return text === undefined ? [] : workspaceServers(await parseSettingsText({ file, text }));
  } catch {
    return [];
  }
}

/** The servers of a file as they stand there, each file read once. */
function writtenFiles(): (file: string) => Promise<JsonObject> {
  const known = new Map<string, JsonObject>();
  return async (file) => {
    const servers = known.get(file) ?? Object.fromEntries((await serversIn(file)).map((s) => [s.name, s.definition]));
    known.set(file, servers);
    return servers;
  };
}
