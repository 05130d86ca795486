import type { App } from '../../../core/app.ts';
import { AppError } from '../../../core/error.ts';
import { isObject, type JsonObject, omitEmpty, omitUndefined, tryParseJson } from '../../../core/json.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { readTextOrFile } from '../../../input/text-or-file.ts';
import { parseDefinition } from '../../../mcp/client/definition.ts';

export interface TransportOptions {
  readonly transport?: 'stdio' | 'http' | 'sse';
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  /** The `oauth` object of the settings, as JSON or `@file`. */
  readonly oauth?: string;
}

export async function readOAuthFlag({ oauth }: TransportOptions, app: App): Promise<JsonObject> {
  if (oauth === undefined) return {};
  const value = tryParseJson(await readTextOrFile(oauth, '--oauth', app));
  if (!isObject(value)) throw usageError('--oauth: that is not a JSON object', `Example: --oauth '{"clientId":"abc"}'`);
  return { oauth: value as JsonObject };
}

/** An address gets a type only if `--transport` names one, so that otherwise both are tried. `more`: further keys of the entry. */
export function createDefinition(
  [commandOrUrl = '', ...args]: readonly string[],
  { transport, env = [], header = [] }: TransportOptions,
  more: JsonObject = {},
) {
  const isAddress = /^https?:\/\//i.test(commandOrUrl);
  const kind = transport ?? (isAddress ? 'http' : 'stdio');
  if (kind === 'stdio') {
    if (/^[a-z][a-z\d+.-]*:\/\//i.test(commandOrUrl) && !isAddress) {
      throw usageError(`${sanitize(commandOrUrl)} is not an address that gmn can reach`, 'Use http:// or https://');
    }
    if (isAddress)
      throw usageError(`${sanitize(commandOrUrl)} is an address, not a program`, 'Use --transport http or sse.');
    if (header.length > 0) throw usageError('--header is for an address', 'A program gets variables: --env K=V');
    return checkEntry({
      command: commandOrUrl,
      args: omitEmpty(args),
      env: env.length === 0 ? undefined : Object.fromEntries(env.map(parseEnvFlag)),
      ...more,
    });
  }
  if (env.length > 0) throw usageError('--env is for a program', 'An address gets headers: --header "K: V"');
  if (args.length > 0) throw usageError('an address takes no arguments', `Leave out: ${sanitize(args.join(' '))}`);
  return checkEntry({
    url: commandOrUrl,
    type: transport,
    headers: header.length === 0 ? undefined : Object.fromEntries(header.map(parseHeaderFlag)),
    ...more,
  });
}

function checkEntry(fields: JsonObject) {
  const entry = omitUndefined(fields);
  const definition = parseDefinition(entry);
  if (definition.kind === 'fault')
    throw usageError(`that is not a server: ${definition.why}`, 'Run: gmn mcp add --help');
  return { entry, definition };
}

/** A value may hold `=`. No error repeats it, since it is often a secret. */
function parseEnvFlag(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError('--env: that is not of the form NAME=value', "Example: --env TOKEN='$MY_TOKEN'");
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseHeaderFlag(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw usageError('--header: that is not of the form "Name: value"', `Example: --header 'X-Key: $MY_KEY'`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function usageError(message: string, hint: string): AppError {
  return new AppError('usage', message, { hint });
}
