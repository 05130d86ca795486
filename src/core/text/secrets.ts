import { basename, dirname, join, relative } from 'node:path';
import type { Homes } from '../app.ts';
import { contains } from './path.ts';
import { SECRET_NAMES, SECRET_PATTERNS, SENSITIVE_DIRECTORIES, SENSITIVE_PAIRS } from './secret-lists.ts';
import { takeBefore, trimTrailing } from './trim.ts';

const NAMES: ReadonlySet<string> = new Set(SECRET_NAMES);

const DIRECTORIES: ReadonlySet<string> = new Set(SENSITIVE_DIRECTORIES);
const PAIRS = createStepsPattern(SENSITIVE_PAIRS);

const COPY = /(?:~|\.(?:bak|backup|old|orig|save|swp))$/;

const PAIR_STEPS = 3;

/** Directories with credentials and sessions of gmn and of the official CLI, in any home. */
const STATE =
  /\/\.(?:gmn\/(?:key\.json[^/]*|oauth-client\.json[^/]*|code-assist\.json|tokens|mcp|sessions|undo|locks)|gemini\/(?:\.env|oauth_creds\.json|gemini-credentials\.json|google_accounts\.json|mcp-oauth-tokens[^/]*|tmp|history))\//;

/** Work trees that other agents create in their own directories; working there is intended. */
const WORK_TREES = /([\\/])\.(?:claude|codex|cursor|gemini)[\\/]worktrees(?=[\\/])/gi;

/** As the most lenient file system: no case, compatibility forms, invisible characters, trailing dots, streams. */
export function foldName(name: string): string {
  // A fast path, since walks check many names.
  if (!/[^\w.-]|\.$/.test(name)) return name.toLowerCase();
  const shown = name
    .replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')
    .toLowerCase();
  return trimTrailing(takeBefore(shown, ':'), '. ');
}

export function splitSteps(path: string): readonly string[] {
  return path.split(/[\\/]/).map(foldName);
}

/** Whether two absolute paths are one file to the most lenient file system. */
export function isSamePath(one: string, other: string): boolean {
  return splitSteps(one).join('/') === splitSteps(other).join('/');
}

/** For `hasSteps`: one pattern for all paths, since walks check many names. */
export function createStepsPattern(paths: readonly string[]): RegExp {
  return new RegExp(`/(?:${paths.join('|').replaceAll('.', '\\.')})/`);
}

export function hasSteps(steps: readonly string[], pattern: RegExp): boolean {
  return pattern.test(`/${steps.join('/')}/`);
}

export function isSecretName(name: string): boolean {
  const names = [name.toLowerCase(), foldName(name)];
  const originals = names.map((copy) => copy.replace(COPY, ''));
  return [...new Set([...names, ...originals])].some(isListed);
}

function isListed(name: string): boolean {
  return NAMES.has(name) || SECRET_PATTERNS.some((pattern) => pattern.test(name));
}

/** By its name and directories, `above` included. Sent to a model only if a person approves that very file. */
export function isSensitivePath(path: string, above = ''): boolean {
  const steps = [...splitSteps(above), ...splitSteps(path)];
  return isSecretName(basename(path)) || steps.some((step) => DIRECTORIES.has(step)) || hasSteps(steps, PAIRS);
}

/** The same for an entry of a directory known not to be sensitive; faster, for walks. */
export function isSensitiveEntry(path: string): boolean {
  return isSensitivePath(path.split(/[\\/]/).slice(-PAIR_STEPS).join('/'));
}

export interface RootedPath {
  readonly tail: string;
  readonly above: string;
}

/** `path` must be inside `root`. */
export function splitAtRoot(root: string, path: string): RootedPath {
  const above = dirname(root.replace(WORK_TREES, '$1worktrees'));
  return { tail: join(basename(root), relative(root, path)), above };
}

/** No tool may read these, even with approval. */
export function isStatePath(path: string): boolean {
  return STATE.test(`/${splitSteps(path).join('/')}/`);
}

/** At their current and their default places. `users` are the person's home directories. */
export function listStateDirectories(homes: Homes | undefined, users: readonly string[]): readonly string[] {
  return [
    ...(homes === undefined ? [] : [homes.gmn, homes.gemini]),
    ...users.flatMap((home) => [join(home, '.gmn'), join(home, '.gemini')]),
  ];
}

export function isState(path: string, directories: readonly string[]): boolean {
  return isStatePath(path) || directories.some((directory) => contains(directory, path));
}

/** Shorter secrets would match ordinary words. */
const MIN_LENGTH = 8;
export const MARK = '‹redacted›';

/**
 * Replaces these secrets in a text: plain, URL-encoded, escaped for JSON, or in base64, even inside a longer base64
 * text. Secrets of fewer than 8 characters are not replaced. Not for data that a program decodes: the mark is not
 * base64. Never throws.
 */
export function redactKnown(text: string, secrets: Iterable<string>): string {
  return listTextForms(secrets).reduce((result, form) => result.replaceAll(form, () => MARK), text);
}

/** Whether a text has one of these secrets in one of the forms of `redactKnown`. */
export function createSecretFinder(secrets: Iterable<string>): (text: string) => boolean {
  const forms = listTextForms(secrets);
  return (text) => forms.some((form) => text.includes(form));
}

/** Longest first: one secret may be a prefix of another. */
function listTextForms(secrets: Iterable<string>): readonly string[] {
  const forms = new Set([...secrets].filter(({ length }) => length >= MIN_LENGTH).flatMap(listEncodings));
  return [...forms].sort((a, b) => b.length - a.length);
}

/** In all strings, field names and attachments, in slices with pauses. The same object if it has none. */
export async function redactIn<Value>(
  value: Value,
  secrets: ReadonlySet<string>,
  pause: () => Promise<void>,
): Promise<Value> {
  if (secrets.size === 0) return value;
  const slices = redactValue(value, {
    texts: listTextForms(secrets),
    bytes: listByteForms(secrets),
    left: SLICE_LENGTH,
  });
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value as Value;
    await pause();
  }
}

/** How many characters are searched between two pauses: a few milliseconds of work. */
const SLICE_LENGTH = 10_000_000;
/** The fixed cost of a search, in characters. */
const SEARCH_LENGTH = 1000;

interface Search {
  readonly texts: readonly string[];
  readonly bytes: readonly string[];
  left: number;
}

/** Yields when it is time for a pause. */
type Slices<Result> = Generator<undefined, Result>;

function* spend(search: Search, length: number): Slices<void> {
  search.left -= length + SEARCH_LENGTH;
  if (search.left > 0) return;
  search.left = SLICE_LENGTH;
  yield;
}

function* redactValue(value: unknown, search: Search): Slices<unknown> {
  if (typeof value === 'string') return yield* redactText(value, search);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(yield* redactValue(item, search));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    entries.push([yield* redactText(key, search), yield* redactEntry(key, item, search)]);
  }
  const isSame = entries.every(([key, item]) => item === (value as Record<string, unknown>)[key]);
  return isSame ? value : Object.fromEntries(entries);
}

function* redactText(text: string, search: Search): Slices<string> {
  let result = text;
  for (const form of search.texts) {
    if (form.length > result.length) continue;
    result = result.replaceAll(form, () => MARK);
    yield* spend(search, result.length);
  }
  return result;
}

function* redactEntry(key: string, value: unknown, search: Search): Slices<unknown> {
  const media = key === 'inlineData' ? (value as { readonly data?: unknown } | null) : undefined;
  if (typeof media?.data !== 'string') return yield* redactValue(value, search);
  const data = yield* redactBytes(media.data, search);
  return data === media.data ? value : { ...media, data };
}

export function listByteForms(secrets: ReadonlySet<string>): readonly string[] {
  return [...new Set([...secrets].flatMap((secret) => [secret, escapeJson(secret)]))];
}

/** Redacts base64 data. Decoded as Latin-1, so that all other bytes stay as they are. */
function* redactBytes(data: string, search: Search): Slices<string> {
  const bytes = Buffer.from(data, 'base64');
  const found: string[] = [];
  for (const form of search.bytes) {
    if (bytes.includes(form)) found.push(form);
    yield* spend(search, bytes.length);
  }
  if (found.length === 0) return data;
  const mark = Buffer.from(MARK).toString('latin1');
  const text = found.reduce((rest, secret) => rest.replaceAll(secret, () => mark), bytes.toString('latin1'));
  return Buffer.from(text, 'latin1').toString('base64');
}

function listEncodings(secret: string): readonly string[] {
  const url = encodeURIComponent(secret.toWellFormed());
  const json = escapeJson(secret);
  return [
    secret,
    url,
    url.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    url.toLowerCase(),
    json,
    escapeJson(json),
    escapeForHtml(json),
    ...listBase64Forms(secret),
  ];
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Google's servers escape these characters in JSON as if it were embedded in HTML. */
function escapeForHtml(json: string): string {
  return json.replace(/[<>&=']/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

/** Its base64, and the part that appears in the base64 of any text that contains it, for each of three alignments. */
function listBase64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString('base64');
  const shifted = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
    return encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
  });
  const plain = shifted.map((form) => form.replaceAll('-', '+').replaceAll('_', '/'));
  return [whole, bytes.toString('base64url'), ...shifted, ...plain];
}

/** Patterns of well-known credentials. The bounds keep matching linear on hostile text. */
const CREDENTIALS = [
  /ya29\.[\w.-]+/,
  /\b1\/\/[\w-]{10,}/,
  /AIza[\w-]{20,}/,
  /\bAQ\.[\w-]{20,}/,
  /GOCSPX-[\w-]+/,
  /gh[pousr]_\w{20,}|github_pat_\w{20,}/,
  /\bsk-[\w-]{16,}|\b[sr]k_(?:live|test)_\w{16,}/,
  /\b(?:AKIA|ASIA)[A-Z\d]{16}\b/,
  /\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}/,
  /\bglpat-[\w.-]{16,}/,
  /\b(?:npm|hf)_[A-Za-z\d]{30,}/,
  /\bpypi-[\w-]{40,}/,
  /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/,
  /Bearer\s+[\w.~+/=-]+/,
  /\bBasic\s+[\w+/-]{16,}={0,2}/,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s\\]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/,
] as const;

/** `?key=…`, `--token=…`, `"refresh_token": "…"`: the name stays, the value is replaced. */
const NAMED_VALUES = [
  /((?:key|secret|token|password|passphrase)[\w-]{0,40}[=:])(?:"[^"]*"|'[^']*'|[^\s&]+)/gi,
  /("[\w-]{0,60}(?:key|secret|token|password|passphrase)"\s*:\s*)"(?:[^"\\]|\\.)*"?/gi,
] as const;

/** `https://user:password@host`: everything up to the last `@` before the path. */
const URL_PASSWORD = /(\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s/?#:@"']{0,200}:)[^\s/?#"']{1,1000}(?=@)/gi;

/** Compiled on first use, since most runs redact nothing. */
let credentials: RegExp | undefined;

export function redact(text: string, mark: string): string {
  let result = redactCredentials(text, mark);
  for (const pattern of NAMED_VALUES) result = result.replace(pattern, (_, name: string) => `${name}${mark}`);
  return result;
}

/** Only what has the form of a credential. `key=…` stays: in source code that is mostly no secret. */
export function redactCredentials(text: string, mark: string): string {
  credentials ??= new RegExp(CREDENTIALS.map(({ source }) => source).join('|'), 'g');
  return text.replace(URL_PASSWORD, (_, before: string) => `${before}${mark}`).replace(credentials, () => mark);
}

/** Between a name and its value: `=`, `:`, `is`, は. */
const IS = '(?:["\'`]?\\s{0,5}(?:[=:：＝]|\\b(?:is|was)\\b|は|が|を)\\s{0,5})';

/** Secrets as people write them in prose, which `redact` misses. The bounds keep matching linear on hostile text. */
const SECRET_PHRASES = [
  // `password: …`, `my password is …`, `MYSQL_PWD = …`
  `(?:pass(?:word|wd|phrase|code)|pwd|secret)[\\w-]{0,40}${IS}["'\`]?[^\\s"'\`]`,
  // `api_key = "9f8e…"`, `the token is 9f8e…`: these words are common, so the value must contain a digit.
  `(?:key|token|credential)[\\w-]{0,40}${IS}["'\`]?(?=[\\w+/=.~-]{0,40}\\d)[\\w+/=.~-]{8}`,
  `\\bpin(?: code)?${IS}\\d{4}`,
  `(?:パスワード|パスフレーズ|パスコード|暗証番号|合言葉|秘密|トークン|キー)${IS}["'\`「『]?[!-~]{4}`,
  // `curl -u name:password`, `--password …`
  `(?:^|\\s)(?:-[uU]\\s{0,5}|--(?:proxy-)?user[\\s=]{1,5})["']?[^\\s:"']{1,200}:[^\\s"']`,
  `(?:^|\\s)--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key)\\s{1,5}["']?[^\\s"'-]`,
  `\\bsshpass\\s{1,5}-p`,
] as const;

let secretPhrases: RegExp | undefined;

/** Whether typed text seems to contain a secret; prefers false positives. Never throws. */
export function hasSecret(text: string): boolean {
  secretPhrases ??= new RegExp(SECRET_PHRASES.join('|'), 'i');
  return secretPhrases.test(text) || redact(text, '') !== text;
}
