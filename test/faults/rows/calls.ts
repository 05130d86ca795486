import { chunk, finish, sse } from '../../support/gemini.ts';
import { objection, type WirePart } from '../../support/gemini-rules.ts';
import { type Fault, IN_PIPES, row } from '../fault.ts';
import type { Scene } from '../scene.ts';
import { CHUNKED_HEAD, chunked, events, reply, steps } from '../wire-answers.ts';
import type { Play } from '../wire-server.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const MB = 1024 * 1024;
const textChunk = (text: string): object => chunk([{ text }]);

interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly WirePart[] }[];
}

/** Every history that was sent must be one that the API takes. */
function checkHistories({ server, problem }: Scene): void {
  for (const { body } of server.asked('model')) {
    const { contents }: Body = JSON.parse(body);
    const why = objection(
      contents,
      contents.flatMap(({ parts }) => parts),
    );
    if (why !== undefined) problem('session', why);
  }
}

const call = (name: unknown, args?: unknown, id?: string): object => ({
  functionCall: { name, args, id },
});

const SIGNATURE = Buffer.from('signed, and not to be touched').toString('base64');

/** What a run of the JSON formats says of its tokens. */
function checkUsage({ started, problem }: Scene): void {
  for (const run of started)
    if (/NaN|Infinity|undefined|-5|1\.5 |e\+/.test(run.output())) problem('other', run.output());
}

function begunOld(): Play {
  return steps(
    { send: 'HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n' },
    { send: sse(textChunk('Hello.')) + sse(finish()) },
    { end: 'fin' },
  );
}

/** The rows S28 to S32: calls, signatures, odd characters, odd counts. */
export const CALLS: readonly Fault[] = [
  row(
    'S28',
    'function call: missing args, args as string, unknown name, duplicate ids, no ids, 40 in parallel',
    (
      [
        ['missing args', [call('read_file')]],
        ['args as string', [call('read_file', 'a.txt')]],
        ['unknown name', [call('launch', {})]],
        ['no name', [call(undefined, {})]],
        ['duplicate ids', [call('list_directory', { path: '.' }, '1'), call('glob', { pattern: '*' }, '1')]],
        ['no ids', [call('list_directory', { path: '.' }), call('glob', { pattern: '*' })]],
        ['40 in parallel', Array.from({ length: 40 }, (_, n) => call('glob', { pattern: `${n}*` }, `id-${n}`))],
      ] as const
    ).map(([name, parts]) => ({
      name,
      args: ['--tools', 'read', 'hello'],
      model: [events(chunk(parts), finish()), reply('Hello.')],
      expect: HELLO,
      check: checkHistories,
    })),
  ),
  row(
    'S29',
    'thoughtSignature on text, call, empty part',
    (
      [
        ['a call', { ...call('list_directory', { path: '.' }, 'c'), thoughtSignature: SIGNATURE }, undefined],
        ['a text', { text: 'Well.', thoughtSignature: SIGNATURE }, call('list_directory', { path: '.' })],
        ['an empty part', { text: '', thoughtSignature: SIGNATURE }, call('list_directory', { path: '.' })],
      ] as const
    ).map(([name, signed, other]) => ({
      name,
      args: ['--tools', 'read', 'hello'],
      model: [events(chunk([signed, ...(other ? [other] : [])]), finish()), reply('Hello.'), reply('Again.')],
      play: async (scene) => {
        await scene.run();
        return scene.run(['-c', 'and again']);
      },
      expect: { code: 0, text: 'Again.' },
      check: (scene) => {
        checkHistories(scene);
        const [, ...later] = scene.server.asked('model');
        for (const { body } of later) {
          if (!body.includes(JSON.stringify(signed).slice(1, -1))) scene.problem('lost', `the signed part: ${body}`);
        }
      },
    })),
  ),
  row(
    'S30',
    'lone surrogate \\ud83d, NUL, U+2028, 1 MB word',
    [
      { name: 'a lone surrogate', sent: 'a\ud83db', text: 'a\ufffdb' },
      { name: 'NUL and U+2028', sent: 'a\0b\u2028c', text: 'a\0b\u2028c' },
      { name: '1 MB without a space', sent: 'w'.repeat(MB), text: 'w'.repeat(MB) },
    ].map(({ name, sent, text }) => ({ name, ways: IN_PIPES, model: [reply(sent)], expect: { code: 0, text } })),
  ),
  row(
    'S31',
    'usage missing / negative / float / huge',
    Object.entries({
      negative: { promptTokenCount: -5, totalTokenCount: -1 },
      missing: undefined,
      float: { promptTokenCount: 1.5, totalTokenCount: 2.5 },
      huge: { promptTokenCount: 1e300, totalTokenCount: 2 ** 60 },
      words: { promptTokenCount: 'many', totalTokenCount: null },
    }).flatMap(([name, usageMetadata]) => {
      const fault = {
        model: [events(textChunk('Hello.'), { ...finish(), usageMetadata })],
        expect: HELLO,
        check: checkUsage,
      };
      const inFormat = (isText: boolean) => IN_PIPES.filter(({ format }) => (format === 'text') === isText);
      // The JSON formats have it anyway, and take no flag for it.
      return [
        { ...fault, name, args: ['-u', '--no-session', 'hello'], ways: inFormat(true) },
        { ...fault, name: `${name}, as JSON`, args: ['--no-session', 'hello'], ways: inFormat(false) },
      ];
    }),
  ),
  row('S32', 'HTTP/1.1 trailers, 1xx interim responses', [
    {
      name: 'both',
      model: [
        steps(
          { send: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n' },
          { send: CHUNKED_HEAD.replace('\r\n\r\n', '\r\ntrailer: x-end\r\n\r\n') },
          { send: chunked(sse(textChunk('Hello.')) + sse(finish())) },
          { send: '0\r\nx-end: yes\r\n\r\n' },
          { end: 'fin' },
        ),
      ],
      expect: HELLO,
    },
    { name: 'HTTP/1.0', model: [begunOld()], expect: HELLO },
  ]),
];
