import type { Flag } from '../core/flag.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { BUILT_IN_FLAGS, findIdleFlags, formatUsageLines, TOPICS } from './help.ts';
import type { Command } from './table/command.ts';
import { COMMON_FLAGS } from './table/flags.ts';
import { listEnvironment, listExitCodes } from './topics.ts';

/** What other rooms have rows of; the build passes it in. */
interface Facts {
  readonly version: string;
  readonly settings: readonly (readonly [key: string, row: SettingFacts])[];
  readonly formats: Readonly<Record<string, FormatFacts>>;
  readonly tools: readonly ToolFacts[];
  /** The files of docs/schemas, by the name before `.schema.json`. */
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

interface SettingFacts {
  readonly about: string;
  /** What a value must be, in words. */
  readonly expected: string;
  readonly choices?: readonly string[];
  readonly variables?: readonly string[];
  readonly fallback?: JsonValue;
  readonly shortName?: string;
  readonly isForFolders: boolean;
}

interface FormatFacts {
  readonly stdout: string;
  readonly stderr: string;
  readonly use: string;
}

interface ToolFacts {
  readonly name: string;
  readonly officialNames?: readonly string[];
  readonly set: string;
  readonly companionOf?: string;
  readonly about: string;
  readonly effect: string;
  readonly input: { readonly properties: object; readonly required?: readonly string[] };
  /** What happens to a call, by approval mode. */
  readonly approval: Readonly<Record<string, string>>;
}

/** What `gmn help --json` prints: everything that the tables know, for programs. Its schema is docs/schemas/help.schema.json. */
export function describeProgram(root: Command, facts: Facts): string {
  return formatDocument({
    version: facts.version,
    summary: root.summary,
    globalFlags: GLOBAL_FLAGS,
    commands: describeCommands(root, root, root.name),
    topics: Object.entries(TOPICS).map(([name, summary]) => ({ name, summary })),
    environment: describeEnvironment(root),
    settings: facts.settings.map(([key, row]) => describeSetting(key, row)),
    tools: facts.tools.map(describeTool),
    exitCodes: listExitCodes(),
    outputFormats: Object.entries(facts.formats).map(([name, { stdout, stderr, use }]) => {
      return { name, stdout, stderr, use, schema: Object.hasOwn(facts.schemas, name) ? name : undefined };
    }),
    schemas: facts.schemas,
  });
}

/** The part of the document about the command at `path` and those below it. */
export function selectCommand(document: string, path: string): string {
  const { version, globalFlags, commands }: ReadonlyDocument = JSON.parse(document);
  const isWanted = (command: { readonly path: string }): boolean => `${command.path} `.startsWith(`${path} `);
  return formatDocument({ version, globalFlags, commands: commands.filter(isWanted) });
}

interface ReadonlyDocument {
  readonly version: string;
  readonly globalFlags: readonly JsonObject[];
  readonly commands: readonly (JsonObject & { readonly path: string })[];
}

/** One line for each row: short for a model, and still good for grep. */
function formatDocument(document: Readonly<Record<string, unknown>>): string {
  const sections = Object.entries(document).map(([key, value]) => `${JSON.stringify(key)}:${formatEntries(value)}`);
  return `{\n${sections.join(',\n')}\n}\n`;
}

function formatEntries(value: unknown): string {
  if (Array.isArray(value)) return `[\n${value.map((row) => JSON.stringify(row)).join(',\n')}\n]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{\n${Object.entries(value)
    .map(([key, row]) => `${JSON.stringify(key)}:${JSON.stringify(row)}`)
    .join(',\n')}\n}`;
}

function describeCommands(command: Command, root: Command, path: string): readonly object[] {
  const children = command.subcommands ?? [];
  const flags = command.flags.map((flag) => toFlagEntry(flag, command.flags, command === root));
  const globals = new Set(GLOBAL_FLAGS.map((flag) => JSON.stringify(flag)));
  return [
    {
      path,
      summary: command.summary,
      usage: formatUsageLines(command, path),
      arguments: listUnlessEmpty(describeArguments(command.args)),
      subcommands: listUnlessEmpty(children.map(({ name }) => name)),
      alone: command.defaultSubcommand,
      flags: flags.filter((flag) => !globals.has(JSON.stringify(flag))),
      globalFlagsWithoutEffect: listUnlessEmpty(findIdleFlags(command).map(({ long }) => `--${long}`)),
      flagsEndAtProgram: command.endsFlags === undefined ? undefined : true,
      examples: command.examples?.map(([line, meaning]) => ({ line, meaning })),
    },
    ...children.flatMap((child) => describeCommands(child, root, `${path} ${child.name}`)),
  ];
}

/** `<session> [file...]`: a session, which is required, and any number of files. */
function describeArguments(args = ''): readonly object[] {
  return [...args.matchAll(/([<[])(.+?)(\.{3})?[>\]]/g)].map(([, bracket, name, dots]) => ({
    name,
    required: bracket === '<',
    repeatable: dots !== undefined,
  }));
}

function toFlagEntry(flag: Flag, siblings: readonly Flag[], isChecked: boolean): object {
  const { long, short, aliases = [], help, value, kind = 'string', isOptional, preset, needs } = flag;
  const isPossible = (line: string): boolean =>
    listFlagNames(line).every((name) => siblings.some((s) => s.long === name));
  const noEffectWith = listUnlessEmpty((flag.hasNoEffectWith ?? []).filter(isPossible));
  const canBeIdle = isChecked && (needs !== undefined || noEffectWith !== undefined);
  return {
    names: [...(short === undefined ? [] : [`-${short}`]), ...[long, ...aliases].map((name) => `--${name}`)],
    help,
    value,
    type: value === undefined ? undefined : kind,
    valueIsOptional: isOptional || preset !== undefined ? true : undefined,
    choices: flag.choices,
    suggestions: flag.suggestions,
    default: flag.fallback,
    env: flag.env,
    repeatable: flag.repeatable,
    needs,
    conflicts: listUnlessEmpty([...(flag.conflicts ?? []).filter(isPossible), ...listOpponents(flag, siblings)]),
    noEffectWith,
    harmless: noEffectWith && flag.harmless,
    withoutEffect: canBeIdle ? (flag.isOfficial ? 'notice' : 'error') : undefined,
  };
}

/** A row names the flags that it cannot stand beside; theirs say nothing about it. */
function listOpponents({ long }: Flag, siblings: readonly Flag[]): readonly string[] {
  const others = siblings.filter(({ conflicts }) => conflicts?.includes(`--${long}`));
  return others.flatMap((other) => {
    const values = other.harmless && other.choices?.filter((choice) => !other.harmless?.includes(choice));
    return values?.map((value) => `--${other.long} ${value}`) ?? [`--${other.long}`];
  });
}

const GLOBAL_FLAGS: readonly object[] = [...COMMON_FLAGS, ...BUILT_IN_FLAGS].map((flag) =>
  toFlagEntry(flag, COMMON_FLAGS, false),
);

/** The flags of a line such as `--output-dialect gemini -o stream-json`. */
function listFlagNames(line: string): readonly string[] {
  const words = line.replace('-o ', '--output-format ').split(' ');
  return words.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
}

function describeEnvironment(root: Command): readonly object[] {
  return listEnvironment(root).flatMap(([group, variables]) =>
    variables.flatMap(({ names, meaning, defaults = [], flag }) =>
      names.map((name, index) => ({ name, group, meaning, default: defaults[index], flag })),
    ),
  );
}

function describeSetting(key: string, row: SettingFacts): object {
  const { about, expected, choices, fallback, shortName, variables, isForFolders } = row;
  return {
    key,
    shortName,
    about: stripMarkdown(about),
    expected,
    choices,
    default: fallback,
    env: variables,
    folderMaySet: isForFolders,
  };
}

/** Pages that a text refers to are not here. */
function stripMarkdown(text: string): string {
  return text
    .replace(/; see (?:below|\[[^\]]*\]\([^)]*\))$/, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');
}

function describeTool({ name, officialNames, set, companionOf, about, effect, approval, input }: ToolFacts): object {
  const { properties, required } = input;
  const parameters = { type: 'object', properties, required };
  return {
    name,
    officialNames,
    set,
    offeredWith: companionOf,
    about: stripMarkdown(about),
    effect,
    approval,
    parameters,
  };
}

function listUnlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
