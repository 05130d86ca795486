// Writes docs/cli.md from the help texts of the last build; with --check, fails if it is not up to date.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

const target = join(root, 'docs', 'cli.md');
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') === page) process.exit(0);
  console.error('docs/cli.md does not match the command table. Run: npm run docs');
  process.exit(1);
}
writeFileSync(target, page);
