import type { Flag } from '../core/flag.ts';

/** A piece of a command line; what it means is for the reader of the pieces to say. */
type Piece<Named> =
  | { readonly kind: 'word'; readonly text: string }
  /** `name` is as typed: `--model`, `-m`. Without a value it is a switch, or its value is missing. */
  | {
      readonly kind: 'flag';
      readonly name: string;
      readonly flag: Named;
      readonly value: string | undefined;
      /** Which word of the line it is in. */
      readonly at: number;
    }
  | { readonly kind: 'unknown' }
  /** After `--`: words, whatever they look like. */
  | { readonly kind: 'rest'; readonly words: readonly string[] };

/**
 * Cuts a line into words and flags, as commander does: `--flag value`, `--flag=value`, `-f value`, `-fvalue`, `-qf value`, and `--`. `find`
 * may know other flags after a word than before it; `takes` says whether a flag has a value, or may have one that does not look like a flag,
 * or one of a list.
 */
export function* readWords<Named>(
  argv: readonly string[],
  find: (name: string) => Named | undefined,
  takes: (flag: Named) => Taking,
): Generator<Piece<Named>, void> {
  for (let index = 0; index < argv.length; index += 1) {
    const text = argv[index] ?? '';
    if (text === '--') return yield { kind: 'rest', words: argv.slice(index + 1) };
    if (text === '-' || !text.startsWith('-')) yield { kind: 'word', text };
    else {
      for (const { name, joined } of cutFlags(text)) {
        const flag = find(name);
        if (flag === undefined) {
          yield { kind: 'unknown' };
          break;
        }
        const taking = takes(flag);
        const isLetter = taking === false && !name.startsWith('--');
        const isNext = taking !== false && joined === undefined;
        const at = index;
        if (isNext && isValue(taking, argv[index + 1])) {
          index += 1;
          yield { kind: 'flag', name, flag, value: argv[index], at };
        } else yield { kind: 'flag', name, flag, value: isLetter ? undefined : joined, at };
        if (!isLetter) break;
      }
    }
  }
}

type Taking = boolean | 'maybe' | readonly string[];

function isValue(taking: Taking, next: string | undefined): boolean {
  if (typeof taking === 'object') return next !== undefined && taking.includes(next);
  return !(taking === 'maybe' && next?.startsWith('-'));
}

/** `--model=pro` is one flag; `-qm` is as many as there are letters, and what follows a letter may be its value. */
function* cutFlags(text: string): Generator<{ readonly name: string; readonly joined: string | undefined }, void> {
  if (text.startsWith('--')) {
    const equals = text.indexOf('=');
    yield equals < 0
      ? { name: text, joined: undefined }
      : { name: text.slice(0, equals), joined: text.slice(equals + 1) };
    return;
  }
  for (let at = 1; at < text.length; at += 1)
    yield { name: `-${text[at]}`, joined: at + 1 < text.length ? text.slice(at + 1) : undefined };
}

export function matchesFlag({ long, short, aliases = [] }: Flag, word: string): boolean {
  if (!word.startsWith('--')) return short !== undefined && word === `-${short}`;
  return word === `--${long}` || aliases.some((alias) => word === `--${alias}`);
}

/** One that may lack its value, and has a list of them, takes no other word: that may be the prompt. */
export function takesValue({ value, isOptional, preset, choices, refusedValues = [] }: Flag): Taking {
  if (value !== undefined && preset !== undefined && choices !== undefined) return [...choices, ...refusedValues];
  return value !== undefined && (isOptional || preset !== undefined ? 'maybe' : true);
}
