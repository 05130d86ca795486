import { chunk, finish, sse } from '../../support/gemini.ts';
import { type Fault, IN_PIPES, row, type Variant } from '../fault.ts';
import { begun, CHUNKED_HEAD, chunked, eventFor, events, SSE_HEAD, sseText, steps } from '../wire-answers.ts';
import type { Play } from '../wire-server.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const CUT = /cut short/;
const textChunk = (text: string): object => chunk([{ text }]);

const LANGUAGES = ['Grüße, ', 'привет, ', '你好，', 'مرحبا، ', '👩‍👩‍👧‍👦 ', 'e\u0301 ', 'plain. '];
const LONG = Array.from({ length: 120 }, (_, index) => LANGUAGES[index % LANGUAGES.length] ?? '');

/** The stream in pieces of these sizes, over and over. */
function inPieces(bytes: Buffer, sizes: readonly number[]): Play {
  return {
    *steps() {
      yield { send: CHUNKED_HEAD };
      for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        yield { send: chunked(bytes.subarray(start, start + size)) };
        start += size;
      }
      yield { send: chunked('') };
      yield { end: 'fin' };
    },
  };
}

/** Sizes that look like chance, and are the same for the same seed. */
function sizesOf(seed: number): readonly number[] {
  let state = seed;
  return Array.from({ length: 97 }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return 1 + (state % [3, 40, 600, 65_536][state % 4]!);
  });
}

/** One event of the answer whole, the next up to an offset, and then the line is cut. */
function cutAt(offset: number, end: 'fin' | 'reset'): Play {
  return {
    steps: (request) => [
      ...begun(['Hel']).steps(request),
      { send: chunked(Buffer.from(eventFor(request, textChunk('lo.'))).subarray(0, offset)) },
      { end },
    ],
  };
}

/** The same, but the transport says that all is well. */
const endedEarly = (offset: number): Play => ({
  steps: (request) => [
    ...begun(['Hel']).steps(request),
    { send: chunked(Buffer.from(eventFor(request, textChunk('lo.'))).subarray(0, offset)) },
    { send: chunked('') },
    { end: 'fin' },
  ],
});

const OFFSETS = [1, 5, 6, 20, 40, 60, 80, 100];
const cut = { code: 3, says: CUT, text: 'Hel' } as const;

/** In the middle of a character of so many bytes, after this many of them. */
function tornCharacter(character: string, after: number): Variant {
  const event = Buffer.from(sse(textChunk(`lo ${character}`)));
  const at = event.indexOf(Buffer.from(character)) + after;
  return {
    name: `${after} of ${Buffer.byteLength(character)} bytes`,
    model: [begun(['Hel'], { send: chunked(event.subarray(0, at)) }, { end: 'fin' })],
    expect: cut,
  };
}

/** A body in whatever framing. */
function body(text: string): Play {
  return steps({ send: SSE_HEAD }, { send: text }, { end: 'fin' });
}

const FIRST = JSON.stringify(textChunk('Hel'));
const LAST = JSON.stringify(finish('STOP', [{ text: 'lo.' }]));

/** The rows S1 to S7, and S14: bytes in pieces, and bytes that are missing. */
export const STREAM: readonly Fault[] = [
  row(
    'S1',
    'any TCP chunking',
    [
      { name: 'one byte at a time', sizes: [1] },
      ...[1, 2, 3, 4, 5].map((seed) => ({ name: `seed ${seed}`, sizes: sizesOf(seed) })),
    ].map(({ name, sizes }) => ({
      name,
      model: [inPieces(Buffer.from(sseText(...LONG)), sizes)],
      expect: { code: 0, text: LONG.join('') },
      ways: IN_PIPES,
    })),
  ),
  row('S2', 'cut inside an SSE event', [
    ...OFFSETS.map((offset) => ({ name: `FIN after ${offset} bytes`, model: [cutAt(offset, 'fin')], expect: cut })),
    ...OFFSETS.map((offset) => ({ name: `RST after ${offset} bytes`, model: [cutAt(offset, 'reset')], expect: cut })),
  ]),
  row('S3', 'cut inside a UTF-8 sequence', [
    tornCharacter('好', 1),
    tornCharacter('好', 2),
    tornCharacter('👋', 2),
    tornCharacter('👋', 3),
  ]),
  row(
    'S4',
    'clean end mid-event (chunked terminator)',
    OFFSETS.map((offset) => ({ name: `after ${offset} bytes`, model: [endedEarly(offset)], expect: cut })),
  ),
  row('S5', 'complete text, no finishReason, clean end', [
    {
      name: 'chunked',
      model: [events(textChunk('Hello.'))],
      expect: { code: 3, says: /without a finish reason/, text: 'Hello.' },
    },
  ]),
  row(
    'S6',
    'final event has no blank line after it, but is complete JSON with finish reason',
    ['', '\n', '\r'].map((ending) => ({
      name: JSON.stringify(ending),
      model: [body(`data: ${FIRST}\n\ndata: ${LAST}${ending}`)],
      expect: HELLO,
    })),
  ),
  row(
    'S7',
    'CR, LF, CRLF mixed; data: with and without space; multi-line data; : comments; event:, id:, retry:; BOM first',
    [
      {
        name: 'all at once',
        text: `\ufeff: hi\revent: x\r\nid: 7\nretry: 1\ndata:${FIRST}\r\r: more\n\ndata: ${LAST.replace('{', '{\ndata: ')}\r\n\r\n`,
      },
      { name: 'CR', text: `data: ${FIRST}\r\rdata: ${LAST}\r\r` },
      { name: 'LF', text: `data: ${FIRST}\n\ndata: ${LAST}\n\n` },
      { name: 'CRLF', text: `data: ${FIRST}\r\n\r\ndata: ${LAST}\r\n\r\n` },
      { name: 'unknown fields', text: `colour: red\nnothing\ndata: ${FIRST}\n\n:\n\ndata:${LAST}\n\n` },
    ].map(({ name, text }) => ({ name, model: [body(text)], expect: HELLO })),
  ),
  row('S14', 'one malformed JSON event among good ones', [
    {
      name: 'a quote too few',
      model: [body(`data: ${FIRST}\n\ndata: {"candidates: []}\n\ndata: ${LAST}\n\n`)],
      expect: { code: 3, says: /malformed event/, text: 'Hel' },
    },
    {
      name: 'binary',
      model: [body(`data: ${FIRST}\n\ndata: \u0000\u0001\ufffd\n\ndata: ${LAST}\n\n`)],
      expect: { code: 3, says: /malformed event/, text: 'Hel' },
    },
  ]),
];
