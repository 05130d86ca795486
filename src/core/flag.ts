import { AppError } from './error.ts';

/** What a run may lack that a flag is about; the verb says which of them there are. */
export type Need = 'tools' | 'template' | '--verify' | '--input-format stream-json';

/**
 * One flag, described once: parsing, checks, help, completion, the manual page and the docs all use this. It is data that
 * survives JSON. A flag is named as it is typed, with its value if only that one counts: `--dry-run`, `-o json`.
 */
export interface Flag {
  readonly long: string;
  readonly short?: string;
  readonly aliases?: readonly string[];
  /** What other programs call it. */
  readonly otherNames?: readonly OtherName[];
  /** As the last word of a line it changes nothing: claude's `-p`, whose prompt is the positional one, or stdin. */
  readonly mayLackValueAtEnd?: true;
  readonly help: string;
  /** Where help shows it, if the command has many flags. */
  readonly heading?: Heading;
  /** The placeholder in help. Absent: the flag is a switch. */
  readonly value?: string;
  /** The value may be omitted, and is then `true`. */
  readonly isOptional?: true;
  /** The value may be omitted, and is then this. */
  readonly preset?: string;
  readonly kind?: 'duration' | 'number' | 'integer';
  readonly choices?: readonly string[];
  /** Values of this name in other programs: refused as such, so that they are not read as the prompt. */
  readonly refusedValues?: readonly string[];
  /** What to do instead, for a value that is none of the choices. */
  readonly wrongValueHint?: string;
  /** Words that completion offers although others are accepted too. */
  readonly suggestions?: readonly string[];
  readonly repeatable?: true;
  readonly env?: string;
  /** Settings read the variable, so that what was typed can be told from it. */
  readonly isSetting?: true;
  /** Shown in help as the default; the parser does not apply it. */
  readonly fallback?: string;
  /**
   * The official CLI has it, and a wrapper may pass it to every run: where it has no effect, a notice says so. For any other flag that
   * is an error. A switch of this kind may be written `--x=true`, `--x=false` and `--no-x`.
   */
  readonly isOfficial?: true;
  /** The first of these must be there for it to mean something; any of the others will do. */
  readonly needs?: readonly Need[];
  /** Flags that say the opposite: always an error. */
  readonly conflicts?: readonly string[];
  /**
   * It has no effect in runs with these. Not listed is a flag whose promise holds anyway (`--no-render` with `-o json`), nor one that
   * `--dry-run` ignores only because nothing is sent: a preview should accept the same flags as the run.
   */
  readonly hasNoEffectWith?: readonly string[];
  /** Values that ask for what such a run does anyway. */
  readonly harmless?: readonly string[];
  /** The flag runs another command, which takes these flags and ignores those, with a notice. */
  readonly handsOver?: { readonly takes: readonly string[]; readonly ignores: readonly string[] };
}

/** A name of a flag in other programs. It is accepted, and shown in docs/migration.md only: help and completion stay short. */
export interface OtherName {
  readonly long: string;
  readonly short?: string;
  readonly of: readonly Program[];
  /** It is a switch, and stands for this value: beside another value of the flag it is an error. */
  readonly fixedValue?: string;
  /** What its values are here; it takes no others. */
  readonly values?: Readonly<Record<string, string>>;
  /** What stands before its value here. */
  readonly prefix?: string;
  /** Options that it sets besides, where they are not given. */
  readonly alsoSets?: Readonly<Record<string, string>>;
}

export type Program = 'agy' | 'claude' | 'codex' | 'gemini' | 'pi';

/** The flag under each of its names, as a line may have them: one that stands for a value takes none. */
export function listSpellings(flag: Flag): readonly Flag[] {
  const others = (flag.otherNames ?? []).map(({ long, short, fixedValue }) => {
    const named = { ...flag, long, short, aliases: undefined, otherNames: undefined };
    return fixedValue === undefined ? named : { ...named, value: undefined };
  });
  return [flag, ...others];
}

/** In the order of help; a flag without one is under the last. */
export const HEADINGS = [
  'Model',
  'Prompt and input',
  'Rows',
  'Answer',
  'Output',
  'Tools',
  'Sessions',
  'General',
] as const;

export type Heading = (typeof HEADINGS)[number];

type Options = Readonly<Record<string, unknown>>;

/** `output-format` → `outputFormat`. */
export function toOptionKey({ long }: Pick<Flag, 'long'>): string {
  return long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Throws AppError `usage` for two flags that say the opposite; `options` has what was typed only. */
export function checkConflicts(typed: readonly Flag[], options: Options): void {
  for (const flag of typed) {
    const other = isHarmless(flag, options) ? undefined : flag.conflicts?.find((line) => isGiven(line, options));
    if (other !== undefined) throw combinationError(formatTyped(flag), other);
  }
}

/**
 * Notices about flags of the official CLI that have no effect in this run. Throws AppError `usage` for any other flag without effect.
 * `needs` says what there is, and what to add if there is not.
 */
export function checkEffects(
  typed: readonly Flag[],
  options: Options,
  needs: Readonly<Record<Need, { readonly isMet: boolean; readonly add: string }>>,
): readonly string[] {
  const notices: string[] = [];
  for (const flag of typed.filter((each) => !isHarmless(each, options))) {
    const [need] = flag.needs?.some((name) => needs[name].isMet) ? [] : (flag.needs ?? []);
    const others = flag.hasNoEffectWith?.filter((line) => isGiven(line, options)) ?? [];
    const [other] = others;
    if (flag.isOfficial) {
      const when = [...others.map((line) => `with ${line}`), ...(need === undefined ? [] : [`without ${need}`])];
      notices.push(...when.map((words) => `${formatTyped(flag)} has no effect ${words}`));
    } else if (other !== undefined) throw combinationError(formatTyped(flag), other);
    else if (need !== undefined) {
      throw new AppError('usage', `${formatTyped(flag)} means nothing without ${need}`, {
        hint: `Add ${needs[need].add}; or leave it out.`,
      });
    }
  }
  return notices;
}

/** Sorts out what was typed beside a flag that runs another command: what has no effect there, and the first that is an error. */
export function splitHandover(
  flag: Flag,
  typed: readonly Flag[],
): { readonly idle: readonly Flag[]; readonly refused: Flag | undefined } {
  const { takes = [], ignores = [] } = flag.handsOver ?? {};
  const others = typed.filter(({ long }) => long !== flag.long && !takes.includes(long));
  const isIdle = ({ long, isOfficial, handsOver }: Flag): boolean =>
    ignores.includes(long) || (isOfficial === true && handsOver === undefined);
  return { idle: others.filter(isIdle), refused: others.find((other) => !isIdle(other)) };
}

/** Whether the options hold what a line such as `--dry-run` or `--output-dialect gemini -o stream-json` says. */
export function isGiven(line: string, options: Options): boolean {
  const flags = line.replace('-o ', '--output-format ').split(/ (?=-)/);
  return flags.every((text) => {
    const [name = '', value] = text.split(' ');
    const given = options[toOptionKey({ long: name.slice(2) })];
    return value === undefined ? given !== undefined && given !== false : given === value;
  });
}

function isHarmless(flag: Flag, options: Options): boolean {
  return flag.harmless?.some((value) => value === options[toOptionKey(flag)]) ?? false;
}

export function combinationError(flag: string, other: string): AppError {
  // The format may come from a variable or the settings.
  const hint = other.startsWith('-o') ? 'Use one of them, e.g. with -o text.' : 'Use one of them.';
  return new AppError('usage', `${flag} cannot be combined with ${other}`, { hint });
}

/** With its value, if there is only one that matters. */
function formatTyped({ long, choices = [], harmless }: Flag): string {
  const [value, ...others] = harmless === undefined ? [] : choices.filter((choice) => !harmless.includes(choice));
  return value === undefined || others.length > 0 ? `--${long}` : `--${long} ${value}`;
}

/** One completion of a word, and what it is in a few words. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}
