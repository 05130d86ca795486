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

const { COMMANDS, formatSyntax, renderers, ROWS } = await importSources(`
  export { COMMANDS, formatSyntax } from './src/chat/commands/table.ts';
  export { renderers } from './src/render/renderers.ts';
  export { ROWS } from './src/config/keys.ts';`);

const commands = COMMANDS.map((command) => [`\`${escapeCell(formatSyntax(command))}\``, escapeCell(command.help)]);
fillIn('docs/chat.md', [['commands', ['command', 'what it does'], commands]], 'src/chat/commands/table.ts');

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
const keys = ROWS.map(([key, { kind, choices, about, variables, isForFolders, why }]) => [
  `\`${key}\``,
  choices === undefined ? TYPES[kind] : joinCode(choices),
  variables === undefined ? about : `${about}; overridden by ${joinCode(variables, ', else ')}`,
  `${isForFolders ? 'yes' : 'no'}: ${why.replace(/(?<!\S)-[\w-]+/g, '`$&`')}`,
]);
fillIn('docs/configuration.md', [['keys', ['key', 'type', 'meaning', 'from a folder'], keys]], 'src/config/keys.ts');

function joinCode(words, separator = ', ') {
  return words.map((word) => `\`${word}\``).join(separator);
}
