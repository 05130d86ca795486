import { beginsWith, type CommandPart, toBareName } from '../core/text/command-line.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { BUILD_TOOLS } from './known-build-tools.ts';
import { type Family, FILES, KINDS, TASKS } from './known-commands.ts';
import { FILE_TOOLS } from './known-file-tools.ts';
import { GIT } from './known-git.ts';
import { SERVICES } from './known-services.ts';

export const FAMILIES: readonly Family[] = [...FILE_TOOLS, ...GIT, ...BUILD_TOOLS, ...SERVICES];

/** A word that may name a file. */
export interface FileWord {
  readonly word: string;
  /** As the table has it; undefined: the program is not in the table. */
  readonly kind?: string;
}

/** What the table says of one program with its words. */
export interface JudgedCommand {
  /** A permission that has fewer first words does not cover it. */
  readonly least: number;
  /** Words from the first to behind the last name of a task: a permission has all of these, or none. */
  readonly tasks?: readonly [first: number, end: number];
  /** How many first words `p` allows; undefined: it is not offered. */
  readonly offered?: number;
  readonly files: readonly FileWord[];
  /** Whether it may put other files where the words of the rest of a line lead. */
  readonly movesFiles: boolean;
  /** Directories that must be the one it runs in. */
  readonly here: readonly string[];
  /** Program, sub-commands and operands, by each name that the program has; undefined if the table does not know all of it. */
  readonly names?: readonly (readonly string[])[];
}

/**
 * Undefined if no permission for first words covers it: the table knows the program, but not these words. `isProgram`: whether
 * a word names a file that can be run.
 */
export function judgeCommand(part: CommandPart, isProgram: (word: string) => boolean): JudgedCommand | undefined {
  const [program, ...words] = part;
  const start = findStart(program);
  return start === undefined ? judgeUnknown(words, isProgram) : new Reader(start, words, isProgram).read();
}

/** Whether a command that begins with these words could be covered at all. */
export function isCoverable([program, ...words]: readonly string[]): boolean {
  const start = findStart(program as string);
  return start === undefined || new Reader(start, words, () => false).canBegin();
}

/** Whether a command with these names is what a rule means. */
export function compareWithRule(
  names: readonly (readonly string[])[],
  rule: readonly string[],
): 'yes' | 'no' | 'unclear' {
  const meant = listNamesOfRule(rule);
  const isSame = meant.some((each) => names.some((words) => beginsWith(words, each)));
  // Options may stand elsewhere.
  if (isSame) return rule.every((word) => !word.startsWith('-') || meant[0]?.includes(word)) ? 'yes' : 'unclear';
  // `npm run start` is `npm start`.
  const isNear = meant.some(([program, ...others]) =>
    names.some(([name, ...words]) => name === program && others.length > 0 && words.includes(others.at(-1) as string)),
  );
  return isNear ? 'unclear' : 'no';
}

/** What the words of a rule mean, without options, by each name that the program has. */
function listNamesOfRule([program, ...words]: readonly string[]): readonly (readonly string[])[] {
  const start = findStart(program as string);
  const plain = words.filter((word) => !word.startsWith('-'));
  if (start === undefined) return [[program as string, ...plain]];
  const reader = new Reader(start, words, () => false);
  return reader.canBegin() ? reader.listNames() : [[start.name, ...plain]];
}

/** An unknown program may get these after its exact words: no options, variables, code, or names of programs. */
function isPlain(word: string, isProgram: (word: string) => boolean): boolean {
  return /^[\w./][\w./:,%~^-]*$/.test(word) && !isProgram(word);
}

function judgeUnknown(words: readonly string[], isProgram: (word: string) => boolean): JudgedCommand {
  const isOption = (word: string): boolean => word.startsWith('-') && word !== '--' && !/\s/.test(word);
  const files = words.flatMap((word) => [{ word }, { word: word.replace(/^-\w/, '') }]);
  // What the program does with such a word is unknown: nothing may follow.
  const isOpen = words.some((word) => !isOption(word) && !isPlain(word, isProgram));
  if (isOpen) return { least: words.length + 1, files, here: [], movesFiles: true };
  const least = words.findLastIndex(isOption) + 2;
  const offered = least <= words.length ? words.length + 1 : undefined;
  return { least, offered, files, here: [], movesFiles: true };
}

interface OptionRow {
  /** Undefined: it has no value. */
  readonly value?: string;
  /** The value may only be in the same word. */
  readonly isAttached: boolean;
}

interface Row {
  readonly operands: readonly string[];
  readonly options: ReadonlyMap<string, OptionRow>;
  readonly hasSeparator: boolean;
  /** Options after a `--`. */
  readonly later: ReadonlyMap<string, OptionRow>;
  readonly hasLongDashes: boolean;
  readonly movesFiles: boolean;
}

interface Node {
  /** As the table calls it. */
  readonly name: string;
  readonly children: Map<string, Node>;
  row?: Row;
  /** The program alone, if the words before only start it. */
  alias?: readonly string[];
}

/** Reads the words of a known program from left to right; stops at the first that its row does not know. */
class Reader {
  #node: Node;
  readonly #words: readonly string[];
  readonly #isProgram: (word: string) => boolean;
  readonly #names: string[];
  readonly #files: FileWord[] = [];
  readonly #here: string[] = [];
  readonly #operands: string[] = [];
  #isLater = false;
  #least = 1;
  /** Behind the last word of the program and its sub-commands. */
  #rowEnd = 1;
  #tasks: [number, number] | undefined;
  /** Whether the words taken last name a task. */
  #isTask = false;
  /** Whether an option brings the pattern, so that the first operand is a file. */
  #hasPattern = false;

  constructor(start: Node, words: readonly string[], isProgram: (word: string) => boolean) {
    this.#node = start;
    this.#words = words;
    this.#isProgram = isProgram;
    this.#names = [start.name];
  }

  canBegin(): boolean {
    for (let at = 0; at < this.#words.length; ) {
      this.#isTask = false;
      const taken = this.#take(at);
      if (taken === 0) return false;
      if (this.#isTask) this.#tasks = [this.#tasks?.[0] ?? at + 1, at + 1 + taken];
      at += taken;
    }
    return true;
  }

  read(): JudgedCommand | undefined {
    if (!this.canBegin()) return undefined;
    const { row } = this.#node;
    // Without a script the program reads code from its input.
    if (row === undefined || (row.operands[0] === 'script' && this.#operands.length === 0)) return undefined;
    const [first] = this.#operands;
    if (this.#hasPattern && first !== undefined) this.#files.push({ word: first, kind: row.operands[1] });
    return {
      least: this.#least,
      tasks: this.#tasks,
      offered: Math.max(this.#rowEnd, this.#least, this.#tasks?.[1] ?? 0),
      files: this.#files,
      here: this.#here,
      movesFiles: row.movesFiles,
      names: this.listNames(),
    };
  }

  listNames(): readonly (readonly string[])[] {
    const { alias } = this.#node;
    const names = [...this.#names, ...this.#operands];
    return alias === undefined ? [names] : [names, [...alias, ...this.#operands]];
  }

  /** How many words, at least one; 0: this one is not known. */
  #take(at: number): number {
    const word = this.#words[at] as string;
    const child = this.#isLater || this.#operands.length > 0 ? undefined : this.#node.children.get(word);
    if (child !== undefined) {
      this.#node = child;
      this.#names.push(child.name);
      this.#rowEnd = at + 2;
      return 1;
    }
    const { row } = this.#node;
    if (row === undefined) return 0;
    const isScript = row.operands[0] === 'script' && this.#operands.length > 0;
    if (word === '--' && !this.#isLater && !isScript && row.hasSeparator) {
      this.#isLater = true;
      return 1;
    }
    if (/^[-+]./.test(word)) return isScript ? 0 : this.#takeOption(row, word, this.#words[at + 1]);
    return this.#takeOperand(row, word, at) ? 1 : 0;
  }

  #takeOperand({ operands }: Row, word: string, at: number): boolean {
    const last = operands.at(-1) as string;
    const kind = operands[this.#operands.length] ?? (last.endsWith('s') ? last : 'none');
    if (kind === 'args' ? !isPlain(word, this.#isProgram) : !this.#accept(kind, word)) return false;
    if (kind === 'args') this.#files.push({ word, kind });
    if (kind === 'script') this.#least = at + 2;
    this.#operands.push(word);
    return true;
  }

  #takeOption(row: Row, word: string, next: string | undefined): number {
    const options = this.#isLater ? row.later : row.options;
    if (options.has('-#') && /^-\d+$/.test(word)) return 1;
    if (word.startsWith('+')) return this.#accept(options.get('+')?.value, word.slice(1)) ? 1 : 0;
    if (word.startsWith('--') || row.hasLongDashes) {
      const end = word.includes('=') ? word.indexOf('=') : word.length;
      const option = options.get(word.slice(0, end));
      return option === undefined
        ? 0
        : this.#takeValue(option, end < word.length ? word.slice(end + 1) : undefined, next);
    }
    for (let letter = 1; letter < word.length; letter += 1) {
      const option = options.get(`-${word[letter]}`);
      if (option === undefined) return 0;
      const attached = letter + 1 < word.length ? word.slice(letter + 1) : undefined;
      if (option.value !== undefined) return this.#takeValue(option, attached, next);
    }
    return 1;
  }

  #takeValue({ value, isAttached }: OptionRow, attached: string | undefined, next: string | undefined): number {
    this.#hasPattern ||= value === 'pattern';
    if (attached !== undefined) return this.#accept(value, attached) ? 1 : 0;
    if (value === undefined || isAttached) return 1;
    // A value that looks like an option may be one.
    if (next === undefined || (next.startsWith('-') && value !== 'number')) return 0;
    return this.#accept(value, next) ? 2 : 0;
  }

  #accept(kind: string | undefined, word: string): boolean {
    if (kind === undefined) return false;
    const pattern = KINDS[kind];
    if (!(pattern === undefined ? kind.split('|').includes(word) : pattern.test(word))) return false;
    if (FILES.has(kind)) this.#files.push({ word, kind });
    if (kind === 'here') this.#here.push(word);
    if (TASKS.has(kind)) this.#isTask = true;
    return true;
  }
}

/** `python3.12` is `python`. */
function findStart(program: string): Node | undefined {
  const { children } = loadTable();
  const name = toBareName(program);
  const unversioned = /\d$/.test(name) ? trimTrailing(name, '0123456789.').replace(/-$/, '') : name;
  return children.get(name) ?? children.get(unversioned);
}

let table: Node | undefined;

function loadTable(): Node {
  if (table !== undefined) return table;
  table = { name: '', children: new Map() };
  for (const family of FAMILIES) {
    for (const [words, text] of Object.entries(family.rows)) {
      const row = parseRow(text, family);
      addRow(table, words, row);
      for (const starter of family.via ?? []) addRow(table, `${starter} ${words}`, row, words);
    }
  }
  return table;
}

function addRow(start: Node, words: string, row: Row, alias?: string): void {
  let nodes: readonly Node[] = [start];
  for (const step of words.split(' ')) {
    const groups = step.split(',').map((group) => group.split('|'));
    nodes = nodes.flatMap((node) =>
      groups.flatMap((names) => names.map((name) => findChild(node, name, names[0] as string))),
    );
  }
  for (const node of nodes) {
    node.row = row;
    node.alias = alias?.split(' ').map((step) => step.split('|', 1)[0] as string);
  }
}

function findChild({ children }: Node, word: string, name: string): Node {
  const child = children.get(word) ?? { name, children: new Map() };
  children.set(word, child);
  return child;
}

function parseRow(text: string, family: Family): Row {
  const [operands = '', options = ''] = text.split(/: ?/, 2);
  const [early = '', later] = options.split(/(?:^| )--(?: |$)/);
  return {
    operands: operands.split(' '),
    options: parseOptionRows(early),
    hasSeparator: family.hasSeparator === true || later !== undefined,
    later: parseOptionRows(later ?? ''),
    hasLongDashes: family.hasLongDashes === true,
    movesFiles: family.movesFiles === true,
  };
}

function parseOptionRows(text: string): ReadonlyMap<string, OptionRow> {
  const options = text.match(/\S+/g) ?? [];
  return new Map(
    options.map((option) => {
      const [name = '', value] = option.split('=', 2);
      return [name, { value: value?.replace('?', ''), isAttached: value?.startsWith('?') ?? false }];
    }),
  );
}
