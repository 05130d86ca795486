import type { Candidate } from '../../core/flag.ts';
import { readWords } from '../words.ts';
import type { ListName, PlannedCommand, PlannedFlag, Values } from './plan.ts';

/** What may stand where the cursor is. */
export interface Completion {
  /** Of the word that is typed, what precedes the value: `--flag=`, the `@` of a mention and what is before it, or nothing. */
  readonly head: string;
  /** The beginning of the value, as it is typed. */
  readonly typed: string;
  readonly candidates: readonly Candidate[];
  /** Candidates which only files know; `before` is the last word that is no flag. */
  readonly list?: { readonly name: ListName; readonly before: string };
  /** What the shell adds itself; `otherwise-files` where no candidate fits. */
  readonly paths: 'files' | 'directories' | 'otherwise-files' | 'none';
}

/** `words` are those before the one that is typed, without `gmn`. */
export function resolveCompletion(
  plan: readonly PlannedCommand[],
  words: readonly string[],
  typed: string,
): Completion {
  const nothing: Completion = { head: '', typed, candidates: [], paths: 'none' };
  let here = findPlanned(plan, 'gmn');
  let pending: Values | undefined;
  const args: string[] = [];
  const find = (name: string): PlannedFlag | undefined => findFlagNamed(here, name);
  for (const piece of readWords(words, find, ({ values }) => values !== undefined)) {
    if (piece.kind === 'rest') return nothing;
    if (piece.kind === 'flag') pending = piece.value === undefined ? piece.flag.values : undefined;
    if (piece.kind !== 'word') continue;
    const child = args.length === 0 ? findPlanned(plan, `${here?.path} ${piece.text}`) : undefined;
    if (child !== undefined) here = child;
    else {
      args.push(piece.text);
      // What follows is for the program of this name.
      if (findWordValues(here, args.length).kind === 'rest' && !/^https?:\/\//.test(piece.text))
        return { ...nothing, paths: 'files' };
    }
  }
  const before = args.at(-1) ?? '';
  if (pending !== undefined) return { ...nothing, ...offerValues(pending, before, typed) };
  const [head, name] = /^(--[^=\s]+)=/.exec(typed) ?? [];
  if (head !== undefined && name !== undefined) {
    const values = findFlagNamed(here, name)?.values;
    const value = typed.slice(head.length);
    const found = values === undefined ? {} : offerValues(values, before, value);
    return { ...nothing, typed: value, ...found, head: `${head}${found.head ?? ''}` };
  }
  if (typed.startsWith('-')) {
    const flags = here?.flags ?? [];
    return {
      ...nothing,
      candidates: flags.flatMap(({ names, help }) => names.map((flag) => ({ value: flag, about: help }))),
    };
  }
  const found: Completion = { ...nothing, ...offerValues(findWordValues(here, args.length), before, typed) };
  if (args.length > 0) return found;
  const commands = (here?.commands ?? []).map(({ name: value, summary }) => ({ value, about: summary }));
  return { ...found, candidates: [...commands, ...found.candidates] };
}

function findPlanned(plan: readonly PlannedCommand[], path: string): PlannedCommand | undefined {
  return plan.find((command) => command.path === path);
}

function findFlagNamed(here: PlannedCommand | undefined, name: string): PlannedFlag | undefined {
  return here?.flags.find(({ names }) => names.includes(name));
}

function findWordValues(here: PlannedCommand | undefined, position: number): Values {
  const words = here?.words ?? [];
  return words[here?.repeats ? Math.min(position, words.length - 1) : position] ?? { kind: 'free' };
}

function offerValues(values: Values, before: string, typed: string): Partial<Completion> {
  switch (values.kind) {
    case 'text':
      return offerMention(typed);
    case 'words':
      return { candidates: values.words.map((value) => ({ value, about: '' })) };
    case 'ask':
      return {
        list: { name: values.what, before },
        paths: values.what === 'templates' ? 'otherwise-files' : 'none',
      };
    case 'files':
    case 'directories':
      return { paths: values.kind };
    default:
      return {};
  }
}

/** The path of the `@path` that the text ends with, if it does. */
function offerMention(typed: string): Partial<Completion> {
  const [, head, path] = /^((?:[\s\S]*\s|["'])?@)((?:\\[\s\S]|[^\s\\])*)$/.exec(typed) ?? [];
  return head === undefined ? {} : { head, typed: path, paths: 'files' };
}
