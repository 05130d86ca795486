import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatFaults } from '../../src/demo/fault.ts';

test('docs/demo.md has a row for every fault and for nothing else', () => {
  const page = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('\n## Faults\n');
  const [table = ''] = section.split('\n## ');
  const rows = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]);
  const known = formatFaults()
    .split('\n')
    .map((line) => line.trim().split(' ')[0]);
  expect([...rows].sort()).toEqual([...known].sort());
});
