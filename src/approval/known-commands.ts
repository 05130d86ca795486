/**
 * Commands of which gmn knows what their words do. Only options known to be harmless are here: none that runs code or
 * a program, reads a configuration, or writes outside of the workspace.
 *
 * A row is `operands: options`. Its name is the program with its sub-commands; `a|b` is `b` as another name of `a`, and `a,b` a row for two.
 *
 * Operands are of a kind each, and a kind that ends with s repeats:
 * - a kind of `KINDS`; of `TASKS`, `p` at a question allows exactly those that are there;
 * - `script`: a file of code, or what is as good: a permission must name it, and no options may follow;
 * - `pattern`: a text, but a file if an option brings the pattern;
 * - `args`: arguments of such code: as for an unknown program; `none`.
 *
 * Options: `-s`; `-n=kind` has a value, `-n 1`, `-n1` or `--n=1`; `--n=?kind` may have one, in the same word; `a|b` is one of
 * these; `-#` is a number, `+=text` a word that begins with `+`. What follows ` --` may stand after a `--`.
 */
export interface Family {
  /** The manual; `*` stands for the words of the row, joined by `-`. */
  readonly page: string;
  /** Words before the program that mean the same program. */
  readonly via?: readonly string[];
  /** Options of more than one letter have one dash, and letters are not combined. */
  readonly hasLongDashes?: true;
  /** `--` ends the options. */
  readonly hasSeparator?: true;
  /** Puts other files, or links, where the words of the rest of a line lead. */
  readonly movesFiles?: true;
  readonly rows: Readonly<Record<string, string>>;
}

const PACKAGE = String.raw`(?:@\w[\w.-]*\/)?\w[\w.-]*(?:@[\w.^~-]+)?`;
/** Of kubectl, without those that hold secrets. */
const RESOURCE =
  'po|pods?|deploy|deployments?|svc|services?|no|nodes?|ns|namespaces?|ev|events?|ing|ingress|ingresses|jobs?|cj|cronjobs?|rs|replicasets?|sts|statefulsets?|ds|daemonsets?|pvc?|hpa';
/** Placeholders of git's formats, without those that call gpg. */
const PLACEHOLDER = String.raw`[HhTtPpDdsfbBnNSem%]|[ac][nNlLeEdDrtisIhS]|g[dDsnNeE]|x[\da-fA-F]{2}|C(?:red|green|blue|reset|\([\w #,:-]+\))|[<>|]+\([\w,]+\)|\((?:refname|objectname|objecttype|subject|body|contents|authordate|authorname|authoremail|committerdate|committername|creatordate|taggerdate|upstream|HEAD)(?::[\w=,-]+)?\)`;

/** What a word must look like. */
export const KINDS: Readonly<Record<string, RegExp>> = {
  // Some programs read more arguments from `@file`.
  path: /^[^@]/,
  paths: /^[^@]|^@$/,
  place: /^[^@]/,
  places: /^[^@]|^@$/,
  files: /^[^@]/,
  targets: /^[^@]/,
  revisions: /./,
  pattern: /^/,
  none: /(?!)/,
  directory: /^[^@]/,
  here: /./,
  script: /^[^@-]/,
  text: /^/,
  texts: /^/,
  number: /^[+-]?\d+[bckKMG]?$/,
  word: /^\w[\w.,:@%+=-]*$/,
  words: /^\w[\w.,:@%+=-]*$/,
  names: /^[\w.][\w./~^-]*$/,
  // Without a host, which would be sent a token.
  repo: /^[\w.-]+\/[\w.-]+$/,
  ids: /^\w[\w.-]*$/,
  packages: new RegExp(`^${PACKAGE}$`),
  task: /^[\w.:][\w.:/+-]*$/,
  tasks: /^[\w.:][\w.:/+-]*$/,
  phases: /^(?:clean|validate|compile|test-compile|test|package|verify)$/,
  range: /^\d+(?:,\d+)?p$/,
  gitformat: new RegExp(`^(?:[^%]|%(?:${PLACEHOLDER}))*$`),
  // Paths into the document: functions could print the environment.
  filter: /^\.(?:\w|\[\d*\]|\.)*(?: ?\| ?(?:length|keys|type))?$/,
  resource: new RegExp(`^(?:${RESOURCE})(?:,(?:${RESOURCE}))*(?:/[\\w.-]+)?$`),
};

/** Kinds of words that may name a file: they are resolved on the disk. `here` must be the directory itself. */
export const FILES: ReadonlySet<string> = new Set([
  'path',
  'paths',
  'place',
  'places',
  'files',
  'targets',
  'revisions',
  'directory',
  'script',
  'names',
  'task',
  'tasks',
  'args',
]);

/** Are only read, so that protected files are fine; `files` are no directories. */
export const READ: ReadonlySet<string> = new Set(['place', 'places', 'files', 'revisions']);

/** Links to these are followed, by programs that run no code of the project. */
export const FOLLOWED: ReadonlySet<string> = new Set(['place', 'places', 'files', 'targets']);

export const TASKS: ReadonlySet<string> = new Set(['task', 'tasks', 'directory', 'phases', 'targets']);
