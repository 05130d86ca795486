import { expect, test } from 'vitest';
import { temporary } from '../support/temporary.ts';
import { contentOf, fakeStdin } from './support.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');
const stdin = (content: string | Uint8Array) => ({ stdin: fakeStdin('pipe', [Buffer.from(content)]).stdin });
const parts = async (input: Parameters<typeof contentOf>[0]) => (await contentOf(input)).content.parts;
const media = (mimeType: string, content: string | Uint8Array) => ({
  inlineData: { mimeType, data: Buffer.from(content).toString('base64') },
});

test('-a sends a file as it is, text too, after those of -f', async () => {
  const cwd = temporary({ 'a.csv': 'a,b', b: 'B', 'c.png': PNG });
  expect(await parts({ cwd, prompt: 'P', files: ['b'], otherAttachments: { attach: ['a.csv'] } })).toEqual([
    media('text/csv', 'a,b'),
    { text: '=== b ===\nB\n\nP' },
  ]);
  expect(await parts({ cwd, otherAttachments: { attach: ['b', 'c.png', './b'] } })).toEqual([
    { text: '=== b ===' },
    media('text/plain', 'B'),
    { text: '=== c.png ===' },
    media('image/png', PNG),
  ]);
});

test('-a - sends stdin as it is, and --mime-type says what it is', async () => {
  const attach = ['-'];
  expect(await parts({ cwd: '/', prompt: 'P', otherAttachments: { attach }, ...stdin('S') })).toEqual([
    media('text/plain', 'S'),
    { text: 'P' },
  ]);
  expect(await parts({ cwd: '/', otherAttachments: { attach }, ...stdin(PNG) })).toEqual([media('image/png', PNG)]);
  expect(await parts({ cwd: '/', otherAttachments: { attach, mimeType: 'x/y' }, ...stdin(PNG) })).toEqual([
    media('x/y', PNG),
  ]);
});

test('--mime-type makes media of -f - and of what is neither text nor known', async () => {
  const cwd = temporary({ 'a.bin': 'a\0b' });
  const otherAttachments = { attach: [], mimeType: 'text/csv' };
  expect(await parts({ cwd, files: ['-'], otherAttachments, ...stdin('a,b') })).toEqual([media('text/csv', 'a,b')]);
  expect(await parts({ cwd, otherAttachments: { attach: ['a.bin'], mimeType: 'audio/l16' } })).toEqual([
    media('audio/l16', 'a\0b'),
  ]);
});

test('the clipboard goes along under its name, or as the picture it is', async () => {
  const clipboard = (content: string | Uint8Array) => ({ attach: [], clipboard: async () => Buffer.from(content) });
  expect(await parts({ cwd: '/', prompt: 'P', otherAttachments: clipboard('C') })).toEqual([
    { text: '=== clipboard ===\nC\n\nP' },
  ]);
  expect(await parts({ cwd: '/', otherAttachments: clipboard(PNG) })).toEqual([media('image/png', PNG)]);
});

test.for([
  ['nothing.txt', 'no such file: nothing.txt'],
  ['dir', '-a takes files, and dir is a directory'],
  ['a.bin', 'the media type of a.bin is not known'],
])('-a %s is refused', async ([name = '', message]) => {
  const cwd = temporary({ 'a.bin': 'a\0b', 'dir/x': '' });
  await expect(parts({ cwd, otherAttachments: { attach: [name] } })).rejects.toMatchObject({ fault: 'usage', message });
});
