import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { visible } from '../core/visible.ts';
import { withoutSecrets } from './secrets.ts';
import type { WorkspaceServer } from './workspace-servers.ts';

/** A server in a form that lets a person decide. */
export interface ServerDescription {
  readonly name: string;
  /** The whole command line, or the address. */
  readonly commandLine: string;
  /** Everything else the definition holds, one line each. */
  readonly details: readonly string[];
}

/** Longer words would push what stands before them off the screen. */
const MAX_WORD = 200;

/**
 * What starting a server would mean. Values of variables and headers that are secrets are hidden; of a word longer than
 * 200 characters the start is shown, and how much more there is.
 */
export function describeServer({ name, definition }: WorkspaceServer): ServerDescription {
  if (!isObject(definition)) return { name: shown(name), commandLine: shown(textOf(definition)), details: [] };
  const { command, args, url, httpUrl, ...rest } = definition;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => word !== undefined);
  const addresses = [httpUrl, url].filter((address) => address !== undefined);
  const commandLine = [
    ...words.map((word) => quoted(textOf(word))),
    ...addresses.map((address) => shown(textOf(address))),
  ].join(' ');
  return { name: shown(name), commandLine: commandLine || '(nothing to start)', details: detailsOf(rest) };
}

function detailsOf(rest: JsonObject): readonly string[] {
  return Object.entries(rest).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const isPairs = isObject(value) && (key === 'env' || key === 'headers');
    const pairs = isPairs
      ? Object.entries(value).map(([name, item]) => `${shown(name)}=${shown(textOf(hidden(name, item ?? null)))}`)
      : [];
    return [`${shown(key)}: ${isPairs ? pairs.join(' ') : listed(value)}`];
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
  const start = word.slice(0, MAX_WORD);
  const text = /^[\w@%+=:,./$-]+$/.test(word) ? start : `'${visible(start.replaceAll("'", `'\\''`))}'`;
  return `${text}${more(word)}`;
}

/** Each item of a list is a word of its own. */
function listed(value: JsonValue): string {
  if (!Array.isArray(value)) return shown(JSON.stringify(value));
  return `[${value.map((item) => shown(JSON.stringify(item))).join(',')}]`;
}

function shown(word: string): string {
  return `${visible(word.slice(0, MAX_WORD))}${more(word)}`;
}

function more({ length }: string): string {
  return length > MAX_WORD ? `… (${length - MAX_WORD} more)` : '';
}
