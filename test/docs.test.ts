import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AppError, EXIT_CODES, type Fault } from '../src/core/error.ts';

function page(name: string): string {
  return readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');
}

test('docs/exit-codes.md lists every fault with its code and type', () => {
  const rows = [...page('exit-codes.md').matchAll(/^\| (\w+) \| (\d+) \| (\w+) \|/gm)].map(
    ([, fault, code, type]) => [fault, Number(code), type] as const,
  );
  const expected = Object.entries(EXIT_CODES).map(([fault, code]) => [
    fault,
    code,
    new AppError(fault as Fault, '').type,
  ]);
  expect(rows).toEqual(expected);
});
