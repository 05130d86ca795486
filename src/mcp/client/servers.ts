import type { ServerSetting, Settings } from '../../core/app.ts';
import { canonicalJson, isObject, type JsonObject } from '../../core/json.ts';
import { visible } from '../../core/visible.ts';
import { sha256 } from '../../platform/hash.ts';
import { commandWords } from './command-words.ts';
import { type NamedServer, parseDefinition } from './definition.ts';

/** A server that may be used. */
export interface ConfiguredServer extends NamedServer {
  readonly scope: ServerSetting['scope'];
  readonly file: string;
  /** Its tools run unasked: `trust: true` in the user's own file, and in no other. */
  readonly isTrusted: boolean;
  /** Differs whenever anything in the definition does. */
  readonly fingerprint: string;
}

/** An entry that is no server. */
export interface FaultyServer {
  readonly name: string;
  readonly why: string;
  readonly file: string;
}

export interface ConfiguredServers {
  /** In the order of the files. */
  readonly servers: readonly ConfiguredServer[];
  readonly faulty: readonly FaultyServer[];
  /** Turned off by `mcp.allowed` or `mcp.excluded`. */
  readonly disabled: readonly string[];
  /** One for each faulty server. */
  readonly notices: readonly string[];
}

/** The servers of the settings: `mcpServers`, `mcp.serverCommand` under the name `mcp`, less what `mcp.excluded` and `mcp.allowed` say. */
export function configuredServers(settings: Pick<Settings, 'servers' | 'document'>): ConfiguredServers {
  const mcp = isObject(settings.document?.mcp) ? settings.document.mcp : {};
  const entries = [...(settings.servers ?? []), ...serverCommand(mcp, settings.servers ?? [])];
  const disabled = entries.map(({ name }) => name).filter((name) => !isEnabled(name, mcp));
  const found = entries.filter(({ name }) => !disabled.includes(name)).map(readServer);
  const faulty = found.filter((entry) => 'why' in entry);
  return {
    servers: found.filter((entry) => 'definition' in entry),
    faulty,
    disabled,
    notices: faulty.map(
      ({ name, why, file }) => `${file}: MCP server ${visible(JSON.stringify(name))} is not used: ${why}`,
    ),
  };
}

function readServer({ name, definition: written, scope, file }: ServerSetting): ConfiguredServer | FaultyServer {
  const definition = parseDefinition(written);
  if (definition.kind === 'fault') return { name, why: definition.why, file };
  return {
    name,
    definition,
    scope,
    file,
    isTrusted: scope === 'user' && definition.isTrusted,
    fingerprint: sha256(canonicalJson([name, written])),
  };
}

/** A whole command line in one setting. Whose file it stands in is not known here, so it is never trusted. */
function serverCommand(mcp: JsonObject, servers: readonly ServerSetting[]): readonly ServerSetting[] {
  const { serverCommand: line } = mcp;
  if (typeof line !== 'string' || line.trim() === '' || servers.some(({ name }) => name === 'mcp')) return [];
  const [command = '', ...args] = commandWords(line);
  return [{ name: 'mcp', definition: { command, args }, scope: 'workspace', file: 'mcp.serverCommand' }];
}

/** `mcp.excluded` wins; without `mcp.allowed` all are. */
function isEnabled(name: string, { allowed, excluded }: JsonObject): boolean {
  if (Array.isArray(excluded) && excluded.includes(name)) return false;
  return !Array.isArray(allowed) || allowed.includes(name);
}
