import { readdirSync } from 'node:fs';
import { call, chunk, finish, sse } from '../../support/gemini.ts';
import { type Fault, IN_PIPES, PLAIN_PIPE, row } from '../fault.ts';
import { answered } from '../oracle.ts';
import { CHUNKED_HEAD, chunked, events, steps } from '../wire-answers.ts';
import type { Play, Step } from '../wire-server.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const MB = 1024 * 1024;
const textChunk = (text: string): object => chunk([{ text }]);

const SHAPES: Readonly<Record<string, unknown>> = {
  'candidates is a string': { candidates: 'x' },
  null: null,
  'a list': [],
  'a number': 7,
  'a string': 'x',
  true: true,
  'candidates is null': { candidates: null },
  'candidates is an object': { candidates: {} },
  'a candidate is null': { candidates: [null] },
  'a candidate is a list': { candidates: [[]] },
  'content is a string': { candidates: [{ content: 'x' }] },
  'content is null': { candidates: [{ content: null }] },
  'parts is null': { candidates: [{ content: { parts: null } }] },
  'parts is a string': { candidates: [{ content: { parts: 'x' } }] },
  'a part is null': { candidates: [{ content: { parts: [null] } }] },
  'a text is a number': { candidates: [{ content: { parts: [{ text: 7 }] } }] },
  'a text is null': { candidates: [{ content: { parts: [{ text: null }] } }] },
  'a call is a string': { candidates: [{ content: { parts: [{ functionCall: 'x' }] } }] },
  'a finish reason is a number': { candidates: [{ finishReason: 7 }] },
  'usage is a string': { usageMetadata: 'x' },
  'feedback is a string': { promptFeedback: 'x' },
};

function shape(value: unknown): Play {
  const rest = [textChunk('Hello.'), finish()].map((event) => ({ send: chunked(sse(event)) }));
  const first = { send: chunked(`data: ${JSON.stringify(value)}\n\n`) };
  return steps({ send: CHUNKED_HEAD }, first, ...rest, { send: chunked('') }, { end: 'fin' });
}

const REASONS = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'LANGUAGE', 'OTHER', 'NEWLY_MADE'];

/** An event of so many megabytes, as it is asked for; `end` closes its text. */
function* hugeEvent(megabytes: number, isEnded: boolean): Generator<Step> {
  const [start = '', rest = ''] = sse(finish('STOP', [{ text: '@' }])).split('@');
  yield { send: CHUNKED_HEAD };
  yield { send: chunked(start) };
  const piece = chunked('0123456789abcdef'.repeat(MB / 16));
  for (let count = 0; count < megabytes; count += 1) yield { send: piece };
  if (!isEnded) return;
  yield { send: chunked(rest) };
  yield { send: chunked('') };
  yield { end: 'fin' };
}

function* manyEvents(count: number): Generator<Step> {
  const batch = chunked(sse(textChunk('x')).repeat(1000));
  yield { send: CHUNKED_HEAD };
  for (let sent = 0; sent < count; sent += 1000) yield { send: batch };
  yield { send: chunked(sse(finish())) };
  yield { send: chunked('') };
  yield { end: 'fin' };
}

const CALL = call('write_file', { file_path: 'made.txt', content: 'x' });

/** The rows S15 to S27: what the model's server says, and what it should not. */
export const REPLIES: readonly Fault[] = [
  row(
    'S15',
    'valid JSON, wrong shape: null, [], candidates:"x", parts:null, text as number',
    Object.entries(SHAPES).map(([name, value]) => ({
      name,
      model: [shape(value)],
      isEndless: true,
      expect: { code: [0, 3] },
    })),
  ),
  row('S16', 'error object inside the stream after text', [
    {
      name: '500',
      model: [events(textChunk('Hel'), { error: { code: 500, status: 'INTERNAL', message: 'Oops.' } })],
      expect: { code: 3, says: /500 INTERNAL.*Oops\./, text: 'Hel' },
    },
    {
      name: '429',
      model: [events(textChunk('Hel'), { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Slow.' } })],
      expect: { code: 3, says: /quota exceeded.*429/, text: 'Hel' },
    },
  ]),
  row(
    'S17',
    'promptFeedback.blockReason',
    ['SAFETY', 'NEWLY_MADE'].map((blockReason) => ({
      name: blockReason,
      model: [events({ promptFeedback: { blockReason } })],
      expect: { code: 3, says: new RegExp(`prompt blocked: ${blockReason}`), text: '' },
    })),
  ),
  row(
    'S18',
    'finish SAFETY / RECITATION / BLOCKLIST / PROHIBITED_CONTENT / SPII / LANGUAGE / OTHER / unknown value',
    REASONS.flatMap((reason) => [
      {
        name: `${reason}, some text`,
        model: [events(textChunk('Hel'), finish(reason))],
        expect: { code: 3, says: new RegExp(reason), text: 'Hel' },
      },
      {
        name: `${reason}, no text`,
        model: [events(finish(reason))],
        expect: { code: 3, says: new RegExp(reason), text: '' },
      },
    ]),
  ),
  row('S19', 'MAX_TOKENS with text', [
    {
      name: 'a warning',
      model: [events(textChunk('Hello.'), finish('MAX_TOKENS'))],
      expect: { ...HELLO, says: /token limit/ },
    },
  ]),
  row('S20', 'MAX_TOKENS without text (all spent on thinking)', [
    {
      name: 'thoughts only',
      model: [events(chunk([{ text: 'Hm.', thought: true }]), finish('MAX_TOKENS'))],
      expect: { code: 3, says: /token limit was spent[\s\S]*--max-output-tokens/, text: '' },
    },
  ]),
  row(
    'S21',
    'MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL',
    ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'].flatMap((reason) =>
      [[], [CALL]].map((parts) => ({
        name: `${reason}${parts.length === 0 ? '' : ', with a call'}`,
        args: ['--yolo', '--tools', 'edit', 'hello'],
        model: Array.from({ length: 3 }, () => events(finish(reason, parts))),
        expect: { code: 3, says: new RegExp(reason), text: '' },
        check: ({ cwd, problem }) => {
          if (readdirSync(cwd).length > 0) problem('other', 'the call was executed');
        },
      })),
    ),
  ),
  row('S22', 'thoughts only', [
    {
      name: 'one retry',
      model: Array.from({ length: 2 }, () => events(chunk([{ text: 'Hm.', thought: true }]), finish())),
      expect: { code: 3, says: /empty response/, text: '' },
    },
  ]),
  row('S23', 'huge event 50 MB', [
    {
      name: 'over the cap',
      ways: PLAIN_PIPE,
      model: [{ steps: () => hugeEvent(66, true) }],
      memoryMb: 400,
      expect: { code: 3, says: /more than 64 MB/, text: '' },
    },
    {
      name: '50 MB',
      ways: IN_PIPES,
      model: [{ steps: () => hugeEvent(50, true) }],
      memoryMb: 520,
      withinMs: 120_000,
      expect: { code: 0 },
      check: async ({ started, problem }) => {
        for (const run of started) {
          const { length } = answered(await run.ended).text;
          if (length !== 50 * MB) problem('lost', `${length} characters`);
        }
      },
    },
  ]),
  row('S24', 'one line without end, 200 MB', [
    {
      name: 'stopped at the cap',
      model: [{ steps: () => hugeEvent(200, false) }],
      memoryMb: 400,
      expect: { code: 3, says: /more than 64 MB/, text: '' },
    },
  ]),
  row(
    'S25',
    '1,000,000 tiny events',
    [20_000, 1_000_000].map((count) => ({
      name: String(count),
      ways: count > 100_000 ? PLAIN_PIPE : IN_PIPES,
      withinMs: 240_000,
      memoryMb: 300,
      model: [{ steps: () => manyEvents(count) }],
      expect: { code: 0, text: 'x'.repeat(count) },
    })),
  ),
  row('S26', 'duplicate final events, text after STOP', [
    { name: 'two ends', model: [events(textChunk('Hello.'), finish(), finish())], expect: HELLO },
    { name: 'text after the end', model: [events(textChunk('Hel'), finish(), textChunk('lo.'))], expect: HELLO },
  ]),
  row('S27', '2+ candidates', [
    {
      name: 'in one event, and alone',
      model: [
        events(
          {
            candidates: [
              { index: 0, content: { parts: [{ text: 'Hello.' }] } },
              { index: 1, content: { parts: [{ text: 'Bye.' }] } },
            ],
          },
          { candidates: [{ index: 1, content: { parts: [{ text: 'Bye.' }] }, finishReason: 'STOP' }] },
          finish(),
        ),
      ],
      expect: HELLO,
    },
  ]),
];
