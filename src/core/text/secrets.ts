import { basename, dirname, join, relative } from 'node:path';
import type { Homes } from '../app.ts';
import { contains } from './path.ts';
import { SECRET_NAMES, SECRET_PATTERNS, SENSITIVE_DIRECTORIES, SENSITIVE_PAIRS } from './secret-lists.ts';
import { textBefore, trimTrailing } from './trim.ts';

// Walks ask for many names.
const NAMES: ReadonlySet<string> = new Set(SECRET_NAMES);

/** What editors and people add to the name of a copy. */
const COPY = /(?:~|\.(?:bak|backup|old|orig|save|swp))$/;

/** The most steps a name of `SENSITIVE_PAIRS` has. */
const PAIR_STEPS = 3;

/** Where this program and the official one keep credentials and sessions, below whatever home. */
const STATE =
  /\/\.(?:gmn\/(?:key\.json[^/]*|oauth-client\.json[^/]*|code-assist\.json|tokens|mcp|sessions|undo|locks)|gemini\/(?:\.env|oauth_creds\.json|gemini-credentials\.json|google_accounts\.json|mcp-oauth-tokens[^/]*|tmp|history))\//;

/** Work trees that other programs keep in directories of their own: whoever works there does so on purpose. */
const WORK_TREES = /([\\/])\.(?:claude|codex|cursor|gemini)[\\/]worktrees(?=[\\/])/gi;

/**
 * A name as the most forgiving file system might read it: no case, no compatibility forms, no invisible characters, no
 * dots and spaces at its end, no stream behind a colon.
 */
export function foldName(name: string): string {
  // Most names are plain, and walks ask for many.
  if (/^[\w-]*$/.test(name)) return name.toLowerCase();
  const shown = name
    .replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')
    .toLowerCase();
  return trimTrailing(textBefore(shown, ':'), '. ');
}

/** The steps of a path, folded. */
export function stepsOf(path: string): readonly string[] {
  return path.split(/[\\/]/).map(foldName);
}

/** Whether one of these paths is somewhere among the steps. */
export function hasSteps(steps: readonly string[], paths: readonly string[]): boolean {
  return paths.some((path) => `/${steps.join('/')}/`.includes(`/${path}/`));
}

/** Whether a file of this name, however a file system might read it, is likely to hold keys or passwords. */
export function isSecretName(name: string): boolean {
  return [name.toLowerCase(), foldName(name)].some((folded) => isListed(folded) || isListed(folded.replace(COPY, '')));
}

function isListed(name: string): boolean {
  return NAMES.has(name) || SECRET_PATTERNS.some((pattern) => pattern.test(name));
}

/**
 * The one rule for what goes to a model only when a person says so of this very file: whether it is likely to hold keys or
 * passwords, by its name or by the directories it is in. `above` is what the path begins in.
 */
export function isSensitivePath(path: string, above = ''): boolean {
  const steps = [...stepsOf(above), ...stepsOf(path)];
  return (
    isSecretName(basename(path)) ||
    steps.some((step) => SENSITIVE_DIRECTORIES.includes(step)) ||
    hasSteps(steps, SENSITIVE_PAIRS)
  );
}

/** The same of something in a directory that is not sensitive itself: a walk asks for many. */
export function isSensitiveEntry(path: string): boolean {
  return isSensitivePath(path.split(/[\\/]/).slice(-PAIR_STEPS).join('/'));
}

/** A path, cut where the directory begins that somebody works in. */
export interface RootedPath {
  /** From the name of that directory on. */
  readonly tail: string;
  /** What that directory lies in. */
  readonly above: string;
}

/** `path` must lie in `root`. */
export function rootedPath(root: string, path: string): RootedPath {
  const above = dirname(root.replace(WORK_TREES, '$1worktrees'));
  return { tail: join(basename(root), relative(root, path)), above };
}

/** Whether credentials or sessions of this program or the official one are there: no tool sees them, asked or not. */
export function isStatePath(path: string): boolean {
  return STATE.test(`/${stepsOf(path).join('/')}/`);
}

/**
 * Where credentials and sessions are, or would be if no variable named another place. `users` are the homes of this person;
 * `homes` is undefined where there is none.
 */
export function stateDirectories(homes: Homes | undefined, users: readonly string[]): readonly string[] {
  return [
    ...(homes === undefined ? [] : [homes.gmn, homes.gemini]),
    ...users.flatMap((home) => [`${home}/.gmn`, `${home}/.gemini`]),
  ];
}

/** Whether a path is in the state of this program, or of the official one, wherever that is kept. */
export function isState(path: string, directories: readonly string[]): boolean {
  return isStatePath(path) || directories.some((directory) => contains(directory, path));
}
