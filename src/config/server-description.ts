import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { visible } from '../core/text/terminal.ts';
import { withoutSecrets } from './secrets.ts';
import type { WorkspaceServer } from './servers.ts';

/** A server in a form that lets a person decide. */
export interface ServerDescription {
  readonly name: string;
  /** The whole command line, or the address. */
  readonly commandLine: string;
  /** The same, word by word. */
  readonly words: readonly string[];
  /** Everything else the definition holds, one line each. */
  readonly details: readonly string[];
}

/** What starting a server would mean, all of it: only values of variables and headers that are secrets are hidden. */
export function describeServer({ name, definition }: WorkspaceServer): ServerDescription {
  if (!isObject(definition)) return described(name, [visible(textOf(definition))], []);
  const { command, args, url, httpUrl, ...rest } = definition;
  const line = [command, ...(Array.isArray(args) ? args : [])].filter((word) => word !== undefined);
  const addresses = [httpUrl, url].filter((address) => address !== undefined);
  const words = [...line.map((word) => quoted(textOf(word))), ...addresses.map((address) => visible(textOf(address)))];
  return described(name, words.length === 0 ? ['(nothing to start)'] : words, detailsOf(rest));
}

function described(name: string, words: readonly string[], details: readonly string[]): ServerDescription {
  return { name: visible(name), commandLine: words.join(' '), words, details };
}

function detailsOf(rest: JsonObject): readonly string[] {
  return Object.entries(rest).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const isPairs = isObject(value) && (key === 'env' || key === 'headers');
    const pairs = isPairs
      ? Object.entries(value).map(([name, item]) => `${visible(name)}=${visible(textOf(hidden(name, item ?? null)))}`)
      : [];
    return [`${visible(key)}: ${isPairs ? pairs.join(' ') : listed(value)}`];
  });
}

/** `$NAME` is no secret, and what a variable is set to may be the very danger. */
function hidden(name: string, value: JsonValue): JsonValue {
  return typeof value === 'string' && value.startsWith('$') ? value : withoutSecrets(value, [name]);
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** As a shell would need it, so that no two different commands look the same. */
function quoted(word: string): string {
  return /^[\w@%+=:,./$-]+$/.test(word) ? word : `'${visible(word.replaceAll("'", `'\\''`))}'`;
}

/** Each item of a list is a word of its own. */
function listed(value: JsonValue): string {
  if (!Array.isArray(value)) return visible(JSON.stringify(value));
  return `[${value.map((item) => visible(JSON.stringify(item))).join(',')}]`;
}
