import { dirname, join, resolve } from 'node:path';
import { parseSettingsText } from '../config/document.ts';
import { readSetting } from '../config/keys.ts';
import { readServersFile } from '../config/servers-file.ts';
import { workspaceServers } from '../config/workspace-servers.ts';
import type { App, ServerSetting } from '../core/app.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { visible } from '../core/visible.ts';
import { type ConfiguredServer, configuredServers } from '../mcp/client/servers.ts';
import { realPath } from '../platform/real-path.ts';
import { readStateFile } from '../platform/state-file.ts';

/** How a folder's `mcp.serverCommand` is called where its servers are listed. */
const COMMAND_KEY = 'mcp.serverCommand';

/** The flags that say which MCP servers there are. */
export interface RosterOptions {
  readonly mcpConfig?: string;
  readonly allowedMcpServerNames?: readonly string[];
}

export type ServerState =
  | { readonly kind: 'ready'; readonly server: ConfiguredServer }
  /** Somebody's settings, or a flag, say not to use it; `hint` is how to undo that. */
  | { readonly kind: 'disabled'; readonly why: string; readonly hint: string }
  /** Its definition is none. */
  | { readonly kind: 'faulty'; readonly why: string }
  /** A folder's settings define it, and nobody has approved it as it is. */
  | { readonly kind: 'unapproved' };

/** An MCP server that the settings or a flag name. All of it is untrusted text. */
export interface ServerEntry extends Pick<ServerSetting, 'name' | 'scope' | 'file'> {
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
 * Every MCP server there is, and whether it may be used. Starts none. Throws AppError `config` if a settings file or the
 * file of `--mcp-config` is broken, `usage` if that is missing.
 */
export async function readRoster(options: RosterOptions, app: App): Promise<Roster> {
  const settings = await app.settings();
  const flagged =
    options.mcpConfig === undefined
      ? []
      : await readServersFile(resolve(app.cwd, options.mcpConfig), { env: settings.env, cwd: app.cwd });
  const isFlagged = ({ name }: ServerSetting): boolean => flagged.some((server) => server.name === name);
  const servers = [...(settings.servers ?? []).filter((server) => !isFlagged(server)), ...flagged];
  const { document = {} } = settings;
  const found = configuredServers({ servers, document });
  const why = refusals(document, options);
  const states = new Map<string, ServerState>([
    ...found.servers.map((server) => [server.name, why(server.name) ?? { kind: 'ready', server }] as const),
    ...found.faulty.map((server) => [server.name, why(server.name) ?? { kind: 'faulty', why: server.why }] as const),
    ...found.disabled.map((name) => [name, why(name) ?? NOT_ALLOWED] as const),
  ]);
  const files = writtenFiles();
  const entries: ServerEntry[] = [];
  for (const { name, scope, file, definition } of [...servers, ...commandServer(found.servers, servers)]) {
    const state = states.get(name);
    if (state !== undefined)
      entries.push({ name, scope, file, written: (await files(file))[name] ?? definition, state });
  }
  return { entries: [...entries, ...(await unapproved(entries, app))], notices: settings.notices };
}

const NOT_ALLOWED: ServerState = {
  kind: 'disabled',
  why: 'not in mcp.allowed',
  hint: 'To see where that is set, run: gmn config explain mcp.allowed',
};

/** Why a server of this name may not be used, if somebody says so. */
function refusals(document: JsonObject, options: RosterOptions): (name: string) => ServerState | undefined {
  const allowed = readSetting(document, 'mcp.allowed');
  const excluded = readSetting(document, 'mcp.excluded') ?? [];
  const flagged = options.allowedMcpServerNames?.flatMap((names) => names.split(',').map((name) => name.trim()));
  return (name) => {
    if (excluded.includes(name)) {
      return { kind: 'disabled', why: 'disabled', hint: `To use it again, run: gmn mcp enable ${visible(name)}` };
    }
    if (allowed !== undefined && !allowed.includes(name)) return NOT_ALLOWED;
    if (flagged === undefined || flagged.includes(name)) return undefined;
    return {
      kind: 'disabled',
      why: 'not in --allowed-mcp-server-names',
      hint: 'Add its name to that flag, or leave the flag out.',
    };
  };
}

/** The server that `mcp.serverCommand` defines, if it does. */
function commandServer(
  found: readonly ConfiguredServer[],
  servers: readonly ServerSetting[],
): readonly ServerSetting[] {
  const server = found.find(({ name }) => !servers.some((known) => known.name === name));
  if (server?.definition.kind !== 'stdio') return [];
  const { name, scope, file, definition } = server;
  return [{ name, scope, file, definition: { command: definition.command, args: definition.args } }];
}

/** What the folder's settings define and no layer has let through. A broken file is told of by the settings. */
async function unapproved(counted: readonly ServerEntry[], { cwd, homes }: App): Promise<readonly ServerEntry[]> {
  const file = join(cwd, '.gemini', 'settings.json');
  if (realPath(dirname(file)) === realPath(homes().gemini)) return [];
  const approved = counted.filter(({ scope }) => scope === 'workspace').map(({ name }) => name);
  return (await serversIn(file))
    .filter(({ name }) => !approved.includes(name === COMMAND_KEY ? 'mcp' : name))
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
