import { expect, test } from 'vitest';
import { findWindowsDistrust } from '../../../src/platform/files/windows-owner.ts';

const [ADMINISTRATORS, SYSTEM, USER] = ['S-1-5-32-544', 'S-1-5-18', 'S-1-5-21-1-2-3-1001'];

test.each([
  [`${ADMINISTRATORS}\r\n${SYSTEM}\r\n`, undefined],
  [`${USER}\r\n${ADMINISTRATORS}\r\n`, '/data/gemini-cli/settings.json does not belong to an administrator'],
  [`${ADMINISTRATORS}\r\n${USER}\r\n`, '/data/gemini-cli does not belong to an administrator'],
  [`${ADMINISTRATORS}\r\n`, '/data/gemini-cli does not belong to an administrator'],
  ['', '/data/gemini-cli/settings.json does not belong to an administrator'],
])('owners %j of a system file and its folder: %s', async (owners, expected) => {
  expect(await findWindowsDistrust('/data/gemini-cli/settings.json', async () => owners)).toBe(expected);
});

test('without an answer the file is not trusted', async () => {
  const why = findWindowsDistrust('/data/settings.json', () => Promise.reject(new Error('no PowerShell')));
  expect(await why).toBe('its owner cannot be determined');
});
