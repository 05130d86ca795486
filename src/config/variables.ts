import type { Env } from '../core/io.ts';
import { isList, isObject, type JsonObject } from '../core/json.ts';
import { findShellKind, referToVariables } from '../core/text/shell-line.ts';
import { isSecretKey } from './secrets.ts';

/** Where requests go, through which proxy, and what is trusted: set by the real environment only. */
const NEVER_FROM_FILE = new Set([
  'CODE_ASSIST_ENDPOINT',
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_VERTEX_BASE_URL',
  'GMN_OAUTH_TOKEN_URL',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_OPTIONS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GMN_HOME',
  'GEMINI_CLI_HOME',
  'GEMINI_RESTRICTED_MODE',
  'GEMINI_CLI_TRUST_WORKSPACE',
  'GEMINI_CLI_TRUSTED_FOLDERS_PATH',
  'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
  'GEMINI_CLI_SYSTEM_DEFAULTS_PATH',
]);

export function mayComeFromFile(name: string): boolean {
  return !NEVER_FROM_FILE.has(name.toUpperCase());
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*/;

const QUOTED: Readonly<Record<string, RegExp>> = {
  "'": /^'([^']*)'[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|$)/,
  '"': /^"([^"\\]*(?:\\[\s\S][^"\\]*)*)"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|$)/,
};

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

/**
 * Parses `NAME=value` lines. `export` before and `#` comments after are allowed, quoted values may span lines, double
 * quotes know `\n`, `\r`, `\t`, `\"` and `\\`. Nothing is interpolated. The last of several assignments wins. Never
 * throws.
 */
export function parseEnvFile(text: string) {
  const variables = new Map<string, string>();
  const faultyLines: number[] = [];
  let rest = text.startsWith('\uFEFF') ? text.slice(1) : text;
  let line = 1;
  while (rest !== '') {
    const { length, name, value, isFaulty } = parseEntry(rest);
    if (name !== undefined && value !== undefined) variables.set(name, value);
    if (isFaulty) faultyLines.push(line);
    line += rest.slice(0, length).split(/\r\n|\r|\n/).length - 1;
    rest = rest.slice(length);
  }
  return { variables, faultyLines };
}

interface EnvEntry {
  /** In characters, with the line ending; never 0. */
  readonly length: number;
  readonly name?: string;
  readonly value?: string;
  readonly isFaulty?: boolean;
}

function parseEntry(text: string): EnvEntry {
  const whole = /^[^\r\n]*(?:\r\n|\r|\n|$)/.exec(text)?.[0] ?? text;
  const start = ASSIGNMENT.exec(whole);
  const name = start?.[1];
  if (start === null || name === undefined) return { length: whole.length, isFaulty: !/^\s*(?:#|$)/.test(whole) };
  const body = text.slice(start[0].length);
  const quote = body[0] ?? '';
  const quoted = Object.hasOwn(QUOTED, quote) ? QUOTED[quote]?.exec(body) : undefined;
  const value = quoted ? unquote(quoted[1] ?? '', quote) : stripComment(whole.slice(start[0].length));
  const length = quoted ? start[0].length + quoted[0].length : whole.length;
  // No environment can hold a NUL.
  return value.includes('\0') ? { length, isFaulty: true } : { length, name, value };
}

function unquote(text: string, quote: string): string {
  if (quote === "'") return text;
  return text.replace(/\\([\s\S])/g, (written, letter: string) => ESCAPES[letter] ?? written);
}

/** A comment needs a space before it, since a key may contain a `#`. */
function stripComment(text: string): string {
  return text.replace(/(^|[ \t])#[\s\S]*$/, '').trim();
}

const VARIABLE = /\$(?:(\w+)|\{([^{}:]+)(?::-([^}]*))?\})/g;

/** `$NAME`, `${NAME}`, `${NAME:-default}`, not recursively. What is not set and has no default stays as written. */
export function expandVariables(text: string, env: Env): string {
  return substitute(text, env, () => false);
}

/** A command line is visible to every user of the machine, so variables with a secret name are not expanded. */
export function expandInCommandLine(text: string, env: Env): string {
  return substitute(text, env, isSecretKey);
}

/** A program and its arguments in one line: a value that is more than one plain word would change what the line means. */
export function expandInLine(text: string, env: Env): string {
  return substitute(text, env, (name) => isSecretKey(name) || !PLAIN_WORD.test(env[name] ?? ''));
}

const PLAIN_WORD = /^[\p{L}\p{N}_@+=:,.\\/-]*$/u;

/**
 * Of a server that a shell runs, the line that the shell reads: values go in variables, since the name of a folder, pasted there, would run.
 * `expanded` is the same server with its variables filled in.
 */
export function expandShellLines(server: JsonObject, expanded: JsonObject, env: Env): JsonObject {
  const args = isList(server.args) ? server.args.map(String) : [];
  const words = [String(server.command), ...args];
  const start = words.findIndex((word) => findShellKind(word) !== undefined);
  const shell = words[start] ?? '';
  if (start === -1 || !isList(expanded.args)) return expanded;
  const isPosix = findShellKind(shell) === 'posix';
  const flag = words.findIndex((word, index) => index > start && /^-\w+$/.test(word) && word.includes('c'));
  const line = flag === -1 ? -1 : words.findIndex((word, index) => index > flag && !/^[-+]/.test(word));
  const used: Record<string, string> = {};
  const refer = (text: string): string => {
    const named = text.replace(VARIABLE, (written, bare?: string, braced?: string, otherwise?: string) => {
      const name = bare ?? braced ?? '';
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (isSecretKey(name)) return written;
      if (value === undefined) return otherwise ?? written;
      if (/^\w+$/.test(name)) used[name] = value;
      return `\${${name}}`;
    });
    return referToVariables(named, Object.keys(used), shell);
  };
  const filled = expanded.args.map((arg, index) => {
    const written = args[index] ?? '';
    if (isPosix) return index + 1 === line ? refer(written) : arg;
    // How many times Windows reads a line of `cmd /c` depends on who starts it.
    return index + 1 > start ? expandInLine(written, env) : arg;
  });
  if (Object.keys(used).length === 0) return { ...expanded, args: filled };
  return { ...expanded, args: filled, env: Object.assign(used, isObject(expanded.env) ? expanded.env : {}) };
}

export function findWithheldVariables(text: string): readonly string[] {
  return findVariableNames(text).filter(isSecretKey);
}

/** Those that `expandVariables` looks up. */
export function findVariableNames(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].map(([, bare, braced]) => bare ?? braced ?? '');
}

function substitute(text: string, env: Env, isWithheld: (name: string) => boolean): string {
  return text.replace(VARIABLE, (written, bare?: string, braced?: string, otherwise?: string) => {
    const name = bare ?? braced ?? '';
    if (isWithheld(name)) return written;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value ?? otherwise ?? written;
  });
}
