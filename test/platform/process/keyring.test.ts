import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { createKeyring } from '../../../src/platform/process/keyring.ts';

test('the helper of the keyring gets what it needs of the environment, and no more', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-keyring-'));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const module = join(directory, 'library.cjs');
  writeFileSync(module, 'exports.Entry = class { getPassword() { return JSON.stringify(process.env); } };');
  const answer = await createKeyring(module).get({ service: 's', account: 'a' }, 20_000);
  const seen: Record<string, string> = JSON.parse(answer.kind === 'secret' ? answer.secret : '{}');
  expect(process.env.PATH).toContain(seen.PATH?.split(delimiter).at(-1));
  // Vitest sets these for itself.
  expect([process.env.VITEST, process.env.NODE_ENV]).not.toContain(undefined);
  expect([seen.VITEST, seen.NODE_ENV]).toEqual([undefined, undefined]);
});
