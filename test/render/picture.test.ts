import fc from 'fast-check';
import { expect, test } from 'vitest';
import { drawPicture } from '../../src/demo/picture.ts';
import { choosePictures, formatPicture } from '../../src/render/picture.ts';
import { picturesIn } from '../support/png.ts';

test('either sequence holds the very bytes, however many, and nothing that could end it early', () => {
  const window = fc.record({ columns: fc.integer({ min: 1, max: 300 }), rows: fc.integer({ min: 1, max: 100 }) });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 9000 }), fc.constantFrom('kitty', 'iterm2'), window, (tail, how, size) => {
      const bytes = Buffer.concat([drawPicture('x'), tail]);
      const picture = { mimeType: 'image/png', data: bytes.toString('base64') };
      const sequence = formatPicture(how, picture, size) ?? '';
      expect(picturesIn(sequence).map((each) => each.equals(bytes))).toEqual([true]);
      const columns = Number(/[,;](?:c|width)=(\d+)/.exec(sequence)?.[1]);
      expect(columns).toBeGreaterThanOrEqual(1);
      expect(columns).toBeLessThanOrEqual(size.columns);
    }),
    { numRuns: 40 },
  );
});

test.for([
  [
    'kitty',
    {
      mimeType: 'image/jpeg',
      data: Buffer.from('\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10', 'latin1').toString('base64'),
    },
  ],
  ['kitty', { mimeType: 'image/png', data: Buffer.from('no picture').toString('base64') }],
  ['iterm2', { mimeType: 'image/png', data: '\u0007\u001b]0;evil' }],
] as const)('%s is sent nothing of what it could not show', ([how, picture]) => {
  expect(formatPicture(how, picture, { columns: 80, rows: 24 })).toBeUndefined();
});

test.for([
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ TERM: 'xterm-256color', KITTY_WINDOW_ID: '1' }, 'kitty'],
  [{ TERM: 'xterm-ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, 'iterm2'],
  [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'iterm2'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'iterm2'],
  [{ TERM: 'tmux-256color', KITTY_WINDOW_ID: '1' }, undefined],
  [{ TERM: 'xterm-kitty', TMUX: '/tmp/x,1,0' }, undefined],
  [{ TERM: 'screen', TERM_PROGRAM: 'iTerm.app' }, undefined],
  [{ TERM: 'dumb', KITTY_WINDOW_ID: '1' }, undefined],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' }, undefined],
  [{}, undefined],
] as const)('%j shows pictures as %s', ([env, how]) => {
  expect(choosePictures('auto', env)).toBe(how);
  expect(choosePictures('never', env)).toBeUndefined();
  expect(choosePictures('kitty', env)).toBe('kitty');
});
