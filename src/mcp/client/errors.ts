import { AppError, type ErrorOptions } from '../../core/error.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { formatDuration } from '../../core/text/format.ts';
import { concealed, redact } from '../../core/text/secrets.ts';
import { visible } from '../../core/text/terminal.ts';
import type { NamedServer } from './definition.ts';
import { MAX_WORDS } from './limits.ts';
import type { Sdk } from './sdk.ts';
import type { Link } from './types.ts';

/** An AppError `mcp` about one server. The message is sanitized, and the secrets of its definition are redacted. */
export function serverFault(server: NamedServer, words: string, options: ErrorOptions = {}): AppError {
  const shown = shownWords(server, words);
  return new AppError('mcp', `MCP server ${visible(server.name)}: ${shown}`, { words: shown, ...options });
}

/** Server text for a person: one line, sanitized for the terminal, with the secrets of its definition redacted. */
function shownWords(server: NamedServer, words: string): string {
  const lines = concealedWords(server, words)
    .replace(ANSI, '')
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const shown = visible(lines.join(' / '));
  return shown.length > MAX_WORDS ? `${shown.slice(0, MAX_WORDS)}…` : shown;
}

/** Redacts the secrets of the definition, the tokens the server was sent, and whatever looks like a key. */
export function concealedWords({ definition }: NamedServer, words: string, tokens: readonly string[] = []): string {
  const secrets =
    definition.kind === 'stdio'
      ? Object.values(definition.env)
      : [...Object.values(definition.headers), definition.oauth?.clientSecret ?? ''];
  return redact(concealed(words, [...secrets, ...tokens]), '‹redacted›');
}

/** ANSI sequences, which servers write to stderr: shown as escapes they would bury the text. */
const ANSI = /\x1b\[[\d;?]*[ -/]*[@-~]/g;

interface Failing {
  readonly server: NamedServer;
  readonly sdk: Sdk;
  readonly link: Pick<Link, 'lastWords' | 'secrets' | 'left'>;
  /** The method, such as `tools/call`. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly isOver?: boolean;
}

/**
 * Converts what the SDK or a transport threw to an AppError `mcp`. Decides on types and codes, never on message text.
 */
export async function faultOf(thrown: unknown, failing: Failing): Promise<AppError> {
  const { server, what } = failing;
  const own = ownError(thrown);
  const isFinished = own?.fault === 'mcp' && own.words !== own.message;
  if (own !== undefined && (isFinished || own.fault === 'interrupted')) return own;
  if (own?.status === 401) return unauthorized(server, 401, own);
  if (own !== undefined)
    return serverFault(server, own.message, { cause: own, ...(own.hint ? { hint: own.hint } : {}) });
  const status = statusOf(thrown, failing.sdk);
  if (status === 401 || status === 403) return unauthorized(server, status, thrown);
  // `mcpError` knows only the secrets of the definition, not the tokens.
  const hidden = (words: string): string => concealed(words, failing.link.secrets?.() ?? []);
  if (status !== undefined) return serverFault(server, hidden(httpWords(thrown, status)), { cause: thrown, status });
  if (thrown instanceof failing.sdk.ProtocolError) {
    return serverFault(server, hidden(`${what} was refused: ${plainWords(thrown.message)}`), { cause: thrown });
  }
  return sdkFault(thrown, failing);
}

async function sdkFault(thrown: unknown, { server, sdk, link, what, timeoutMs, isOver }: Failing): Promise<AppError> {
  const { SdkErrorCode } = sdk;
  const code = thrown instanceof sdk.SdkError ? thrown.code : undefined;
  const last = await link.lastWords();
  const said = last === '' ? '' : `. ${last}`;
  if (code === SdkErrorCode.RequestTimeout) {
    return serverFault(server, `no answer to ${what} within ${formatDuration(timeoutMs)}${said}`, {
      cause: thrown,
      hint: 'Its "timeout" in the settings sets how long gmn waits, in milliseconds.',
    });
  }
  const left = link.left?.();
  if (left !== undefined) return serverFault(server, `gmn left it during ${what}: ${left}${said}`, { cause: thrown });
  if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.NotConnected || isOver) {
    const hint = server.remedy ?? `See its definition: gmn mcp get ${visible(server.name)}`;
    return serverFault(server, `it went away during ${what}${said}`, { cause: thrown, hint });
  }
  const message = plainWords(thrown instanceof Error ? thrown.message : String(thrown));
  const words = concealed(message, link.secrets?.() ?? []);
  return serverFault(server, `${what} failed: ${words}${said}`, { cause: thrown });
}

/** Finds our own AppError, however often the SDK has wrapped it. */
function ownError(thrown: unknown): AppError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = causeOf(error), depth += 1) {
    if (error instanceof AppError) return error;
  }
  return undefined;
}

function causeOf(error: Error): unknown {
  if (error.cause !== undefined) return error.cause;
  // Errors of the version negotiation keep their cause here.
  return 'data' in error && isObject(error.data) ? error.data.cause : undefined;
}

function statusOf(thrown: unknown, { SdkHttpError, UnauthorizedError }: Sdk): number | undefined {
  if (thrown instanceof UnauthorizedError) return 401;
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = causeOf(error), depth += 1) {
    if (error instanceof SdkHttpError) return error.data.status;
    // The error of the SDK's event source.
    if ('code' in error && typeof error.code === 'number' && error.code >= 300 && error.code < 600) return error.code;
  }
  return undefined;
}

function unauthorized(server: NamedServer, status: number, cause: unknown): AppError {
  const words = status === 401 ? 'it wants you to sign in (HTTP 401)' : 'it denies access (HTTP 403)';
  return serverFault(server, words, { cause, status, hint: `To sign in, run: gmn mcp auth ${visible(server.name)}` });
}

function httpWords(thrown: unknown, status: number): string {
  const data = thrown instanceof Error && 'data' in thrown && isObject(thrown.data) ? thrown.data : {};
  const text = typeof data.text === 'string' && !/<html|<!doctype/i.test(data.text) ? data.text.trim() : '';
  return text === '' ? `it answered HTTP ${status}` : `it answered HTTP ${status}: ${text}`;
}

/** The prefix that some libraries put before a server's message. */
const CODE = /^(?:MCP error -?\d+: )+/;

/**
 * Strips the error code prefix, and turns a validator's JSON, `[{"path":["a"],"message":"Required"}]`, into `a:
 * Required`. All other text stays as it is. Never throws.
 */
export function plainWords(words: string): string {
  const text = words.replace(CODE, '');
  const start = text.search(/\[\s*\{/);
  if (start === -1 || !text.trimEnd().endsWith(']')) return text;
  const issues = parseJson(text.slice(start));
  if (!Array.isArray(issues) || issues.length === 0) return text;
  const said = issues.map(issueWords);
  return said.every((each) => each !== undefined) ? `${text.slice(0, start)}${said.join('; ')}` : text;
}

function issueWords(issue: unknown): string | undefined {
  if (!isObject(issue) || typeof issue.message !== 'string') return undefined;
  const path = Array.isArray(issue.path) ? issue.path.map(String).join('.') : '';
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
