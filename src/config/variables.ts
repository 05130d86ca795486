import type { Env } from '../core/io.ts';
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

export function findWithheldVariables(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].map(([, bare, braced]) => bare ?? braced ?? '').filter(isSecretKey);
}

function substitute(text: string, env: Env, isWithheld: (name: string) => boolean): string {
  return text.replace(VARIABLE, (written, bare?: string, braced?: string, otherwise?: string) => {
    const name = bare ?? braced ?? '';
    if (isWithheld(name)) return written;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value ?? otherwise ?? written;
  });
}
