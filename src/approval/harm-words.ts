import { resolve } from 'node:path';
import type { Env } from '../core/io.ts';

/** A part of a line, as far as it can be told for any shell. */
export interface RoughCommand {
  readonly words: string[];
  /** Where its output goes. */
  readonly writes: string[];
  /** The words of all commands that are joined to it by pipes. */
  readonly pipeline: string[];
}

/** Stands for what a substitution prints. */
const UNKNOWN = '\0';

/** A brace on its own is a group; inside of a word it is part of the word. */
const SEPARATOR = /(\$\(|&&|\|\||[|;&\n()`]|(?<![^\s;&|])[{}](?=[\s;&|]|$))/.source;
const OTHERS = /([<>]+[&|]?)|([^\S\n]+)|'[^']*(?:'|$)|"(?:[^"\\]|\\[\s\S])*(?:"|$)/.source;
const TEXT = /[^\s'"\\;&|()<>`{}$]+|[\s\S]/.source;
const TOKEN = {
  posix: new RegExp(`${SEPARATOR}|${OTHERS}|\\\\[\\s\\S]|${TEXT}`, 'g'),
  other: new RegExp(`${SEPARATOR}|${OTHERS}|${TEXT}`, 'g'),
} as const;

/** Cuts a line into commands, rather too many than too few. Unlike `parseShellLine` it understands every line somehow. */
export function scanLine(line: string, isPosix: boolean): readonly RoughCommand[] {
  let command: RoughCommand = { words: [], writes: [], pipeline: [] };
  const commands = [command];
  let word: string | undefined;
  let isWrite = false;
  const endWord = (): void => {
    if (word === undefined) return;
    (isWrite ? command.writes : command.words).push(word);
    command.pipeline.push(word);
    word = undefined;
    isWrite = false;
  };
  for (const [token, separator, redirection, blank] of line.matchAll(isPosix ? TOKEN.posix : TOKEN.other)) {
    if (separator !== undefined) {
      if (word !== undefined && (separator === '$(' || separator === '`')) word += UNKNOWN;
      endWord();
      command = { words: [], writes: [], pipeline: separator === '|' ? command.pipeline : [] };
      commands.push(command);
    } else if (redirection !== undefined) {
      endWord();
      isWrite = redirection.startsWith('>');
    } else if (blank !== undefined) endWord();
    else word = (word ?? '') + unquoteRoughly(token, isPosix);
  }
  endWord();
  return commands;
}

function unquoteRoughly(token: string, isPosix: boolean): string {
  const quote = token.charAt(0);
  if (quote === "'" || quote === '"') {
    const inner = token.slice(1, token.length > 1 && token.endsWith(quote) ? -1 : undefined);
    return quote === '"' && isPosix ? inner.replace(/\\(["\\$`\n])/g, '$1') : inner;
  }
  // A line that is continued.
  if (token === '\\\n') return '';
  return isPosix && token.length === 2 ? token.replace(/^\\/, '') : token;
}

/** `A=b`. */
export const ASSIGNMENT = /^(?:\$env:)?(\w+)=([\s\S]*)$/;

export interface Scene {
  readonly env: Env;
  readonly home: string;
  /** Of variables, by name; undefined stands for a value that is not known. */
  readonly values: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** Where a command of the line may run. */
  readonly directories: readonly string[];
}

export function readScene(
  commands: readonly RoughCommand[],
  place: { readonly env: Env; readonly home: string; readonly directory: string },
): Scene {
  const { env, home } = place;
  const scene = { env, home, values: readAssignments(commands, env), directories: [place.directory] };
  for (const { words } of commands) for (const path of listMoves(words, scene)) scene.directories.push(path);
  return scene;
}

function readAssignments(commands: readonly RoughCommand[], env: Env): Scene['values'] {
  const values = new Map<string, (string | undefined)[]>(Object.entries(env).map(([name, value]) => [name, [value]]));
  const add = (name: string, value: string | undefined): void => {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  };
  for (const { words } of commands) {
    for (const word of words) {
      const [, name, value = ''] = ASSIGNMENT.exec(word) ?? [];
      if (name !== undefined) add(name, value.includes(UNKNOWN) ? undefined : value);
    }
    const at = words.findIndex((word) => word === 'for' || word === 'read');
    const [name, ...items] = at < 0 ? [] : words.slice(at + 1);
    if (name !== undefined) add(name, undefined);
    for (const item of items) {
      if (words[at] === 'read') add(item, undefined);
      else add(String(name), item);
    }
  }
  return values;
}

/** More values of a word, or directories of a line, than people write. */
const MAX_VARIANTS = 32;

function listMoves(words: readonly string[], scene: Scene): readonly string[] {
  const found = words.flatMap((word, index) => {
    const [, value] = /^(?:--(?:directory|chdir|cwd|work-tree)|GIT_WORK_TREE)=(.+)$/.exec(word) ?? [];
    const isMove = /^(?:cd|chdir|pushd|set-location|-C)$/i.test(word);
    const target = value ?? (isMove ? (words[index + 1] ?? '~') : undefined);
    return target === undefined ? [] : expandRoughly(target, scene);
  });
  const paths = found.flatMap((path) => scene.directories.map((directory) => resolve(directory, path)));
  return [...new Set(paths)]
    .filter((path) => !scene.directories.includes(path))
    .slice(0, Math.max(0, MAX_VARIANTS - scene.directories.length));
}

const VARIABLE = /\$(?:env:)?\{(\w{1,99})(?::?[-=]([^{}]{0,999})|[^{}]{0,999})\}|\$(?:env:)?(\w{1,99})|%(\w{1,99})%/i;
const BRACES = /^([^{]*)(?<!\$)\{([^{}]*)\}([\s\S]*)$/;

/** All that a shell may make of a word, as far as that is known; nothing for an empty one. */
export function expandRoughly(word: string, { values, env, home }: Scene): readonly string[] {
  if (word.includes(UNKNOWN)) return [];
  const [, before = '', inner, after = ''] = BRACES.exec(word) ?? [];
  let results: readonly string[] = inner?.includes(',')
    ? inner.split(',', MAX_VARIANTS).map((part) => before + part + after)
    : [word];
  // A value may name other variables.
  for (let count = 0; count < MAX_VARIABLES && results.some((result) => VARIABLE.test(result)); count += 1)
    results = results.flatMap((result) => replaceVariable(result, values)).slice(0, MAX_VARIANTS);
  return results.filter((result) => result !== '').map((result) => expandTilde(result, env.HOME ?? home));
}

const MAX_VARIABLES = 8;

function replaceVariable(text: string, values: Scene['values']): readonly string[] {
  const found = VARIABLE.exec(text);
  if (found === null) return [text];
  const [whole, braced, fallback = '', plain = braced, percent = plain] = found;
  const name = String(percent);
  // What a script is given is not known; a variable that is not set is empty.
  const known = values.get(name) ?? (/^\d/.test(name) ? [] : [fallback]);
  return known.flatMap((value) => (value === undefined ? [] : [text.replace(whole, () => value)]));
}

function expandTilde(word: string, home: string): string {
  const [tilde, user] = /^~([\w.-]*)(?=[\\/]|$)/.exec(word) ?? [];
  if (tilde === undefined) return word;
  return (user === '' ? home : `/home/${user}`) + word.slice(tilde.length);
}
