import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import type { Invocation, Options, Outline } from './invocation.ts';
import type { Flag } from './table/command.ts';
import { parseEnvironment, parseFlagValue, toOptionKey } from './values.ts';

/**
 * The invocation of a one-shot that is written in the plain way: words, `-m value`, `--model value`, `--model=value` and
 * switches. Undefined for every other line, and for every wrong one: commander reads those, and says what is wrong. Needs
 * neither the command table nor commander, whose loading costs as much as half a start of Node.
 */
export function matchPromptLine(outline: Outline, argv: readonly string[], env: Env): Invocation | undefined {
  if (argv.length === 0) return undefined;
  try {
    const typed = parseWords(outline, argv);
    if (typed === undefined) return undefined;
    return {
      kind: 'run',
      path: 'gmn',
      run: async (options, app) => (await import('../commands/prompt/prompt.ts')).run(options as Options, app),
      options: {
        ...(outline.variables.some((name) => env[name]) ? parseEnvironment(outline.flags(), env) : {}),
        ...typed,
      },
    };
  } catch (thrown) {
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

function parseWords({ commands, flags }: Outline, argv: readonly string[]): Options | undefined {
  const options: Record<string, unknown> = {};
  const args: string[] = [];
  let known: readonly Flag[] | undefined;
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) {
      if (args.length === 0 && Object.hasOwn(commands, word)) return undefined;
      args.push(word);
      continue;
    }
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const name = equals < 0 ? word : word.slice(0, equals);
    known ??= flags();
    const flag = known.find((each) => matchesFlag(each, name));
    if (flag === undefined || (flag.value === undefined && equals >= 0)) return undefined;
    const key = toOptionKey(flag);
    if (flag.value === undefined) {
      options[key] = true;
      continue;
    }
    if (equals < 0) index += 1;
    const text = equals < 0 ? argv[index] : word.slice(equals + 1);
    // A value that looks like a flag may be a flag whose value is missing.
    if (text === undefined || (equals < 0 && text.startsWith('-'))) return undefined;
    const value = parseFlagValue(flag, text, { flag: name });
    const before = options[key];
    options[key] = flag.repeatable ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  return { ...options, args };
}

function matchesFlag({ long, short, aliases = [] }: Flag, word: string): boolean {
  if (!word.startsWith('--')) return short !== undefined && word === `-${short}`;
  return word === `--${long}` || aliases.some((alias) => word === `--${alias}`);
}
