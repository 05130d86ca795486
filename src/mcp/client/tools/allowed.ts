import { toOfficialName } from '../../../core/tool.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { RegisteredTool } from './registration.ts';

interface AllowedTools {
  /** Of the command line. */
  readonly patterns: readonly string[];
  /** Of the user's settings: they do not count for the servers of a folder, which may take any name. */
  readonly ownPatterns?: readonly string[];
  readonly table: readonly RegisteredTool[];
  readonly servers: readonly ConfiguredServer[];
  /** Servers with no tools in this run, and the tools they had earlier; undefined if they were never seen. */
  readonly absent: readonly { readonly server: ConfiguredServer; readonly before: readonly string[] | undefined }[];
}

/**
 * Whether a tool may run without asking: its server is trusted by the user, or a pattern matches it. `server__*`,
 * or `mcp_server_*` as in the official CLI, matches all tools of a server; a name matches the one tool the model knows by it, `server__tool` or `mcp_server_tool` otherwise the one
 * tool of that server. Decided by the table, not by the form of a name, since a server chooses its names: an ambiguous
 * pattern matches nothing, and no tool inherits the name of one that an earlier, absent server had or may have had.
 */
export function isToolAllowed(entry: RegisteredTool, allowed: AllowedTools): boolean {
  if (entry.server.isTrusted) return true;
  const patterns = [...allowed.patterns, ...(entry.server.scope === 'workspace' ? [] : (allowed.ownPatterns ?? []))];
  return patterns.some((pattern) => {
    if (pattern === `${entry.server.name}__*` || isOnlyServer(pattern, entry, allowed)) return true;
    const known = allowed.table.find(({ tool }) => tool.name === pattern);
    if (known !== undefined && isSameTool(known, entry))
      return isFullName(pattern, entry) || !mayInheritName(entry, allowed);
    const meant = allowed.table.filter((each) => isFullName(pattern, each));
    return known === undefined && meant.length === 1 && meant.some((each) => isSameTool(each, entry));
  });
}

function isFullName(pattern: string, { server, remote }: RegisteredTool): boolean {
  const official = toOfficialName({ server: server.name, tool: remote.name });
  return pattern === `${server.name}__${remote.name}` || pattern === official;
}

/** `mcp_server_*`, where no other server could be meant. */
function isOnlyServer(pattern: string, { server }: RegisteredTool, { servers }: AllowedTools): boolean {
  const meant = servers.filter(({ name }) => toOfficialName({ server: name, tool: '' }) === pattern.slice(0, -1));
  return pattern.endsWith('*') && meant.length === 1 && meant[0]?.name === server.name;
}

function isSameTool(one: RegisteredTool, other: RegisteredTool): boolean {
  return one.server.name === other.server.name && one.remote.name === other.remote.name;
}

function mayInheritName({ server, remote }: RegisteredTool, { servers, absent }: AllowedTools): boolean {
  const findPosition = (name: string): number => servers.findIndex((each) => each.name === name);
  return absent.some(
    ({ server: { name }, before }) =>
      findPosition(name) < findPosition(server.name) && (before === undefined || before.includes(remote.name)),
  );
}
