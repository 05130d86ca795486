import { type Flag, HEADINGS } from '../core/flag.ts';
import type { Command } from './table/command.ts';
import { COMMON_FLAGS } from './table/flags.ts';

const WIDTH = 80;

/** `path` is how the command is typed, e.g. `gmn demo serve`. */
export function helpText(command: Command, path: string): string {
  const sections = [
    `${command.summary}\n`,
    `Usage:\n${formatUsageLines(command, path)
      .map((line) => `  ${line}\n`)
      .join('')}`,
  ];
  if (command.examples) {
    sections.push(`Examples:\n${formatColumns(command.examples.map(([line, meaning]) => [line, meaning]))}`);
  }
  const subcommands = command.subcommands ?? [];
  if (subcommands.length > 0) {
    sections.push(`Commands:\n${formatColumns(subcommands.map(({ name, summary }) => [name, summary]))}`);
  }
  if (path === 'gmn') {
    sections.push(`Topics (gmn help <topic>):\n${formatColumns(Object.entries(TOPICS))}`);
    sections.push('For agents and scripts, all of it as one document: gmn help --json\n');
  }
  sections.push(...formatFlagSections(command));
  const idle = findIdleFlags(command).map(({ long }) => `--${long}`);
  if (idle.length > 0) sections.push(`Accepted everywhere, without effect here:\n${formatIndented(idle.join(', '))}`);
  return sections.join('\n');
}

/** What `-h` prints for a command with many flags: the ones used most, in a screen of 80 by 24. */
export function shortHelpText(command: Command, path: string): string | undefined {
  const { summary, essentials, subcommands = [], flags, examples = [] } = command;
  if (essentials === undefined) return undefined;
  const rows = Object.entries(essentials).flatMap(([long, text]) =>
    flags.filter((flag) => flag.long === long).map((flag) => [formatFlag(flag), text] as const),
  );
  const [own = path, ...others] = formatUsageLines(command, path);
  const isRoot = path === 'gmn';
  const example = examples[isRoot ? 1 : 0]?.[0];
  const usage = [example === undefined ? own : `${own}   e.g. ${example}`, ...others];
  const names = subcommands.map(({ name }) => name).join(', ');
  return [
    `${summary}\n`,
    `Usage: ${usage.join('\n       ')}\n`,
    `The flags used most:\n${formatColumns(rows)}`,
    ...(names === '' ? [] : [`Commands (${path} <command> -h):\n${formatIndented(names)}`]),
    isRoot ? `Every flag and topic: ${path} --help. A tour of two minutes: gmn demo\n` : `Every flag: ${path} --help\n`,
  ].join('\n');
}

export function formatFlagSections(command: Command): readonly string[] {
  const groups = groupFlags([...command.flags, ...BUILT_IN_FLAGS]);
  return groups.map(
    ([title, flags]) =>
      `${title}:\n${formatColumns(flags.map((flag) => [formatFlag(flag), describeFlag(flag)] as const))}`,
  );
}

/** Fewer flags than this are found without headings. */
const MANY_FLAGS = 30;

export function groupFlags(flags: readonly Flag[]): readonly (readonly [title: string, flags: readonly Flag[]])[] {
  if (flags.length < MANY_FLAGS) return [['Flags', flags]];
  return HEADINGS.map((title) => [title, flags.filter(({ heading = 'General' }) => heading === title)] as const).filter(
    ([, below]) => below.length > 0,
  );
}

export const BUILT_IN_FLAGS: readonly Flag[] = [
  { long: 'help', short: 'h', help: 'Print this help' },
  { long: 'version', short: 'v', help: 'Print the version' },
];

export function findIdleFlags({ flags }: Pick<Command, 'flags'>): readonly Flag[] {
  const shorts = flags.map(({ short }) => short);
  return COMMON_FLAGS.filter(({ long }) => !flags.some((flag) => flag.long === long)).map((flag: Flag) => {
    const { short, ...rest } = flag;
    return short === undefined || shorts.includes(short) ? rest : flag;
  });
}

export function formatUsageLines(command: Command, path: string): readonly string[] {
  const own = [path, command.args, command.flags.length > 0 ? '[flags]' : ''].filter(Boolean).join(' ');
  // A command with neither `run` nor subcommands (help, completion) is handled before any command runs.
  const isRunnable = command.run !== undefined || command.subcommands === undefined;
  const { defaultSubcommand } = command;
  const bare = defaultSubcommand === undefined ? [] : [`${path}   (same as ${path} ${defaultSubcommand})`];
  return [...(isRunnable ? [own] : []), ...(command.subcommands ? [`${path} <command> [flags]`] : []), ...bare];
}

export function formatFlag(flag: Pick<Flag, 'short' | 'long' | 'value' | 'isOptional' | 'preset'>): string {
  const { short, long, value, isOptional, preset } = flag;
  const placeholder = isOptional || preset !== undefined ? ` [${value}]` : ` <${value}>`;
  return `${short ? `-${short}, ` : '    '}--${long}${value ? placeholder : ''}`;
}

export function describeFlag({ help, aliases = [], choices, fallback, env }: Flag): string {
  const also = aliases.map((name) => `also --${name}`);
  const notes = [choices?.join(', '), fallback && `default ${fallback}`, env, ...also].filter(Boolean);
  return notes.length > 0 ? `${help} (${notes.join('; ')})` : help;
}

export function formatColumns(rows: readonly (readonly [left: string, right: string])[]): string {
  const left = Math.min(Math.max(...rows.map(([text]) => text.length)), 42);
  return rows.map(([term, text]) => formatHelpRow(term, text, left)).join('');
}

function formatIndented(text: string): string {
  return wrapHelp(text, WIDTH - 2)
    .map((line) => `  ${line}\n`)
    .join('');
}

function formatHelpRow(term: string, text: string, left: number): string {
  const indent = ' '.repeat(left + 4);
  const lines = wrapHelp(text, Math.max(WIDTH - indent.length, 30));
  const first = term.length > left ? `  ${term}\n${indent}` : `  ${term.padEnd(left)}  `;
  return `${first}${lines.join(`\n${indent}`)}\n`;
}

function wrapHelp(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

export const TOPICS = {
  auth: 'Which credential is used, and how to give gmn one',
  compat: 'Coming from the official Gemini CLI',
  completion: 'Completion by Tab in bash, zsh, fish and PowerShell',
  config: 'Settings: where they come from, and which folders are trusted',
  demo: 'The offline model, and the faults it can play',
  env: 'Environment variables',
  'exit-codes': 'What the exit codes mean',
  extending: 'Skills, hooks, sub-agents and extensions',
  flags: 'Every flag of a prompt, by what it is for',
  keys: 'Keys of the chat',
  mcp: 'MCP servers: settings, trust, names',
  'mcp-server': 'gmn as an MCP server, for other agents',
  sessions: 'Saved conversations',
  'stream-json': 'The JSON formats, for scripts',
  tools: 'What the model may do, and what asks first',
} as const;

export type Topic = keyof typeof TOPICS;

export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
