import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRICE_PACKAGE } from './prices.mjs';
import { root } from './project.mjs';

/** The licences of every package in the bundle, from esbuild's metafile; and of the one whose prices were taken over. */
export function formatLicences(metafile) {
  const packages = new Set([PRICE_PACKAGE]);
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  const sections = [...packages].sort().map((name) => {
    const directory = join(root, 'node_modules', name);
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return `${name} ${manifest.version} (${manifest.license})\n\n${readLicence(directory, manifest)}\n`;
  });
  return `gmn contains code or data of these packages.\n\n${sections.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/**
 * The licence file, else the licence section of the README, else the standard text of the licence in the manifest. Throws if there is none.
 */
function readLicence(directory, { name, license, author }) {
  const names = readdirSync(directory);
  const read = (pattern) =>
    names.filter((entry) => pattern.test(entry)).map((entry) => readFileSync(join(directory, entry), 'utf8'));
  const [file] = read(/^licen[cs]e(\.|$)/i);
  if (file !== undefined) return file.trim();
  const [, quoted] = (read(/^readme/i)[0] ?? '').split(/^#+ *licen[cs]e\b.*\n|^licen[cs]e *\n-+\n/im);
  if (quoted?.includes('Permission is hereby granted')) return quoted.trim();
  if (license !== 'MIT') throw new Error(`${name} has no licence text`);
  const holder = (typeof author === 'string' ? author : (author?.name ?? `the authors of ${name}`)).replace(
    / *[<(].*$/,
    '',
  );
  return `Copyright (c) ${holder}\n\n${MIT}`;
}
