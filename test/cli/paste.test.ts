import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

posixTest('--paste adds the text of the clipboard, else a picture that is in it', async (t) => {
  const at = place(t);
  const bin = join(at.root, 'bin');
  mkdirSync(bin);
  const pasted = async ({ WANTED = '', HELD = '', ...env }: Record<string, string>) => {
    const xclip = `#!/bin/sh\ncase "$*" in *"-t ${WANTED}"*) printf "%b" '${HELD}' ;; *) exit 1 ;; esac\n`;
    writeFileSync(join(bin, 'xclip'), xclip, { mode: 0o755 });
    const all = { ...at.env, PATH: `${bin}:${at.env.PATH}`, DISPLAY: ':0', ...env };
    const { stdout, stderr } = await callGmnIn(t, { cwd: at.cwd, env: all }, ['--demo', '--paste', '--dry-run', 'x']);
    return stdout === '' ? stderr : JSON.parse(stdout).body.contents[0].parts;
  };
  expect(await pasted({ WANTED: 'UTF8_STRING', HELD: 'copied' })).toEqual([{ text: '=== clipboard ===\ncopied\n\nx' }]);
  expect(await pasted({ WANTED: 'image/png', HELD: '\\0211PNG\\r\\n\\032\\n\\0000' })).toEqual([
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoA' } },
    { text: 'x' },
  ]);
  expect(await pasted({ WANTED: 'none', HELD: '' })).toBe('Error: the clipboard is empty\nCopy something first.\n');
  expect(await pasted({ DISPLAY: '' })).toBe(
    'Error: no clipboard was found: there is no display\nPipe it in instead: … | gmn "…"\n',
  );
});
