import type { App } from '../../core/app.ts';
import type { Flag, Heading, Program } from '../../core/flag.ts';

/** These flags, with the heading that help shows them under, and what else they have in common. */
export function under<const Flags extends readonly Flag[]>(
  heading: Heading,
  flags: Flags,
  common: Pick<Flag, 'hasNoEffectWith'> = {},
): Flags {
  // Their types are those of the rows as they are written.
  return flags.map((flag) => ({ ...common, ...flag, heading })) as unknown as Flags;
}

type Camel<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text;

type ValueOf<F extends Flag> = GivenValue<F> | (F extends { readonly isOptional: true } ? true : never);

type GivenValue<F extends Flag> = F extends { readonly value: string }
  ? F extends { readonly repeatable: true }
    ? readonly string[]
    : F extends { readonly kind: string }
      ? number
      : F extends { readonly choices: readonly (infer Choice)[] }
        ? Choice
        : string
  : boolean;

type OptionsOf<Flags extends readonly Flag[]> = {
  readonly [F in Flags[number] as Camel<F['long']>]?: ValueOf<F>;
} & { readonly args: readonly string[] };

interface CommandModule<Options> {
  /** Runs to the end and returns the exit code; throws AppError. */
  readonly run: (options: Options, app: App) => Promise<number>;
}

/** Refused with the reason; shown in the docs only. */
export interface RefusedFlag extends Pick<Flag, 'long' | 'short' | 'aliases' | 'value' | 'isOptional' | 'isOfficial'> {
  /** The programs that have it; absent: the official CLI. */
  readonly of?: readonly Program[];
  readonly why: string;
  readonly hint: string;
  /** It is accepted beside one of these, such as `-o stream-json`: then it asks for what gmn does anyway. */
  readonly unless?: readonly string[];
}

/** Accepted without effect, since gmn does anyway what it asks for; shown in the docs only. */
export interface IgnoredFlag extends Pick<Flag, 'long'> {
  readonly of: readonly Program[];
  readonly why: string;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Positional arguments as shown in help, e.g. `[prompt...]`; absent: none are accepted. */
  readonly args?: string;
  readonly flags: readonly Flag[];
  /** Flags of other programs that gmn could only pretend to support. */
  readonly refused?: readonly RefusedFlag[];
  /** Flags of other programs that ask for what gmn does anyway. */
  readonly ignored?: readonly IgnoredFlag[];
  /** The flags used most, each in a few words: `-h` shows these alone, `--help` all. */
  readonly essentials?: Readonly<Record<string, string>>;
  /** True once the words after these belong to another program; no flags are parsed from there on. */
  readonly endsFlags?: (words: readonly string[]) => boolean;
  readonly examples?: readonly (readonly [command: string, meaning: string])[];
  readonly subcommands?: readonly Command[];
  /** The subcommand that runs if none is named: it shows what there is. */
  readonly defaultSubcommand?: string;
  readonly run?: (options: Readonly<Record<string, unknown>>, app: App) => Promise<number>;
}

/** Flags that configure the App itself; no command needs to read them. */
type AppOption = 'color' | 'noColor' | 'cwd' | 'debug' | 'debugFile' | 'replay' | 'match' | 'ignore';

/** Flags of a command that its module has no option for, and would silently ignore. There must be none. */
type Unread<Flags extends readonly Flag[], Options> = Exclude<
  keyof OptionsOf<Flags>,
  keyof Options | AppOption | 'args'
>;

interface CommandSpec<Flags extends readonly Flag[], Options> extends Omit<Command, 'run' | 'flags'> {
  readonly flags: Flags;
  readonly load?: () => Promise<CommandModule<Options>>;
}

/**
 * Ties a command's flags to the options of its module: a mismatch, or a flag the module does not know, does not
 * compile.
 */
export function command<const Flags extends readonly Flag[], Options>(
  spec: CommandSpec<Flags, Options> &
    (OptionsOf<Flags> extends Options ? unknown : { readonly mismatch: Options }) &
    ([Unread<Flags, Options>] extends [never] ? unknown : { readonly unread: Unread<Flags, Options> }),
): Command {
  const { load, ...rest }: CommandSpec<Flags, Options> = spec;
  if (load === undefined) return rest;
  // Safe: the signature has compared the types.
  return { ...rest, run: async (options, app) => (await load()).run(options as Options, app) };
}
