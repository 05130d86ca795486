import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ALIASES, MODELS } from '../../src/models/table.ts';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('the page shows every alias as it is', () => {
  const rows = Object.entries(ALIASES).map(
    ([name, by]) => `| \`${name}\` | \`${by['gemini-api']}\` | \`${by.vertex}\` | \`${by['code-assist']}\` |`,
  );
  expect(rows.filter((row) => !page('auth-and-models.md').includes(row))).toEqual([]);
});

test('the page shows the levels and budgets of every model that has them', () => {
  const lines = page('auth-and-models.md').split('\n');
  for (const { id, levels, budget } of MODELS) {
    const [, , shown] =
      lines
        .find((line) => line.includes(`\`${id}\``) && /budget|high/.test(line))
        ?.split(' | ')
        .join('|')
        .split('|') ?? [];
    const range =
      budget && `budget ${budget.canBeOff ? '0, or ' : ''}${budget.min} to ${budget.max.toLocaleString('en')}`;
    expect(shown?.trim(), id).toBe(levels?.join(', ') ?? range);
  }
});
