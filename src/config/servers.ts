import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { readSetting } from './keys.ts';

/** An MCP server as a folder's settings define it, variables not yet put in. */
export interface WorkspaceServer {
  /** Its name; `mcp.serverCommand` for the server that key defines. */
  readonly name: string;
  readonly definition: JsonValue;
  /** Differs whenever anything in the definition does. */
  readonly hash: string;
}

const COMMAND_KEY = 'mcp.serverCommand';

/** Every server a folder's settings would start. */
export function workspaceServers(document: JsonObject): readonly WorkspaceServer[] {
  const command = readSetting(document, COMMAND_KEY);
  const entries: readonly (readonly [string, JsonValue])[] = [
    ...Object.entries(readSetting(document, 'mcpServers') ?? {}).map(([name, value]) => [name, value ?? null] as const),
    ...(command === undefined ? [] : [[COMMAND_KEY, command] as const]),
  ];
  return entries.map(([name, definition]) => ({ name, definition, hash: sha256(canonicalJson(definition)) }));
}

/** The settings without the servers that are not `approved`, and without their claim to be trusted blindly. */
export function withServers(document: JsonObject, approved: readonly string[]): JsonObject {
  const { mcpServers, mcp, ...rest } = document;
  return {
    ...rest,
    ...(isObject(mcpServers) ? { mcpServers: kept(mcpServers, approved) } : {}),
    ...(isObject(mcp) ? { mcp: approved.includes(COMMAND_KEY) ? mcp : without(mcp, 'serverCommand') } : {}),
  };
}

function kept(servers: JsonObject, approved: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(servers)
      .filter(([name]) => approved.includes(name))
      .map(([name, definition]) => [name, isObject(definition) ? without(definition, 'trust') : definition]),
  );
}

function without(object: JsonObject, key: string): JsonObject {
  const { [key]: _, ...rest } = object;
  return rest;
}
