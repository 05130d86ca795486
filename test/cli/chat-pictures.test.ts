import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listPicturePaths } from '../../src/chat/pictures.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const CTRL_V = '\u0016';
const ESC = '\u001b';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0', 'latin1');
const part = { inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } };

posixTest('Ctrl+V attaches the picture in the clipboard, and so does a file dropped into the window', async (t) => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-pictures-')));
  t.onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  writeFileSync(join(place, '一枚 目.png'), PNG);
  writeFileSync(join(place, 'held'), PNG);
  writeFileSync(join(place, 'huge.png'), Buffer.concat([PNG, Buffer.alloc(15_500_000)]));
  writeFileSync(join(place, 'big.png'), Buffer.concat([PNG, Buffer.alloc(8_000_000)]));
  const held = `#!/bin/sh\ncase "$*" in *image/png*) cat "${place}/held" ;; *) printf "some text" ;; esac\n`;
  writeFileSync(join(place, 'wl-paste'), held);
  chmodSync(join(place, 'wl-paste'), 0o755);
  const gemini = await fakeGemini(t, [reply('a square'), reply('two'), reply('three')]);
  const env = { PATH: `${place}:${process.env.PATH}`, WAYLAND_DISPLAY: 'w' };
  const chat = chatInTerminal(t, [], {
    gemini,
    env,
    columns: 120,
    files: { 'mine.png': PNG, 'large.txt': 'x'.repeat(10_000_000) },
  });
  await chat.ready(1);
  chat.type(`what is ${CTRL_V}`);
  await chat.shows(/❯ what is\n\+ clipboard \(PNG, 640x480, 29 B\)\. \/file - drops what is attached\.$/);
  chat.type('this?');
  await chat.shows(/❯ what is this\?\ngemini-2\.5-flash · .* · 1 attached$/);
  chat.type('\r');
  await chat.shows(/❯ what is this\?\n\+ clipboard \(PNG, 640x480, 29 B\)\na square\n\n❯\n/);
  chat.type(`${ESC}[200~${join(place, '一枚\\ 目.png')} ${ESC}[201~and @mine.png?`);
  await chat.shows(/❯ and @mine\.png\?\n/);
  chat.type('\r');
  await chat.shows(/\n\+ mine\.png \(PNG, 640x480, 29 B\)\n\+ 一枚 目\.png \(PNG, 640x480, 29 B\)\ntwo\n\n❯\n/);
  chat.type(`${ESC}[200~${join(place, 'huge.png')}${ESC}[201~`);
  await chat.shows(/Not attached: huge\.png \(PNG, 640x480, 15\.5 MB\)\. At most 20 MB can be sent;/);
  chat.type(`${ESC}[200~${join(place, 'big.png')}${ESC}[201~`);
  await chat.shows(/\+ big\.png \(PNG, 640x480, 8\.0 MB\)/);
  chat.type(`@large.txt\r`);
  await chat.shows(
    /Error: the pictures and the rest are larger than 20 MB, the most that can be sent\nTo drop what is attached: \/file -\n/,
  );
  chat.type('/file -\r');
  await chat.shows(/Nothing goes with the next prompt\.\n❯\n/);
  rmSync(join(place, 'held'));
  chat.type(`${CTRL_V}`);
  await chat.shows(/❯ some text\n/);
  chat.type('\u0015');
  chat.type(`${ESC}[200~/nowhere/a.png${ESC}[201~`);
  await chat.shows(/❯ \/nowhere\/a\.png\n/);
  chat.type(`\u0015three\r`);
  await chat.shows(/three\n\n❯\n/);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  const sent = gemini.requests.map(({ body }) => body.contents.at(-1).parts);
  expect(sent[0]).toEqual([part, { text: 'what is this?' }]);
  expect(sent[1]).toEqual([part, part, { text: 'and @mine.png?' }]);
  expect(sent[2]).toEqual([{ text: 'three' }]);
});

test.each([
  ["'/a b/c.png'", ['/a b/c.png']],
  ['/a b/c.png', ['/a b/c.png']],
  ['/a\\ b/c.PNG', ['/a b/c.PNG']],
  ['/a.png /b.jpeg\n', ['/a.png', '/b.jpeg']],
  ['file:///a%20b/c.webp', ['/a b/c.webp']],
  ['c.png', []],
  ['see /a/c.png', []],
  ['/a/c.txt', []],
  ['file://%zz/a.png', []],
  ['', []],
])('the pictures that the paste %j names', (text, paths) => {
  expect(listPicturePaths(text)).toEqual(paths);
});
