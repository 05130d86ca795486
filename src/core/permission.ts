import { canonicalJson, isObject, type JsonObject, type JsonValue } from './json.ts';
import { quoteIfNeeded } from './text/quote.ts';
import { sanitize } from './text/terminal.ts';

/** What runs without a question. It can be kept; every source of permissions is read into this. */
export type Permission =
  /** The mode `auto_edit`. */
  | { readonly kind: 'edits' }
  /** Every call of a built-in tool. */
  | { readonly kind: 'tool'; readonly tool: string }
  /** Calls of a tool that reach these hosts and no others. */
  | { readonly kind: 'hosts'; readonly tool: string; readonly hosts: readonly string[] }
  /** Exactly this command in this directory. */
  | { readonly kind: 'command'; readonly command: string; readonly directory: string; readonly isBackground?: true }
  /** Commands that begin with these words; with a directory, in that one alone: the program is named by a path from there. */
  | { readonly kind: 'prefix'; readonly words: readonly string[]; readonly directory?: string }
  /** All tools of an MCP server, as it is defined now. */
  | ({ readonly kind: 'server' } & ServerOrigin)
  | ({ readonly kind: 'server-tool'; readonly tool: string } & ServerOrigin);

export interface ServerOrigin {
  readonly server: string;
  /** Of the server's definition: one of the same name is not the same server. */
  readonly fingerprint: string;
}

export function isSamePermission(one: object, other: object): boolean {
  return canonicalJson({ ...one }) === canonicalJson({ ...other });
}

/** For people. Sanitized for the terminal. */
export function formatPermission(permission: Permission): string {
  switch (permission.kind) {
    case 'edits':
      return 'all edits';
    case 'tool':
      return sanitize(permission.tool);
    case 'hosts':
      return `${sanitize(permission.tool)}: ${permission.hosts.map(sanitize).join(', ')}`;
    case 'command':
      return `${sanitize(permission.command)} (exactly, in ${sanitize(permission.directory)}${permission.isBackground ? ', in the background' : ''})`;
    case 'prefix':
      return `${formatCommandWords(permission.words)} …${permission.directory === undefined ? '' : ` (in ${sanitize(permission.directory)})`}`;
    case 'server':
      return `${sanitize(permission.server)}: all its tools`;
    case 'server-tool':
      return `${sanitize(permission.server)}: ${sanitize(permission.tool)}`;
  }
}

export function formatCommandWords(words: readonly string[]): string {
  return sanitize(words.map(quoteIfNeeded).join(' '));
}

/** Undefined for anything that gmn would not have written. */
export function tryParsePermission(value: JsonValue | undefined): Permission | undefined {
  if (!isObject(value)) return undefined;
  const { kind, ...fields } = value;
  switch (kind) {
    case 'edits':
      return hasOnly(fields, []) ? { kind } : undefined;
    case 'tool':
      return hasOnly(fields, ['tool']) ? { kind, ...fields } : undefined;
    case 'hosts': {
      const { hosts, ...others } = fields;
      return isTextList(hosts) && hasOnly(others, ['tool']) ? { kind, hosts, ...others } : undefined;
    }
    case 'command': {
      const { isBackground, ...texts } = fields;
      if (!hasOnly(texts, ['command', 'directory']) || (isBackground !== undefined && isBackground !== true))
        return undefined;
      return isBackground ? { kind, ...texts, isBackground } : { kind, ...texts };
    }
    case 'prefix': {
      const { words, ...others } = fields;
      if (!isTextList(words) || !hasOnly(others, 'directory' in others ? ['directory'] : [])) return undefined;
      return { kind, words, ...others };
    }
    case 'server':
      return hasOnly(fields, ['server', 'fingerprint']) ? { kind, ...fields } : undefined;
    case 'server-tool':
      return hasOnly(fields, ['server', 'fingerprint', 'tool']) ? { kind, ...fields } : undefined;
    default:
      return undefined;
  }
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === 'string' && text !== '');
}

/** Whether these keys, and no others, have texts. */
function hasOnly<Key extends string>(
  fields: JsonObject,
  keys: readonly Key[],
): fields is Readonly<Record<Key, string>> {
  return (
    Object.keys(fields).length === keys.length &&
    keys.every((key) => Object.hasOwn(fields, key) && typeof fields[key] === 'string' && fields[key] !== '')
  );
}
