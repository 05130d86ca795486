import type { App } from '../../core/app.ts';

/** One flag, described once: parsing, help, completion, the manual page and the docs all use this. */
export interface Flag {
  readonly long: string;
  readonly short?: string;
  readonly aliases?: readonly string[];
  readonly help: string;
  /** The placeholder in help. Absent: the flag is a switch. */
  readonly value?: string;
  /** The value may be omitted, and is then `true`. */
  readonly isOptional?: true;
  /** The value may be omitted, and is then this. */
  readonly preset?: string;
  readonly kind?: 'duration' | 'number' | 'integer';
  readonly choices?: readonly string[];
  /** Words that completion offers although others are accepted too. */
  readonly suggestions?: readonly string[];
  readonly repeatable?: true;
  readonly env?: string;
  /** Settings read the variable, so that what was typed can be told from it. */
  readonly isSetting?: true;
  /** Shown in help as the default; the parser does not apply it. */
  readonly fallback?: string;
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

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Positional arguments as shown in help, e.g. `[prompt...]`; absent: none are accepted. */
  readonly args?: string;
  readonly flags: readonly Flag[];
  /** The flags used most, each in a few words: `-h` shows these alone, `--help` all. */
  readonly essentials?: Readonly<Record<string, string>>;
  /** True once the words after these belong to another program; no flags are parsed from there on. */
  readonly endsFlags?: (words: readonly string[]) => boolean;
  readonly examples?: readonly (readonly [command: string, meaning: string])[];
  readonly subcommands?: readonly Command[];
  readonly run?: (options: Readonly<Record<string, unknown>>, app: App) => Promise<number>;
}

/** Flags that configure the App itself; no command needs to read them. */
type AppOption = 'color' | 'noColor' | 'cwd' | 'debug' | 'debugFile';

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
