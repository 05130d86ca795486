import type { Confine } from '../../core/confine.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { takeBefore } from '../../core/text/trim.ts';

const TIMEOUT_MS = 600_000;
/** A timer with a longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

interface CommonDefinition {
  /** For connecting and for every request; progress restarts it. */
  readonly timeoutMs: number;
  /** `trust: true` as written. Only the user's own settings file can grant it. */
  readonly isTrusted: boolean;
  /** If present, no other tools are offered; `excludeTools` still wins. */
  readonly includeTools?: readonly string[];
  readonly excludeTools: readonly string[];
  readonly description?: string;
}

export function isWantedTool({ includeTools, excludeTools }: CommonDefinition, name: string): boolean {
  return !excludeTools.includes(name) && (includeTools === undefined || includeTools.includes(name));
}

export interface StdioDefinition extends CommonDefinition {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables every server gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server at an address. `url`: the definition names no transport, so Streamable HTTP is tried, then SSE. */
export interface RemoteDefinition extends CommonDefinition {
  readonly kind: 'http' | 'sse' | 'url';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly oauth?: OAuthDefinition;
}

interface OAuthDefinition {
  readonly isEnabled: boolean;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly clientMetadataUrl?: string;
  readonly scopes?: readonly string[];
  /** The only loopback address that the authorization server redirects to. */
  readonly redirectUri?: string;
}

export type ServerDefinition = StdioDefinition | RemoteDefinition;

interface InvalidDefinition {
  readonly kind: 'fault';
  readonly why: string;
}

/** A server with the name it has in the settings, which is untrusted text. */
export interface NamedServer {
  readonly name: string;
  readonly definition: ServerDefinition;
  /** The hint shown if the connection ends. Default: look at the definition. */
  readonly remedy?: string;
  /** Set by `--timeout`: replaces gmn's own deadline for the start and for each list. */
  readonly limitMs?: number;
  /** How its program is confined; absent for an address, and for what the user has configured. */
  readonly confine?: ConfineServer;
}

/** Undefined if there is no sandbox. Throws AppError `config`; then the program must not be started. */
export type ConfineServer = () => Promise<Confine | undefined>;

/** Parses an entry of `mcpServers`; ignores unknown keys. Returns an invalid entry as data instead of throwing. */
export function parseDefinition(value: JsonValue): ServerDefinition | InvalidDefinition {
  try {
    if (!isObject(value)) throw new DefinitionError('it must be an object');
    const entry = value;
    const input = /\$\{input:[^}]{0,80}\}/.exec(JSON.stringify(entry))?.[0];
    if (input !== undefined)
      throw new DefinitionError(`it contains ${input}, which only VS Code can fill in; name a variable instead`);
    const kinds = ['command', 'url', 'httpUrl'].filter((key) => entry[key] !== undefined);
    if (kinds.length === 0) throw new DefinitionError('it has none of command, url, httpUrl');
    if (kinds.length > 1) throw new DefinitionError(`it has ${kinds.join(' and ')}, but can be of one kind only`);
    return kinds[0] === 'command' ? parseStdio(entry) : parseRemote(entry);
  } catch (thrown) {
    if (thrown instanceof DefinitionError) return { kind: 'fault', why: thrown.message };
    throw thrown;
  }
}

class DefinitionError extends Error {}

function parseStdio(entry: JsonObject): StdioDefinition {
  if (entry.type !== undefined && entry.type !== 'stdio')
    throw new DefinitionError('its type must be "stdio", since it has command');
  const command = parseString(entry, 'command') ?? '';
  const args = parseStrings(entry, 'args') ?? [];
  const cwd = parseString(entry, 'cwd');
  const env = parseStringMap(entry, 'env');
  if (command.trim() === '') throw new DefinitionError('command is empty');
  // A shell or script that gets the command would read a line break as the end of it.
  for (const word of [command, ...args])
    if (/[\0\r\n]/.test(word)) throw new DefinitionError('command or args contain a line break');
  return { kind: 'stdio', command, args, env, cwd, ...parseCommon(entry) };
}

function parseRemote(entry: JsonObject): RemoteDefinition {
  const written = parseString(entry, 'httpUrl') ?? parseString(entry, 'url') ?? '';
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new DefinitionError('its address must begin with https:// or http://');
  if (url.username !== '' || url.password !== '')
    throw new DefinitionError('its address must not contain a password; use headers');
  return {
    kind: entry.httpUrl === undefined ? parseRemoteKind(entry) : 'http',
    url: url.href,
    headers: parseDefinedHeaders(entry),
    oauth: parseOAuth(entry),
    ...parseCommon(entry),
  };
}

function parseRemoteKind({ type }: JsonObject): RemoteDefinition['kind'] {
  if (type === undefined) return 'url';
  if (type === 'http' || type === 'sse') return type;
  // Spellings that other programs write.
  if (type === 'streamable-http' || type === 'streamableHttp') return 'http';
  throw new DefinitionError('its type must be "http" or "sse", since it has url');
}

function parseDefinedHeaders(entry: JsonObject): Readonly<Record<string, string>> {
  const headers = parseStringMap(entry, 'headers');
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new DefinitionError(`headers: ${JSON.stringify(name)} is not a valid header`);
    }
  }
  return headers;
}

function parseOAuth(entry: JsonObject): OAuthDefinition | undefined {
  const { oauth } = entry;
  if (oauth === undefined) return undefined;
  if (!isObject(oauth)) throw new DefinitionError('oauth must be an object');
  return {
    isEnabled: parseBoolean(oauth, 'enabled') ?? true,
    clientId: parseString(oauth, 'clientId'),
    clientSecret: parseString(oauth, 'clientSecret'),
    clientMetadataUrl: parseString(oauth, 'clientMetadataUrl'),
    redirectUri: parseString(oauth, 'redirectUri'),
    scopes: parseStrings(oauth, 'scopes'),
  };
}

function parseCommon(entry: JsonObject): CommonDefinition {
  const { timeout = TIMEOUT_MS } = entry;
  if (typeof timeout !== 'number' || !(timeout > 0))
    throw new DefinitionError('timeout must be a number of milliseconds');
  return {
    timeoutMs: Math.min(timeout, MAX_TIMER_MS),
    isTrusted: parseBoolean(entry, 'trust') ?? false,
    // The official CLI allows more text after the name: `name(…)`.
    includeTools: parseStrings(entry, 'includeTools')?.map((name) => takeBefore(name, '(')),
    excludeTools: parseStrings(entry, 'excludeTools') ?? [],
    description: parseString(entry, 'description'),
  };
}

function parseString(entry: JsonObject, key: string): string | undefined {
  const value = entry[key];
  if (value === undefined || typeof value === 'string') return value;
  throw new DefinitionError(`${key} must be a string`);
}

function parseBoolean(entry: JsonObject, key: string): boolean | undefined {
  const value = entry[key];
  if (value === undefined || typeof value === 'boolean') return value;
  throw new DefinitionError(`${key} must be true or false`);
}

function parseStrings(entry: JsonObject, key: string): readonly string[] | undefined {
  const value = entry[key];
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw new DefinitionError(`${key} must be a list of strings`);
  return value.map((item) => {
    if (typeof item !== 'string') throw new DefinitionError(`${key} must be a list of strings`);
    return item;
  });
}

function parseStringMap(entry: JsonObject, key: string): Readonly<Record<string, string>> {
  const value = entry[key];
  if (value === undefined) return {};
  if (!isObject(value)) throw new DefinitionError(`${key} must be an object of strings`);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (typeof item === 'number' || typeof item === 'boolean') return [name, String(item)];
      if (typeof item !== 'string' || /[=\0]/.test(name))
        throw new DefinitionError(`${key} must be an object of strings`);
      return [name, item];
    }),
  );
}
