import { BUILT_IN_FLAGS, description, signature, TOPICS, usageLines } from './help.ts';
import type { Command, Flag } from './table/command.ts';
import { APP_FLAGS, COMMON_FLAGS } from './table/flags.ts';
import { environmentSections, exitCodeRows } from './topics.ts';

type Row = readonly [term: string, text: string];

const DESCRIPTION = `gmn sends one prompt to Gemini and prints the answer. What comes through a pipe goes before the prompt; stdout has the
answer and nothing else, notices go to stderr, and the exit status says what went wrong. Without a command its words are the prompt;
-- ends the options.`;

const FILES: readonly Row[] = [
  ['~/.gmn/config.json', 'settings of gmn alone, in the same form as the next'],
  [
    '~/.gemini/settings.json',
    'settings of the official CLI, which gmn reads; gmn mcp add, remove, enable and disable change its servers',
  ],
  ['~/.gmn/sessions/', 'saved conversations'],
  ['~/.gmn/templates/, ~/.gemini/commands/', 'stored prompts, for --template'],
  ['~/.gemini/GEMINI.md', 'what every model is told'],
];

/** The manual page as roff, with every command and flag of the table. */
export function manPage(root: Command, version: string): string {
  const [summary = ''] = root.summary.split(':');
  return [
    `.TH GMN 1 "" "gmn ${roff(version)}" "User Commands"`,
    // No hyphenation of flags, no justified lines.
    '.nh\n.ad l',
    section('NAME', `gmn \\- ${roff(summary)}`),
    section('SYNOPSIS', synopsis(root)),
    section('DESCRIPTION', roff(DESCRIPTION)),
    section('OPTIONS', flagList([...root.flags, ...BUILT_IN_FLAGS])),
    section('COMMANDS', commands(root)),
    section('EXIT STATUS', list([['0', 'the model answered'], ...exitCodeRows()])),
    section('ENVIRONMENT', ...environmentSections(root).map(([title, rows]) => `.SS ${roff(title)}\n${list(rows)}`)),
    section('FILES', list(FILES)),
    section('EXAMPLES', list((root.examples ?? []).map(([line, meaning]) => [line, meaning]))),
    section('SEE ALSO', `The pages of\n.BR "gmn help" " <topic>:"\n${roff(Object.keys(TOPICS).join(', '))}.`),
    '',
  ].join('\n');
}

function section(title: string, ...body: readonly string[]): string {
  return [`.SH ${title}`, ...body].join('\n');
}

function synopsis(root: Command): string {
  const lines = [root, ...(root.subcommands ?? [])].flatMap((command) =>
    usageLines(command, command === root ? root.name : `${root.name} ${command.name}`),
  );
  return lines.map((line) => `.B ${roff(line)}`).join('\n.br\n');
}

function commands(root: Command): string {
  const names = (flags: readonly Flag[]): string => flags.map(({ long }) => `--${long}`).join(', ');
  const others = COMMON_FLAGS.filter(({ long }) => !APP_FLAGS.some((flag) => flag.long === long));
  const intro = `All of them also take ${names(APP_FLAGS)}, --help and --version, and ${names(others)}, which have no effect where they are not listed.`;
  return [
    roff(intro),
    ...(root.subcommands ?? []).map((child) => commandText(child, `${root.name} ${child.name}`)),
  ].join('\n');
}

function commandText(command: Command, path: string): string {
  const own = command.flags.filter(({ long }) => !APP_FLAGS.some((flag) => flag.long === long));
  const usage = usageLines(command, path).filter((line) => !line.includes('<command>'));
  return [
    `.SS ${roff(path)}`,
    roff(command.summary),
    ...usage.map((line) => `.P\n.B ${roff(line)}`),
    ...(own.length === 0 ? [] : [flagList(own)]),
    ...(command.examples === undefined ? [] : [list(command.examples.map(([line, meaning]) => [line, meaning]))]),
    ...(command.subcommands ?? []).map((child) => commandText(child, `${path} ${child.name}`)),
  ].join('\n');
}

function flagList(flags: readonly Flag[]): string {
  return list(flags.map((flag) => [signature(flag).trim(), description(flag)]));
}

function list(rows: readonly Row[]): string {
  return rows.map(([term, text]) => `.TP\n.B ${roff(term)}\n${roff(text)}`).join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
  '…': '...',
};

/** Escapes a text for roff, in pure ASCII: a manual page may be read anywhere. */
function roff(text: string): string {
  const escaped = text.replace(/[\\\-'`^~"…]/g, (mark) => ESCAPES[mark] ?? mark);
  return escaped
    .replace(/[^\n\x20-\x7e]/gu, (mark) => `\\[u${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^[.]/gm, '\\&.');
}
