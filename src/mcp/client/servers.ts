import type { ServerSetting, Settings } from '../../core/app.ts';
import { canonicalJson, isObject, type JsonValue } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { systemPlatform } from '../../platform/runtime/system.ts';
import { type NamedServer, parseDefinition } from './definition.ts';

export interface ConfiguredServer extends NamedServer {
  readonly scope: ServerSetting['scope'];
  readonly file: string;
  /** Its tools run without asking: `trust: true` in the user's own file, never in another. */
  readonly isTrusted: boolean;
  readonly fingerprint: string;
}

interface InvalidServer {
  readonly name: string;
  readonly why: string;
  readonly file: string;
}

type ServerSettings = Pick<Settings, 'servers' | 'serverCommand' | 'document'> & {
  readonly isOfficiallyDisabled?: (name: string) => boolean;
};

/** Without those disabled by `mcp.excluded`, `mcp.allowed`, the official CLI or their own entry. */
export function listConfiguredServers(settings: ServerSettings) {
  const entries = listServerEntries(settings);
  const disabled = entries.flatMap((entry) => findDisabled(entry, settings) ?? []);
  const isOff = (name: string): boolean => disabled.some((server) => server.name === name);
  const found = entries.filter(({ name }) => !isOff(name)).map(parseServer);
  const faulty = found.filter((entry) => 'why' in entry);
  return {
    servers: found.filter((entry) => 'definition' in entry),
    faulty,
    disabled,
    notices: faulty.map(
      ({ name, why, file }) => `${file}: MCP server ${sanitize(JSON.stringify(name))} is not used: ${why}`,
    ),
  };
}

/** Includes invalid and disabled entries. `mcp.serverCommand` is split into a command and its arguments. */
export function listServerEntries({
  servers = [],
  serverCommand,
}: Pick<Settings, 'servers' | 'serverCommand'>): readonly ServerSetting[] {
  if (typeof serverCommand?.definition !== 'string') return servers;
  if (servers.some(({ name }) => name === serverCommand.name)) return servers;
  const [command = '', ...args] = splitCommand(serverCommand.definition);
  return [...servers, { ...serverCommand, definition: { command, args } }];
}

function parseServer({ name, definition: written, scope, file }: ServerSetting): ConfiguredServer | InvalidServer {
  const definition = parseDefinition(written);
  if (definition.kind === 'fault') return { name, why: definition.why, file };
  return {
    name,
    definition,
    scope,
    file,
    isTrusted: scope === 'user' && definition.isTrusted,
    remedy: scope === 'client' ? 'It comes from the program that started gmn: see the settings there.' : undefined,
    fingerprint: sha256(canonicalJson([name, written])),
  };
}

function findDisabled(
  { name, definition }: ServerSetting,
  { document, isOfficiallyDisabled = () => false }: ServerSettings,
): { readonly name: string; readonly why: string; readonly hint: string } | undefined {
  const { allowed, excluded } = isObject(document?.mcp) ? document.mcp : {};
  const hint = `To use it again, run: gmn mcp enable ${sanitize(name)}`;
  if (Array.isArray(excluded) && excluded.includes(name)) return { name, why: 'disabled', hint };
  if (Array.isArray(allowed) && !allowed.includes(name)) {
    const where = 'To see where that is set, run: gmn config explain mcp.allowed';
    return { name, why: 'not in mcp.allowed', hint: where };
  }
  if (isDisabledEntry(definition)) return { name, why: 'disabled in its entry', hint };
  return isOfficiallyDisabled(name) ? { name, why: 'disabled for the official CLI', hint } : undefined;
}

/** Other programs write `"disabled": true` or `"enabled": false` into an entry. */
export function isDisabledEntry(definition: JsonValue | undefined): boolean {
  return isObject(definition) && (definition.disabled === true || definition.enabled === false);
}

/**
 * Splits as a POSIX shell does, but `;`, `|`, `$` and the like are plain characters. An unclosed quote extends to the end. On Windows, where
 * paths have backslashes, one is plain unless a `"` follows it.
 */
export function splitCommand(line: string, platform: string = systemPlatform()): readonly string[] {
  const isEscaped = (next: string, quote: string): boolean =>
    platform === 'win32' ? next === '"' && quote !== "'" : quote === '' || (quote === '"' && /["\\$`]/.test(next));
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < line.length; index += 1) {
    const char = line[index] ?? '';
    const next = line[index + 1];
    if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (quote === '' && (char === "'" || char === '"')) {
      quote = char;
      word ??= '';
    } else if (char === quote) quote = '';
    else if (char === '\\' && next !== undefined && isEscaped(next, quote)) {
      word = `${word ?? ''}${next}`;
      index += 1;
    } else word = `${word ?? ''}${char}`;
  }
  return word === undefined ? words : [...words, word];
}
