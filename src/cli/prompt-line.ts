import { AppError } from '../core/error.ts';
import { checkConflicts, type Flag, toOptionKey } from '../core/flag.ts';
import type { Env } from '../core/io.ts';
import type { Invocation, Options, Outline } from './invocation.ts';
import { parseEnvironment, parseFlagValue } from './values.ts';
import { matchesFlag, readWords, takesValue } from './words.ts';

/**
 * The invocation of a one-shot: words and its flags. Undefined for every other line, and for every wrong one: commander reads those, and
 * says what is wrong. Needs neither the command table nor commander: docs/dev/decisions/0002-build-and-code-cache.md has what that saves.
 */
export function matchPromptLine(outline: Outline, argv: readonly string[], env: Env): Invocation | undefined {
  if (argv.length === 0) return undefined;
  try {
    const typed = parseWords(outline, argv);
    if (typed === undefined) return undefined;
    const hasVariables = outline.variables.some((name) => env[name]);
    return {
      kind: 'run',
      path: 'gmn',
      run: async (options, app) => (await import('../commands/prompt/prompt.ts')).run(options as Options, app),
      options: hasVariables ? { ...parseEnvironment(outline.flags(), env), ...typed.options } : typed.options,
      typedFlags: typed.flags,
    };
  } catch (thrown) {
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

interface TypedLine {
  readonly options: Options;
  readonly flags: readonly Flag[];
}

function parseWords({ commands, flags }: Outline, argv: readonly string[]): TypedLine | undefined {
  const options: Record<string, unknown> = {};
  const args: string[] = [];
  let known: readonly Flag[] | undefined;
  const find = (name: string): Flag | undefined => {
    known ??= flags();
    return known.find((flag) => matchesFlag(flag, name));
  };
  for (const piece of readWords(argv, find, takesValue)) {
    if (piece.kind === 'unknown') return undefined;
    if (piece.kind === 'rest') args.push(...piece.words);
    else if (piece.kind === 'word') {
      if (args.length === 0 && Object.hasOwn(commands, piece.text)) return undefined;
      args.push(piece.text);
    } else {
      const { flag, name, value } = piece;
      if ((flag.value === undefined) !== (value === undefined)) return undefined;
      const key = toOptionKey(flag);
      const given = value === undefined ? true : parseFlagValue(flag, value, { flag: name });
      const before = options[key];
      options[key] = flag.repeatable ? [...(Array.isArray(before) ? before : []), given] : given;
    }
  }
  const typed = known?.filter((flag) => Object.hasOwn(options, toOptionKey(flag))) ?? [];
  checkConflicts(typed, options);
  return { options: { ...options, args }, flags: typed };
}
