// Prints the section of CHANGELOG.md for a version; fails if there is none, so that every release has notes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './project.mjs';

const version = process.argv[2] ?? '';
const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m);
const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
const notes = section?.slice(section.indexOf('\n')).trim() ?? '';
if (notes === '') {
  console.error(`CHANGELOG.md has no section "## ${version}". Write down there what changed for users.`);
  process.exit(1);
}
console.log(notes);
