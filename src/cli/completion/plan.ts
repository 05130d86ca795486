import type { Flag } from '../../core/flag.ts';
import { BUILT_IN_FLAGS, TOPICS } from '../help.ts';
import type { Command } from '../table/command.ts';
import { SCRIPTS } from './script.ts';

export interface PlannedFlag {
  readonly names: readonly string[];
  readonly help: string;
  /** Absent: the flag is a switch. */
  readonly values?: Values;
}

export interface PlannedCommand {
  /** As it is typed: `gmn auth status`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly PlannedFlag[];
  readonly words: readonly Values[];
  readonly repeats: boolean;
}

/** Made by the build, so that a Tab need not load the command table. */
export function completionPlan(root: Command): readonly PlannedCommand[] {
  const plan = (command: Command, path: string): readonly PlannedCommand[] => {
    const children = command.subcommands ?? [];
    if (command.name === 'help') return helpPlan(root, { path, flags: planFlags(command) });
    const args = listArgumentNames(command.args ?? '');
    const own: PlannedCommand = {
      path,
      commands: children.map(({ name, summary }) => ({ name, summary })),
      flags: planFlags(command),
      words: args.map(lookUpPlaceholder),
      repeats: /\.\.\.[\]>]$/.test(command.args ?? ''),
    };
    return [own, ...children.flatMap((child) => plan(child, `${path} ${child.name}`))];
  };
  return plan(root, root.name);
}

function helpPlan(root: Command, { path, flags }: Pick<PlannedCommand, 'path' | 'flags'>): readonly PlannedCommand[] {
  const names = (root.subcommands ?? []).map(({ name }) => name);
  const topics: Values = { kind: 'words', words: Object.keys(TOPICS).filter((topic) => !names.includes(topic)) };
  const planBelow = ({ subcommands = [] }: Command, at: string): readonly PlannedCommand[] => [
    {
      path: at,
      commands: subcommands.map(({ name, summary }) => ({ name, summary })),
      flags: at === path ? flags : [],
      words: at === path ? [topics] : [],
      repeats: false,
    },
    ...subcommands.flatMap((child) => planBelow(child, `${at} ${child.name}`)),
  ];
  return planBelow(root, path);
}

/** `<session> [file]` → session, file. */
export function listArgumentNames(args: string): readonly string[] {
  return [...args.matchAll(/[<[]([^\]>]+?)(?:\.\.\.)?[\]>]/g)].map(([, name = '']) => name);
}

function planFlags(command: Command): readonly PlannedFlag[] {
  return [...command.flags, ...BUILT_IN_FLAGS].map((flag) => {
    const values = findFlagValues(flag);
    const longs = [flag.long, ...(flag.aliases ?? [])].map((name) => `--${name}`);
    const names = [...(flag.short === undefined ? [] : [`-${flag.short}`]), ...longs];
    return { names, help: flag.help, values };
  });
}

/**
 * Lists that only files know: `tools` are those of the server named before, `mentions` what `@path` of the words before may be;
 * `templates` falls back to files.
 */
export type ListName =
  | 'models'
  | 'sessions'
  | 'jobs'
  | 'servers'
  | 'keys'
  | 'templates'
  | 'skills'
  | 'tools'
  | 'mentions';

/**
 * What can stand at a position: fixed words, a path, a list, text that may mention files by `@path`, anything, or the command line of
 * another program (`rest`), flags included.
 */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'ask'; readonly what: ListName }
  | { readonly kind: 'files' | 'directories' | 'text' | 'free' | 'rest' };

const FREE: Values = { kind: 'free' };
const FILES: Values = { kind: 'files' };
const DIRECTORIES: Values = { kind: 'directories' };
const TEXT: Values = { kind: 'text' };

/** The values of the placeholders in help: `--model <id>`, `<session> [file]`. For all others there is nothing to offer. */
export const PLACEHOLDERS: Readonly<Record<string, Values>> = {
  path: FILES,
  file: FILES,
  input: FILES,
  output: FILES,
  schema: FILES,
  dir: DIRECTORIES,
  dirs: DIRECTORIES,
  id: { kind: 'ask', what: 'models' },
  models: { kind: 'ask', what: 'models' },
  session: { kind: 'ask', what: 'sessions' },
  job: { kind: 'ask', what: 'jobs' },
  server: { kind: 'ask', what: 'servers' },
  servers: { kind: 'ask', what: 'servers' },
  key: { kind: 'ask', what: 'keys' },
  template: { kind: 'ask', what: 'templates' },
  skill: { kind: 'ask', what: 'skills' },
  tool: { kind: 'ask', what: 'tools' },
  prompt: TEXT,
  text: TEXT,
  shell: { kind: 'words', words: Object.keys(SCRIPTS) },
  args: { kind: 'rest' },
};

function findFlagValues({ value, isOptional, choices, suggestions }: Flag): Values | undefined {
  if (value === undefined || isOptional) return undefined;
  const words = choices ?? suggestions;
  return words === undefined ? lookUpPlaceholder(value) : { kind: 'words', words };
}

function lookUpPlaceholder(name: string): Values {
  return Object.hasOwn(PLACEHOLDERS, name) ? (PLACEHOLDERS[name] ?? FREE) : FREE;
}
