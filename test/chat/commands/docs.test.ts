import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KEY_TABLE } from '../../../src/chat/commands/general.ts';
import { COMMANDS } from '../../../src/chat/commands/table.ts';

const page = readFileSync(new URL('../../../docs/chat.md', import.meta.url), 'utf8');

/** The rows of the table below a heading, cell by cell, without code marks and escapes. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  const rows = [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.replaceAll('`', '').split(/ (?<!\\)\| /));
  return rows.slice(1).map((cells) => cells.map((cell) => cell.replaceAll('\\|', '|')));
}

test('docs/chat.md explains every key that /keys lists, in the same order', () => {
  expect(
    rowsBelow('Keys')
      .slice(0, KEY_TABLE.length)
      .map(([keys]) => keys),
  ).toEqual(KEY_TABLE.map(([keys]) => keys));
});

test('no two commands have the same name', () => {
  const names = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
});
