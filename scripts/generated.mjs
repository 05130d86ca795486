// What the generators of docs and lists share: sources as values, and pages with tables between two marks.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundling } from './bundle.mjs';
import { root } from './project.mjs';

const isCheck = process.argv.includes('--check');

/** Writes a file unless it is up to date; with --check, fails instead. */
export function update(path, text, source) {
  if (readFileSync(join(root, path), 'utf8') === text) return;
  if (!isCheck) return writeFileSync(join(root, path), text);
  console.error(`${path} does not match ${source}. Run: npm run docs`);
  process.exit(1);
}

/** Tables load what their rows run; who reads the rows needs none of it. */
const withoutLazyParts = {
  name: 'without-lazy-parts',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ kind, path }) => (kind === 'dynamic-import' ? { path, external: true } : undefined));
  },
};

/** The exports of these modules of src. */
export async function importSources(contents) {
  const { outputFiles } = await build({
    ...bundling,
    stdin: { contents, resolveDir: root },
    format: 'esm',
    write: false,
    plugins: [withoutLazyParts, ...bundling.plugins],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

/** Replaces what is between `<!-- name: … -->` and `<!-- /name -->` by a table with these columns. */
export function fillIn(path, tables, source) {
  let page = readFileSync(join(root, path), 'utf8');
  for (const [name, columns, rows] of tables) {
    const table = [columns, columns.map(() => '---'), ...rows].map(formatRow).join('');
    page = page.replace(new RegExp(`(?<=<!-- ${name}: .*-->\n)[^]*?(?=<!-- /${name} -->)`), () => table);
  }
  update(path, page, source);
}

function formatRow(cells) {
  const isRule = cells.every((cell) => cell === '---');
  return isRule ? `|${cells.join('|')}|\n` : `| ${cells.join(' | ')} |\n`;
}

/** A bar would end the cell. */
export function escapeCell(text) {
  return text.replaceAll('|', '\\|');
}
