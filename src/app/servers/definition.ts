import { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import { textOrFile } from '../../input/text-or-file.ts';
import { parseDefinition, type ServerDefinition } from '../../mcp/client/definition.ts';

export interface TransportOptions {
  readonly transport?: 'stdio' | 'http' | 'sse';
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  /** The `oauth` object of the settings, as JSON or `@file`. */
  readonly oauth?: string;
}

/** An entry of the settings, and its parsed form. */
interface MadeDefinition {
  readonly entry: JsonObject;
  readonly definition: ServerDefinition;
}

/** The value of `--oauth` under its key in the settings; empty if absent. Throws AppError `usage`. */
export async function oauthKey({ oauth }: TransportOptions, cwd: string): Promise<JsonObject> {
  if (oauth === undefined) return {};
  const value = parseJson(await textOrFile(oauth, '--oauth', cwd));
  if (!isObject(value)) throw refusal('--oauth: that is not a JSON object', `Example: --oauth '{"clientId":"abc"}'`);
  return { oauth: parseEntry(value) };
}

/**
 * Makes an entry of `mcpServers` from command line arguments: an address gets a type only if `--transport` names one,
 * so that otherwise both are tried; anything else is a program and its arguments. `more` are further keys of the entry.
 * Throws AppError `usage`.
 */
export function makeDefinition(
  [commandOrUrl = '', ...args]: readonly string[],
  { transport, env = [], header = [] }: TransportOptions,
  more: JsonObject = {},
): MadeDefinition {
  const isAddress = /^https?:\/\//i.test(commandOrUrl);
  const kind = transport ?? (isAddress ? 'http' : 'stdio');
  if (kind === 'stdio') {
    if (/^[a-z][a-z\d+.-]*:\/\//i.test(commandOrUrl) && !isAddress) {
      throw refusal(`${visible(commandOrUrl)} is no address that gmn can reach`, 'Use http:// or https://');
    }
    if (isAddress) throw refusal(`${visible(commandOrUrl)} is an address, no program`, 'Use --transport http or sse.');
    if (header.length > 0) throw refusal('--header is for an address', 'A program gets variables: --env K=V');
    return checked({
      command: commandOrUrl,
      ...(args.length === 0 ? {} : { args }),
      ...(env.length === 0 ? {} : { env: Object.fromEntries(env.map(variable)) }),
      ...more,
    });
  }
  if (env.length > 0) throw refusal('--env is for a program', 'An address gets headers: --header "K: V"');
  if (args.length > 0) throw refusal('an address takes no arguments', `Leave out: ${visible(args.join(' '))}`);
  return checked({
    url: commandOrUrl,
    ...(transport === undefined ? {} : { type: kind }),
    ...(header.length === 0 ? {} : { headers: Object.fromEntries(header.map(headerPair)) }),
    ...more,
  });
}

function checked(entry: JsonObject): MadeDefinition {
  const definition = parseDefinition(entry);
  if (definition.kind === 'fault') throw refusal(`that is no server: ${definition.why}`, 'Run: gmn mcp add --help');
  return { entry, definition };
}

/** Values may hold `=`. They are never repeated in an error, since they are often secrets. */
function variable(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw refusal('--env: that is not of the form NAME=value', "Example: --env TOKEN='$MY_TOKEN'");
  return [text.slice(0, at), text.slice(at + 1)];
}

function headerPair(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw refusal('--header: that is not of the form "Name: value"', `Example: --header 'X-Key: $MY_KEY'`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function parseEntry(value: Readonly<Record<string, unknown>>): JsonObject {
  return value as JsonObject;
}

function refusal(message: string, hint: string): AppError {
  return new AppError('usage', message, { hint });
}
