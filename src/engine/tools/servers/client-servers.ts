import type { ServerSetting } from '../../../core/app.ts';
import type { JsonObject } from '../../../core/json.ts';

interface Field {
  readonly name: string;
  readonly value: string;
}

/** An MCP server as a program that starts gmn names it: all values are literal. */
export type ClientServer = { readonly name: string } & (
  | { readonly command: string; readonly args: string[]; readonly env: readonly Field[] }
  | { readonly type: 'http' | 'sse'; readonly url: string; readonly headers: readonly Field[] }
);

/** As it would be in the settings. Its tools are asked about. */
export function toServerSetting(server: ClientServer): ServerSetting {
  return { name: server.name, scope: 'client', file: 'the client', definition: toDefinition(server) };
}

function toDefinition(server: ClientServer): JsonObject {
  if ('url' in server) return { type: server.type, url: server.url, headers: toFieldObject(server.headers) };
  return { command: server.command, args: server.args, env: toFieldObject(server.env) };
}

function toFieldObject(list: readonly Field[]): JsonObject {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
