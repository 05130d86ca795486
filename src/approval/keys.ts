import { formatCommandWords } from '../core/permission.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Preview, ToolCall } from '../core/tool.ts';
import { CONTINUED, INTERRUPT, OTHER_KEY } from '../platform/terminal/tty.ts';
import type { Offer, Reach, Scope } from './grants.ts';

export interface QuestionItem {
  readonly name: string;
  readonly preview: Preview;
  /** What would run. Absent: it is no tool call. */
  readonly call?: ProposedCall;
}

export interface ProposedCall extends ToolCall {
  /** The real path of a file that is asked about in every mode: it may hold secrets, instructs models or is run by other programs. */
  readonly guarded?: string;
}

export interface Question {
  readonly items: readonly QuestionItem[];
  /** What the person can allow beyond this. Absent: only yes and no are offered. */
  readonly offer?: Offer;
  readonly hasFile: boolean;
  /** Whether what is allowed can be kept for later runs. */
  readonly canKeep?: boolean;
}

/**
 * `stop`: no answer at all. `isInterrupt`: by Ctrl+C, an abort or the end of the terminal. `isKept`: also for later runs in this
 * project.
 */
export type Answer =
  | { readonly kind: 'yes' | 'no' | 'edit' | 'single' }
  | { readonly kind: 'stop'; readonly isInterrupt?: true }
  | { readonly kind: 'grant'; readonly reach: Reach; readonly isKept: boolean }
  | { readonly kind: 'reply'; readonly text: string };

/** What a key does; a reply needs its text first. */
export type Choice =
  | Exclude<Answer, { kind: 'reply' }>
  | { readonly kind: 'reply' }
  | { readonly kind: 'all' }
  | { readonly kind: 'again' }
  | { readonly kind: 'help' }
  | { readonly kind: 'unknown' };

const CHOICES: ReadonlyMap<string, Choice> = new Map<string, Choice>([
  ['y', { kind: 'yes' }],
  ...['n', '\r', '\n', '\u0004'].map((key): [string, Choice] => [key, { kind: 'no' }]),
  ['a', { kind: 'grant', reach: 'scope', isKept: false }],
  ['A', { kind: 'grant', reach: 'scope', isKept: true }],
  ['p', { kind: 'grant', reach: 'prefix', isKept: false }],
  ['P', { kind: 'grant', reach: 'prefix', isKept: true }],
  ['s', { kind: 'grant', reach: 'server', isKept: false }],
  ['S', { kind: 'grant', reach: 'server', isKept: true }],
  ['f', { kind: 'grant', reach: 'file', isKept: false }],
  ['o', { kind: 'single' }],
  ['e', { kind: 'edit' }],
  ['r', { kind: 'reply' }],
  ['d', { kind: 'all' }],
  ...['q', '\u001b'].map((key): [string, Choice] => [key, { kind: 'stop' }]),
  [INTERRUPT, { kind: 'stop', isInterrupt: true }],
  ['?', { kind: 'help' }],
  [CONTINUED, { kind: 'again' }],
  [OTHER_KEY, { kind: 'unknown' }],
]);

/** The keys that answer this question. */
export function listAnswerKeys(question: Question): ReadonlyMap<string, Choice> {
  if (question.offer !== undefined) return new Map([...CHOICES].filter(([, choice]) => isKeyOffered(question, choice)));
  const plain = [...CHOICES].filter(([key, { kind }]) => key !== 'q' && PLAIN_CHOICES.includes(kind));
  // Such an answer may be kept: the end of input is none.
  return new Map<string, Choice>([...plain, ['\u0004', { kind: 'stop' }]]);
}

const PLAIN_CHOICES: readonly Choice['kind'][] = ['yes', 'no', 'stop', 'all', 'again', 'help', 'unknown'];

function isKeyOffered({ items, offer, hasFile, canKeep = false }: Question, choice: Choice): boolean {
  if (choice.kind === 'edit') return items.length === 1;
  if (choice.kind === 'single') return items.length > 1;
  if (choice.kind !== 'grant') return true;
  if (offer?.scope === 'once') return false;
  if (choice.isKept && (!canKeep || offer?.scope === 'call')) return false;
  switch (choice.reach) {
    case 'scope':
      return true;
    case 'prefix':
      return offer?.words !== undefined;
    case 'server':
      return offer?.server !== undefined;
    case 'file':
      return hasFile;
  }
}

export function isApproving({ kind }: Choice): boolean {
  return kind === 'yes' || kind === 'grant';
}

/** What is shown as typed: a control character has no shape. */
export function echoKey(key: string, { kind }: Choice, { offer }: Question): string {
  if (key >= ' ' && kind !== 'again' && kind !== 'unknown') return key;
  if (kind === 'stop' && offer !== undefined) return 'q';
  return kind === 'no' ? 'n' : '';
}

const SCOPE_LABELS: Readonly<Record<Exclude<Scope, 'once'>, string>> = {
  edits: '[a]ll edits',
  tool: '[a]lways this tool',
  hosts: '[a]lways this host',
  command: '[a]lways this command',
  call: '[a]lways this file',
};

/** The keys as the question shows them. `isCut`: not all of the question is in sight, so nothing can be approved yet. */
export function formatKeys(question: Question, isCut: boolean): readonly string[] {
  const { items, offer, hasFile } = question;
  const isDiff = items.every(({ preview }) => preview.kind === 'diff');
  const isGroup = items.length > 1;
  const all = isDiff ? '[d]iff' : '[d] all of it';
  if (offer === undefined) return [isCut ? all : '[y]es', '[N]o'];
  return [
    ...(isCut ? [all, '[N]o'] : [isGroup ? '[y]es to all' : '[y]es', '[N]o', ...formatGrants(offer, hasFile)]),
    isGroup ? '[o]ne by one' : '[e]dit',
    '[r]eply',
    ...(isDiff && !isCut ? [all] : []),
    '[q]uit turn',
    '[?]',
  ];
}

function formatGrants({ scope, words, server }: Offer, hasFile: boolean): readonly string[] {
  if (scope === 'once') return [];
  return [
    SCOPE_LABELS[scope],
    ...(words === undefined ? [] : [`[p] ${formatCommandWords(words)} …`]),
    ...(server === undefined ? [] : [`[s] all tools of ${formatServerName(server)}`]),
    ...(hasFile ? ['[f] always this file'] : []),
  ];
}

const MAX_NAME = 30;

/** A name that could look like other keys is quoted. */
function formatServerName(name: string): string {
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return /^[\w.…-]*$/.test(shown) ? shown : sanitize(JSON.stringify(shown));
}

interface KeyRow {
  readonly keys: string;
  /** The row is for questions with this scope only. */
  readonly scope?: Scope;
  /** One of the keys in `CHOICES`: without it, the row is left out. */
  readonly key: string;
  readonly about: string;
}

function keptRow(capitals: readonly string[]): KeyRow {
  const small = capitals.map((key) => key.toLowerCase());
  const like = small.length === 1 ? small[0] : `${small.slice(0, -1).join(', ')} and ${small.at(-1)}`;
  return {
    keys: capitals.join(', '),
    key: 'A',
    about: `like ${like}, and kept for this project: gmn permissions list`,
  };
}

/** What `?` explains; the table in docs/tools.md is made of these rows. */
export const KEY_ROWS: readonly KeyRow[] = [
  { keys: 'y', key: 'y', about: 'yes: does exactly what is shown, byte for byte' },
  { keys: 'n, Enter', key: 'n', about: 'no; the model learns that you refused' },
  { keys: 'a', key: 'a', scope: 'edits', about: 'yes, and all edits from now on: the mode auto_edit' },
  { keys: 'a', key: 'a', scope: 'command', about: 'yes, and from now on this very command in this directory' },
  { keys: 'a', key: 'a', scope: 'tool', about: 'yes, and from now on every call of this tool' },
  { keys: 'a', key: 'a', scope: 'hosts', about: 'yes, and from now on every page of the hosts that are shown' },
  { keys: 'a', key: 'a', scope: 'call', about: 'yes, and from now on the same for this file' },
  { keys: 'p', key: 'p', about: 'yes, and from now on every command that begins with these words' },
  { keys: 's', key: 's', about: 'yes, and from now on every tool of this MCP server' },
  { keys: 'f', key: 'f', about: 'yes, and from now on changes to this file, under any of its names and with any tool' },
  keptRow(['A', 'P', 'S']),
  { keys: 'e', key: 'e', about: 'opens the command, the new text or the arguments in your editor, and asks again' },
  { keys: 'r', key: 'r', about: 'no, with a line of yours that goes to the model' },
  { keys: 'd', key: 'd', about: 'shows all of it' },
  { keys: 'o', key: 'o', about: 'asks about the changes one by one' },
  { keys: 'q, Esc, Ctrl+C', key: 'q', about: 'stops the turn' },
  { keys: '?', key: '?', about: 'explains the keys' },
];

export function explainKeys(question: Question): readonly string[] {
  const offered = listAnswerKeys(question);
  const rows = KEY_ROWS.filter(
    ({ key, scope = question.offer?.scope }) => offered.has(key) && scope === question.offer?.scope,
  ).map((row) => (row.key === 'A' ? keptRow(row.keys.split(', ').filter((key) => offered.has(key))) : row));
  const width = Math.max(...rows.map(({ keys }) => keys.length));
  return rows.map(({ keys, about }) => `${keys.padEnd(width)}  ${about}`);
}
