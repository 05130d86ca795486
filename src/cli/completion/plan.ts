import { BUILT_IN_FLAGS } from '../help.ts';
import { TOPICS } from '../names.ts';
import type { Command } from '../table/command.ts';
import { flagValues, placeholderValues, type Values } from './values.ts';

/** A flag as it is typed, with its dashes. */
export interface PlannedFlag {
  readonly names: readonly string[];
  readonly help: string;
  /** Absent: it is a switch. */
  readonly values?: Values;
}

/** One command, and all that may stand behind it. */
export interface PlannedCommand {
  /** How it is called: `gmn auth status`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly PlannedFlag[];
  /** What its words are, in order. */
  readonly words: readonly Values[];
  /** The last of them may come again. */
  readonly repeats: boolean;
}

/** The command tree as a list in the form the scripts are made from, `root` first. */
export function completionPlan(root: Command): readonly PlannedCommand[] {
  const plan = (command: Command, path: string): readonly PlannedCommand[] => {
    const children = command.subcommands ?? [];
    if (command.name === 'help') return helpPlan(root, { path, flags: flagsOf(command) });
    const args = placeholders(command.args ?? '');
    const own: PlannedCommand = {
      path,
      commands: children.map(({ name, summary }) => ({ name, summary })),
      flags: flagsOf(command),
      words: args.map(placeholderValues),
      repeats: /\.\.\.[\]>]$/.test(command.args ?? ''),
    };
    return [own, ...children.flatMap((child) => plan(child, `${path} ${child.name}`))];
  };
  return plan(root, root.name);
}

/** Behind `help` the whole tree stands once more, and the topics besides. */
function helpPlan(root: Command, { path, flags }: Pick<PlannedCommand, 'path' | 'flags'>): readonly PlannedCommand[] {
  const names = (root.subcommands ?? []).map(({ name }) => name);
  const topics: Values = { kind: 'words', words: Object.keys(TOPICS).filter((topic) => !names.includes(topic)) };
  const below = ({ subcommands = [] }: Command, at: string): readonly PlannedCommand[] => [
    {
      path: at,
      commands: subcommands.map(({ name, summary }) => ({ name, summary })),
      ...(at === path ? { flags, words: [topics] } : { flags: [], words: [] }),
      repeats: false,
    },
    ...subcommands.flatMap((child) => below(child, `${at} ${child.name}`)),
  ];
  return below(root, path);
}

/** `<session> [file]` → session, file. */
export function placeholders(args: string): readonly string[] {
  return [...args.matchAll(/[<[]([^\]>]+?)(?:\.\.\.)?[\]>]/g)].map(([, name = '']) => name);
}

function flagsOf(command: Command): readonly PlannedFlag[] {
  return [...command.flags, ...BUILT_IN_FLAGS].map((flag) => {
    const values = flagValues(flag);
    const longs = [flag.long, ...(flag.aliases ?? [])].map((name) => `--${name}`);
    const names = [...(flag.short === undefined ? [] : [`-${flag.short}`]), ...longs];
    return { names, help: flag.help, ...(values === undefined ? {} : { values }) };
  });
}

/** What may stand in a place as the one word the scripts know it by: `words:a b`, `ask:models`, `files`, … */
export function spelled(values: Values): string {
  if (values.kind === 'words') return `words:${values.words.join(' ')}`;
  return values.kind === 'ask' ? `ask:${values.what}` : values.kind;
}
