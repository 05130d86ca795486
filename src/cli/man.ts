import type { Flag } from '../core/flag.ts';
import { BUILT_IN_FLAGS, describeFlag, formatFlag, formatUsageLines, groupFlags, TOPICS } from './help.ts';
import type { Command } from './table/command.ts';
import { APP_FLAGS, COMMON_FLAGS } from './table/flags.ts';
import { formatExitCode, formatVariable, listEnvironment, listExitCodes } from './topics.ts';

type Row = readonly [term: string, text: string];

const DESCRIPTION = `gmn sends one prompt to Gemini and prints the answer. What comes through a pipe goes before the prompt; stdout has the
answer and nothing else, notices go to stderr, and the exit status says what went wrong. Without a command its words are the prompt;
-- ends the options.`;

const FILES: readonly Row[] = [
  ['~/.gmn/config.json', "gmn's own settings, in the same format as the next"],
  [
    '~/.gemini/settings.json',
    'settings of the official CLI, which gmn reads; gmn mcp add, remove, enable and disable change its servers',
  ],
  ['~/.gmn/sessions/', 'saved conversations'],
  ['~/.gmn/templates/, ~/.gemini/commands/', 'stored prompts, for --template'],
  ['~/.gemini/AGENTS.md, ~/.gemini/GEMINI.md, ~/.gmn/AGENTS.md', 'instructions for every model'],
];

export function manPage(root: Command, version: string): string {
  const [summary = ''] = root.summary.split(':');
  return [
    `.TH GMN 1 "" "gmn ${escapeRoff(version)}" "User Commands"`,
    // No hyphenation of flags, no justified lines.
    '.nh\n.ad l',
    formatSection('NAME', `gmn \\- ${escapeRoff(summary)}`),
    formatSection('SYNOPSIS', formatSynopsis(root)),
    formatSection('DESCRIPTION', escapeRoff(DESCRIPTION)),
    formatSection(
      'OPTIONS',
      ...groupFlags([...root.flags, ...BUILT_IN_FLAGS]).map(
        ([title, flags]) => `.SS ${escapeRoff(title)}\n${formatFlags(flags)}`,
      ),
    ),
    formatSection('COMMANDS', formatCommands(root)),
    formatSection('EXIT STATUS', formatTerms(listExitCodes().map(formatExitCode))),
    formatSection(
      'ENVIRONMENT',
      ...listEnvironment(root).map(
        ([title, variables]) => `.SS ${escapeRoff(title)}\n${formatTerms(variables.map(formatVariable))}`,
      ),
    ),
    formatSection('FILES', formatTerms(FILES)),
    formatSection('EXAMPLES', formatTerms((root.examples ?? []).map(([line, meaning]) => [line, meaning]))),
    formatSection(
      'SEE ALSO',
      `The pages of\n.BR "gmn help" " <topic>:"\n${escapeRoff(Object.keys(TOPICS).join(', '))}.`,
    ),
    '',
  ].join('\n');
}

function formatSection(title: string, ...body: readonly string[]): string {
  return [`.SH ${title}`, ...body].join('\n');
}

function formatSynopsis(root: Command): string {
  const lines = [root, ...(root.subcommands ?? [])].flatMap((command) =>
    formatUsageLines(command, command === root ? root.name : `${root.name} ${command.name}`),
  );
  return lines.map((line) => `.B ${escapeRoff(line)}`).join('\n.br\n');
}

function formatCommands(root: Command): string {
  const joinNames = (flags: readonly Flag[]): string => flags.map(({ long }) => `--${long}`).join(', ');
  const others = COMMON_FLAGS.filter(({ long }) => !APP_FLAGS.some((flag) => flag.long === long));
  const intro = `All of them also take ${joinNames(APP_FLAGS)}, --help and --version, and ${joinNames(others)}, which have no effect where they are not listed.`;
  return [
    escapeRoff(intro),
    ...(root.subcommands ?? []).map((child) => formatManEntry(child, `${root.name} ${child.name}`)),
  ].join('\n');
}

function formatManEntry(command: Command, path: string): string {
  const own = command.flags.filter(({ long }) => !APP_FLAGS.some((flag) => flag.long === long));
  const usage = formatUsageLines(command, path).filter((line) => !line.includes('<command>'));
  return [
    `.SS ${escapeRoff(path)}`,
    escapeRoff(command.summary),
    ...usage.map((line) => `.P\n.B ${escapeRoff(line)}`),
    ...(own.length === 0 ? [] : [formatFlags(own)]),
    ...(command.examples === undefined
      ? []
      : [formatTerms(command.examples.map(([line, meaning]) => [line, meaning]))]),
    ...(command.subcommands ?? []).map((child) => formatManEntry(child, `${path} ${child.name}`)),
  ].join('\n');
}

function formatFlags(flags: readonly Flag[]): string {
  return formatTerms(flags.map((flag) => [formatFlag(flag).trim(), describeFlag(flag)]));
}

function formatTerms(rows: readonly Row[]): string {
  return rows.map(([term, text]) => `.TP\n.B ${escapeRoff(term)}\n${escapeRoff(text)}`).join('\n');
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
function escapeRoff(text: string): string {
  const escaped = text.replace(/[\\\-'`^~"…]/g, (mark) => ESCAPES[mark] ?? mark);
  return escaped
    .replace(/[^\n\x20-\x7e]/gu, (mark) => `\\[u${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^[.]/gm, '\\&.');
}
