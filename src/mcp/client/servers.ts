import type { ServerSetting, Settings } from '../../core/app.ts';
import { canonicalJson, isObject, type JsonValue } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import { sha256 } from '../../platform/runtime/native.ts';
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
interface FaultyServer {
  readonly name: string;
  readonly why: string;
  readonly file: string;
}

/** A server that somebody turned off. */
interface DisabledServer {
  readonly name: string;
  /** In a few words. */
  readonly why: string;
  /** How to use it again. */
  readonly hint: string;
}

interface ConfiguredServers {
  /** In the order of the files. */
  readonly servers: readonly ConfiguredServer[];
  readonly faulty: readonly FaultyServer[];
  readonly disabled: readonly DisabledServer[];
  /** One for each faulty server. */
  readonly notices: readonly string[];
}

/** The parts of the settings that say which servers there are. */
type ServerSettings = Pick<Settings, 'servers' | 'serverCommand' | 'document'> & {
  /** Whether the official CLI has the server turned off; none unless given. */
  readonly isOfficiallyDisabled?: (name: string) => boolean;
};

/**
 * The servers of the settings: `mcpServers`, and `mcp.serverCommand` under the name `mcp`; less those that `mcp.excluded`,
 * `mcp.allowed`, the official CLI or their own entry turn off.
 */
export function configuredServers(settings: ServerSettings): ConfiguredServers {
  const entries = serverEntries(settings);
  const disabled = entries.flatMap((entry) => disabledServer(entry, settings) ?? []);
  const isOff = (name: string): boolean => disabled.some((server) => server.name === name);
  const found = entries.filter(({ name }) => !isOff(name)).map(readServer);
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

/** All entries, usable or not, in the order of the files; that of `mcp.serverCommand` as a program and its arguments. */
export function serverEntries({
  servers = [],
  serverCommand,
}: Pick<Settings, 'servers' | 'serverCommand'>): readonly ServerSetting[] {
  if (typeof serverCommand?.definition !== 'string') return servers;
  if (servers.some(({ name }) => name === serverCommand.name)) return servers;
  const [command = '', ...args] = commandWords(serverCommand.definition);
  return [...servers, { ...serverCommand, definition: { command, args } }];
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

/** Why a server is turned off, the strongest word first; undefined if it may be used. */
function disabledServer(
  { name, definition }: ServerSetting,
  { document, isOfficiallyDisabled = () => false }: ServerSettings,
): DisabledServer | undefined {
  const { allowed, excluded } = isObject(document?.mcp) ? document.mcp : {};
  const hint = `To use it again, run: gmn mcp enable ${visible(name)}`;
  if (Array.isArray(excluded) && excluded.includes(name)) return { name, why: 'disabled', hint };
  if (Array.isArray(allowed) && !allowed.includes(name)) {
    const where = 'To see where that is set, run: gmn config explain mcp.allowed';
    return { name, why: 'not in mcp.allowed', hint: where };
  }
  if (isDisabledEntry(definition)) return { name, why: 'disabled in its entry', hint };
  return isOfficiallyDisabled(name) ? { name, why: 'disabled for the official CLI', hint } : undefined;
}

/** `"disabled": true`, as many programs write it into an entry, or `"enabled": false`, as others do. */
export function isDisabledEntry(definition: JsonValue | undefined): boolean {
  return isObject(definition) && (definition.disabled === true || definition.enabled === false);
}

/**
 * The words of a command line, quotes and backslashes taken off as a POSIX shell does. Nothing else of a shell means
 * anything here: `;`, `|`, `$` and the like are characters. A quote that does not end goes on to the end.
 */
export function commandWords(line: string): readonly string[] {
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
    else if (char === '\\' && next !== undefined && (quote === '' || (quote === '"' && /["\\$`]/.test(next)))) {
      word = `${word ?? ''}${next}`;
      index += 1;
    } else word = `${word ?? ''}${char}`;
  }
  return word === undefined ? words : [...words, word];
}
