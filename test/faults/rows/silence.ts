import { chunk, finish, sse } from '../../support/gemini.ts';
import { type Fault, PLAIN_PIPE, row } from '../fault.ts';
import { fastClock } from '../injections.ts';
import { begun, CHUNKED_HEAD, chunked, events, head, reply, steps } from '../wire-answers.ts';
import type { Play, Step } from '../wire-server.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const four = (play: Play): readonly Play[] => [play, play, play, play];
const textChunk = (text: string): object => chunk([{ text }]);

function* drip(text: string, pauseMs: number): Generator<Step> {
  for (const [piece] of text.matchAll(/.{1,8}/gs)) {
    yield { send: chunked(piece) };
    yield { pauseMs };
  }
}

/** The rows S8 to S13: bytes that come late, or not at all. */
export const SILENCE: readonly Fault[] = [
  row('S8', 'slow drip: 1 byte / 5 s', [
    {
      name: 'until the time is up',
      args: ['-t', '2s', 'hello'],
      model: [
        {
          *steps(request) {
            yield* begun(['Hel']).steps(request);
            yield* drip(sse(textChunk('lo.')).repeat(1000), 20);
          },
        },
      ],
      expect: { code: 3, says: /timed out after 2 s/ },
    },
    {
      name: 'longer than the idle timer, in all',
      env: { GMN_IDLE_TIMEOUT: '2s' },
      ways: PLAIN_PIPE,
      model: [
        {
          *steps(request) {
            yield* begun(['Hel']).steps(request);
            yield* drip(sse(finish('STOP', [{ text: 'lo.' }])), 90);
            yield { end: 'fin' };
          },
        },
      ],
      expect: HELLO,
    },
  ]),
  row('S9', 'slow drip of comments only (keep-alive, no data)', [
    {
      name: 'until the content timer',
      model: four({
        *steps(request) {
          yield* begun([]).steps(request);
          yield* drip(': still here\n\n'.repeat(10_000), 5);
        },
      }),
      play: (scene) => scene.run(undefined, { env: { NODE_OPTIONS: fastClock(scene, 2000) } }),
      args: ['-t', '0', 'hello'],
      expect: { code: 3, says: /keeps the connection open but sends no answer/, text: '' },
    },
    {
      name: 'until the time is up',
      args: ['-t', '4s', 'hello'],
      ways: PLAIN_PIPE,
      model: [
        {
          *steps(request) {
            yield* begun(['Hel']).steps(request);
            yield* drip(': still here\n\n'.repeat(10_000), 5);
          },
        },
      ],
      expect: { code: 3, says: /timed out after 4 s/, text: 'Hel' },
    },
  ]),
  row('S10', 'stalled after headers', [
    {
      name: 'each time',
      env: { GMN_IDLE_TIMEOUT: '100ms' },
      model: four(steps({ send: CHUNKED_HEAD }, { end: 'hold' })),
      expect: { code: 3, says: /sent nothing for 100 ms/, text: '' },
    },
    {
      name: 'once',
      env: { GMN_IDLE_TIMEOUT: '300ms' },
      model: [steps({ send: CHUNKED_HEAD }, { end: 'hold' }), reply('Hello.')],
      expect: HELLO,
    },
    {
      name: 'without headers, each time',
      env: { GMN_HEADERS_TIMEOUT: '100ms' },
      model: four(steps({ end: 'hold' })),
      expect: { code: 3, says: /no answer from .* within 100 ms/, text: '' },
    },
  ]),
  row('S11', 'stalled after 3 events', [
    {
      name: 'silence',
      env: { GMN_IDLE_TIMEOUT: '300ms' },
      model: [begun(['H', 'e', 'l'], { end: 'hold' })],
      expect: { code: 3, says: /sent nothing for 300 ms/, text: 'Hel' },
    },
    {
      name: 'half-closed by the server, with the body unfinished',
      env: { GMN_IDLE_TIMEOUT: '300ms' },
      model: [begun(['H', 'e', 'l'], { end: 'half-close' })],
      expect: { code: 3, says: /cut short|sent nothing/, text: 'Hel' },
    },
  ]),
  row(
    'S12',
    'empty stream (200, zero events)',
    [
      { name: 'chunked', play: events() },
      {
        name: 'of no length',
        play: steps(
          { send: head(200, { 'content-type': 'text/event-stream', 'content-length': '0' }) },
          { end: 'fin' },
        ),
      },
      { name: 'STOP without text', play: events(finish()) },
    ].map(({ name, play }) => ({ name, model: four(play), expect: { code: 3, says: /empty response/, text: '' } })),
  ),
  row('S13', 'only metadata / usage events', [
    {
      name: 'usage and version',
      model: four(events({ usageMetadata: { totalTokenCount: 3 } }, { modelVersion: 'x' }, { responseId: 'y' })),
      expect: { code: 3, says: /empty response/, text: '' },
    },
  ]),
];
