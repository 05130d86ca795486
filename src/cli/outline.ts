import type { Command } from './table/command.ts';

/** As much of the command table as a line of plain words is checked against. The build makes it, so that such a line need not load the table. */
export interface Outline {
  /** The names of the commands, each with those of its sub-commands. */
  readonly commands: Readonly<Record<string, readonly string[]>>;
  /** Those that do nothing by themselves. */
  readonly groups: readonly string[];
  /** The environment variables that give a prompt its flags. */
  readonly variables: readonly string[];
}

/** The outline of a command tree. */
export function outlineOf({ flags, subcommands = [] }: Command): Outline {
  const names = subcommands.map(({ name, subcommands: below = [] }) => [name, below.map((child) => child.name)]);
  return {
    commands: Object.fromEntries(names),
    groups: subcommands.filter((child) => child.run === undefined && child.subcommands).map(({ name }) => name),
    variables: flags.flatMap(({ env }) => (env === undefined ? [] : [env])),
  };
}
