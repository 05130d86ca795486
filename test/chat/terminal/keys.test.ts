import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Key, keyDecoder } from '../../../src/chat/terminal/keys.ts';
import { anyText } from '../arbitrary.ts';

function keysOf(...chunks: readonly (string | Uint8Array)[]): readonly Key[] {
  const decoder = keyDecoder();
  return chunks.flatMap((chunk) => decoder.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
}

function named(...names: readonly string[]): readonly Key[] {
  return names.map((name) => ({ kind: 'key', name }));
}

function text(characters: string): readonly Key[] {
  return [...characters].map((character) => ({ kind: 'text', text: character }));
}

const SEQUENCES = [
  ...['\u001b', '\u001b\u001b', '\u001b[', '\u001bO', '\u001b[A', '\u001bOB', '\u001b[1;5C', '\u001b[3~', '\u001b[Z'],
  ...[
    '\u001b[13;2u',
    '\u001b[27;2;13~',
    '\u001b[?5u',
    '\u001b[?62;4c',
    '\u001b]11;rgb:0/0/0\u0007',
    '\u001bP1$r\u001b\\',
    `\u001b]52;${'x'.repeat(250)}`,
  ],
  ...[
    '\u001b[200~pasted\r\nこれ\u001b[A',
    '\u001b[201~',
    '\u001b[200~\u001b[201',
    '\r',
    '\n',
    '\t',
    '\u0003',
    '\u007f',
  ],
  ...['\u001b\r', '\u001bb', '\u001bあ', '\u001b[[A', '\u001b[99', ';5u', 'あ', '👨‍👩‍👧', '한', 'x'],
] as const;

test('however the bytes are cut, the same keys come out', () => {
  const bytes = fc.oneof(
    fc.array(fc.constantFrom(...SEQUENCES), { maxLength: 12 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
    anyText.map((written) => Buffer.from(written)),
  );
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(), { maxLength: 8 }), (whole, cuts) => {
      const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
      const pieces = places.slice(1).map((end, index) => whole.subarray(places[index], end));
      expect(keysOf(...pieces)).toEqual(keysOf(whole));
      expect(keysOf(...Array.from(whole, (byte) => Uint8Array.of(byte)))).toEqual(keysOf(whole));
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['\u001b[A\u001b[B\u001b[C\u001b[D', ['up', 'down', 'right', 'left']],
  ['\u001bOA\u001bOH\u001bOF', ['up', 'home', 'end']],
  [
    '\u001b[H\u001b[F\u001b[1~\u001b[4~\u001b[7~\u001b[8~\u001b[3~',
    ['home', 'end', 'home', 'end', 'home', 'end', 'delete'],
  ],
  ['\u001b[1;5C\u001b[1;3D\u001b[5C\u001b[3;5~', ['ctrl-right', 'alt-left', 'ctrl-right', 'ctrl-delete']],
  ['\r\n\t\u007f\b', ['enter', 'ctrl-j', 'tab', 'backspace', 'ctrl-h']],
  ['\u0001\u0003\u001a\u001f\u0000', ['ctrl-a', 'ctrl-c', 'ctrl-z', 'ctrl-_', 'ctrl-space']],
  ['\u001b\r\u001b\n\u001bb\u001b\u007f', ['alt-enter', 'alt-enter', 'alt-b', 'alt-backspace']],
  ['\u001b[Z\u001b[13;2u\u001b[27;2;13~\u001b[9;2u', ['shift-tab', 'shift-enter', 'shift-enter', 'shift-tab']],
  ['\u001b[99;5u\u001b[27u\u001b[120;3u\u001b[1089::99;5u', ['ctrl-c', 'escape', 'alt-x', 'ctrl-c']],
  ['\u001b\u001b[A', ['escape', 'up']],
])('%j', (bytes, names) => {
  expect(keysOf(bytes)).toEqual(named(...names));
});

test('a paste is one key, whatever is in it', () => {
  expect(keysOf('a\u001b[200~one\rtwo\u001b[A\u0003\u001b[201~b')).toEqual([
    ...text('a'),
    { kind: 'paste', text: 'one\rtwo\u001b[A\u0003' },
    ...text('b'),
  ]);
});

test('sequences nobody knows are swallowed whole', () => {
  const unknown = [
    '\u001b[I',
    '\u001b[15~',
    '\u001b[[A',
    '\u001b]0;title\u0007',
    '\u001bP+r\u001b\\',
    '\u001b[?1;2c',
    '\u001b[57358u',
  ];
  for (const sequence of unknown) expect(keysOf(`${sequence}x`)).toEqual(text('x'));
  expect(keysOf('\u001b[12\rx')).toEqual([...named('enter'), ...text('x')]);
  expect(keysOf('\u001b[99;5:3ux')).toEqual(text('x'));
});

test.each([']', 'P', 'X', '^', '_'])(
  'a string %j without an end hides no key after its line, nor after 256',
  (opener) => {
    const start = `\u001b${opener}`;
    expect(keysOf(`${start}0;title\rhello`)).toEqual([...named('enter'), ...text('hello')]);
    expect(keysOf(`${start}0;title\u0003`)).toEqual(named('ctrl-c'));
    expect(keysOf(`${start}${'🙂'.repeat(256)}hello`)).toEqual(text('hello'));
    expect(keysOf(`${start}${'x'.repeat(256)}\u001b\\y`)).toEqual(text('y'));
  },
);

test('a terminal that knows the kitty protocol says so', () => {
  expect(keysOf('\u001b[?0u')).toEqual([{ kind: 'kitty' }]);
});

test('nothing comes of half a character', () => {
  const [first, second, third] = Buffer.from('あ');
  const decoder = keyDecoder();
  expect(decoder.push(Uint8Array.of(first ?? 0))).toEqual([]);
  expect(decoder.push(Uint8Array.of(second ?? 0))).toEqual([]);
  expect(decoder.push(Uint8Array.of(third ?? 0))).toEqual(text('あ'));
});

test('Esc is a key once nothing has followed it, and the arrow that comes later is an arrow', () => {
  const decoder = keyDecoder();
  expect(decoder.push(Buffer.from('\u001b'))).toEqual([]);
  expect(decoder.isWaiting).toBe(true);
  expect(decoder.flush()).toEqual(named('escape'));
  expect(decoder.isWaiting).toBe(false);
  expect(decoder.push(Buffer.from('\u001b[A'))).toEqual(named('up'));
});

test('a pause in the middle of a sequence does not make text of its rest', () => {
  const decoder = keyDecoder();
  decoder.push(Buffer.from('\u001b[1;'));
  expect(decoder.flush()).toEqual([]);
  expect(decoder.push(Buffer.from('5C'))).toEqual(named('ctrl-right'));
  // Alt+[ and Alt+] look like the beginning of one.
  for (const keys of ['\u001b[', '\u001b]']) {
    decoder.push(Buffer.from(keys));
    expect(decoder.flush()).toEqual([]);
    expect(decoder.push(Buffer.from('a'))).toEqual(text('a'));
  }
});

test.each([
  ['\u001b[200~half', [{ kind: 'paste', text: 'half' }]],
  ['\u001b[200~', [{ kind: 'paste', text: '' }]],
  ['\u001b[200~half\u001b[20', [{ kind: 'paste', text: 'half' }]],
  ['\u001b', named('escape')],
  ['\u001b[1;', []],
  ['x', []],
] as const)('where the bytes of %j end, what had come counts', (bytes, keys) => {
  const decoder = keyDecoder();
  decoder.push(Buffer.from(bytes));
  expect(decoder.end()).toEqual(keys);
});
