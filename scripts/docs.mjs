// `npm run docs`: makes docs/cli.md of the help that the build has written, and the tables of other pages of the rows they are about.
// With --check, fails if one is not up to date.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeCell, fillIn, importSources, update } from './generated.mjs';
import { root } from './project.mjs';

const directory = join(root, 'dist', 'help');
const sections = readdirSync(directory)
  .sort()
  .map(
    (name) =>
      `## ${name.replace(/\.txt$/, '').replaceAll('-', ' ')}\n\n\`\`\`\n${readFileSync(join(directory, name), 'utf8')}\`\`\`\n`,
  );
const page = `# The command line

Made from the command table by \`npm run docs\`; \`gmn help <command>\` prints the same.

${sections.join('\n')}`;
update('docs/cli.md', page, 'the command table');

const { COMMANDS, formatSyntax, HABITS, renderers, ROWS } = await importSources(`
  export { COMMANDS, formatSyntax } from './src/chat/commands/table.ts';
  export { HABITS } from './src/chat/commands/habits.ts';
  export { renderers } from './src/render/renderers.ts';
  export { ROWS } from './src/config/keys.ts';`);

const commands = COMMANDS.map((command) => [`\`${escapeCell(formatSyntax(command))}\``, escapeCell(command.help)]);
fillIn('docs/chat.md', [['commands', ['command', 'what it does'], commands]], 'src/chat/commands/table.ts');

const habits = HABITS.map(({ names, of, entry, advice }) => [
  joinCode(names.map((name) => `/${name}`)),
  of.join(', '),
  entry === undefined ? advice.replace(/\.$/, '') : `\`${entry}\``,
]);
fillIn('docs/migration.md', [['habits', ['there', 'of', 'here'], habits]], 'src/chat/commands/habits.ts');

const formats = Object.entries(renderers).map(([name, { stdout, stderr, use }]) => [
  `\`${name}\``,
  stdout,
  stderr,
  use,
]);
fillIn('docs/output.md', [['formats', ['`-o`', 'stdout', 'stderr', 'good for'], formats]], 'src/render/renderers.ts');

const TYPES = {
  string: 'string',
  age: 'string',
  boolean: 'true, false',
  object: 'object',
  prices: 'object',
  strings: 'list of strings',
  list: 'list',
  oneOrMore: 'string, or a list of them',
  count: 'number, from 1',
  share: 'number, 0 to 1',
};
const keys = ROWS.map(([key, { kind, choices, about, variables, fallback, isForFolders, why }]) => [
  `\`${key}\``,
  choices === undefined ? TYPES[kind] : joinCode(choices),
  variables === undefined ? about : `${about}; overridden by ${joinCode(variables, ', else ')}`,
  fallback === undefined ? '' : `\`${fallback}\``,
  `${isForFolders ? 'yes' : 'no'}: ${why.replace(/(?<!\S)-[\w-]+/g, '`$&`')}`,
]);
fillIn(
  'docs/configuration.md',
  [['keys', ['key', 'type', 'meaning', 'default', 'from a folder'], keys]],
  'src/config/keys.ts',
);

const { CHAT_FLAGS, FLAGS, IGNORED_FLAGS, PROMPT_FLAGS, REFUSED_FLAGS } = await importSources(`
  export { CHAT_FLAGS, PROMPT_FLAGS } from './src/cli/table/prompt.ts';
  export { IGNORED_FLAGS, REFUSED_FLAGS } from './src/cli/table/refused.ts';
  import { APP_FLAGS, MODEL_FLAGS } from './src/cli/table/flags.ts';
  export const FLAGS = [...MODEL_FLAGS, ...APP_FLAGS];`);
const named = new Map([...FLAGS, ...PROMPT_FLAGS, ...CHAT_FLAGS].map((flag) => [flag.long, flag]));
const others = [...named.values()].flatMap(({ otherNames = [], ...flag }) =>
  otherNames.map((other) => [formatNames(other), other.of.join(', '), describeOtherName(flag, other)]),
);
const refused = REFUSED_FLAGS.filter(({ of }) => of !== undefined).map(({ of, why, hint, unless, ...flag }) => [
  formatNames(flag),
  of.join(', '),
  `refused${unless === undefined ? '' : `, unless ${joinCode(unless)} is given`}: ${why}. ${escapeCell(hint).replaceAll('<', '&lt;')}`,
]);
const ignored = IGNORED_FLAGS.map(({ of, why, ...flag }) => [formatNames(flag), of.join(', '), `accepted: ${why}`]);
const otherFlags = [...others, ...refused, ...ignored].sort(([left], [right]) => (left < right ? -1 : 1));
fillIn('docs/migration.md', [['flags', ['flag', 'of', 'in gmn'], otherFlags]], 'src/cli/table/');

function formatNames({ long, short, aliases = [] }) {
  return joinCode([...(short === undefined ? [] : [`-${short}`]), ...[long, ...aliases].map((name) => `--${name}`)]);
}

function describeOtherName({ long }, { fixedValue, values = {}, prefix, alsoSets = {} }) {
  const changed = Object.entries(values).filter(([from, to]) => from !== to);
  const { thinkingMatch, ...flags } = alsoSets;
  const more = Object.entries(flags).map(([key, value]) => `\`--${key} ${value}\``);
  return [
    `\`--${long}${fixedValue === undefined ? '' : ` ${fixedValue}`}${prefix === undefined ? '' : ` ${prefix}<file>`}\``,
    ...changed.map(([from, to]) => `\`${from}\` is \`${to}\``),
    ...more.map((flag) => `with ${flag} if no tools are named`),
    ...(thinkingMatch === undefined ? [] : ['or the nearest that the model takes, in tokens where it takes those']),
  ].join(', ');
}

function joinCode(words, separator = ', ') {
  return words.map((word) => `\`${word}\``).join(separator);
}
