import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { createKeyring } from '../../../src/platform/process/keyring.ts';
import { temporary } from '../../support/temporary.ts';

test('the helper of the keyring gets what it needs of the environment, and no more', async () => {
  const library = 'exports.Entry = class { getPassword() { return JSON.stringify(process.env); } };';
  const module = join(temporary({ 'library.cjs': library }), 'library.cjs');
  const answer = await createKeyring(module).get({ service: 's', account: 'a' }, 20_000);
  const seen: Record<string, string> = JSON.parse(answer.kind === 'secret' ? answer.secret : '{}');
  expect(process.env.PATH).toContain((seen.PATH ?? seen.Path)?.split(delimiter).at(-1));
  // Vitest sets these for itself.
  expect([process.env.VITEST, process.env.NODE_ENV]).not.toContain(undefined);
  expect([seen.VITEST, seen.NODE_ENV]).toEqual([undefined, undefined]);
});
