import { expect, test } from 'vitest';
import { classifyResponse } from '../../src/api/failure.ts';
import { describeEntry, formatFirstLine, sanitizeLines } from '../../src/app/servers/view.ts';
import { formatName } from '../../src/app/sessions.ts';
import { questionView } from '../../src/approval/view.ts';
import { formatBanner, formatSessionRows } from '../../src/chat/banner.ts';
import type { Chat } from '../../src/chat/chat.ts';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import type { RenderOptions } from '../../src/render/renderer.ts';
import { isLong } from '../support/fuzz.ts';
import { type FakeOut, renderOn, sharedScreen } from './fakes.ts';
import { begin, end } from './runs.ts';
import { type Sequence, sequences } from './sequences.ts';

const COUNT = isLong ? 2000 : 800;
const SEQUENCES = sequences(COUNT);

/** All that a terminal could obey: nothing is styled here, so that not one escape is ours. */
const OBEYED = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** What moves the cursor for text that flows. */
const DRAWN = /\u001b\[(?:\d+[ABC]|[JK]|\?7[lh])|\r/g;

async function screen(events: readonly TurnEvent[], options: Partial<RenderOptions> = {}): Promise<string> {
  const io: { readonly screen: FakeOut } & Parameters<typeof renderOn>[0] = sharedScreen({ columns: 500 });
  await renderOn(io, 'text', events, options);
  return io.screen.text;
}

/** One place where words of others come onto a terminal; each gets the text in the two pieces it was cut into. */
type Sink = (head: string, tail: string) => Promise<string> | string;

const failed = (error: string): TurnEvent => ({
  type: 'answer',
  id: '1',
  name: error,
  outcome: { ok: false, response: { error } },
});

const SINKS: Readonly<Record<string, Sink>> = {
  'the answer': (head, tail) =>
    screen([begin, { type: 'text', delta: head }, { type: 'text', delta: tail }, end], { render: 'never' }),
  'the answer, laid out': (head, tail) =>
    screen([begin, { type: 'text', delta: head }, { type: 'text', delta: tail }, end], {
      render: 'always',
      isDumb: true,
    }),
  'the answer, as it flows': async (head, tail) =>
    (await screen([begin, { type: 'text', delta: head }, { type: 'text', delta: tail }, end])).replace(DRAWN, ''),
  thoughts: (head, tail) =>
    screen([begin, { type: 'thought', delta: head }, { type: 'thought', delta: tail }, end], { showThoughts: true }),
  'calls and what tools give': (head, tail) =>
    screen(
      [begin, { type: 'call', id: '1', name: head + tail, args: { command: head + tail } }, failed(head + tail), end],
      { isChat: true },
    ),
  questions: async (head, tail) => {
    const text = head + tail;
    const previews = [
      { kind: 'text', text },
      { kind: 'command', command: text, directory: text },
      { kind: 'diff', path: text, diff: `@@ -1 +1 @@\n-${text}\n+${text}\n`, added: 1, removed: 1 },
    ] as const;
    const options = { columns: 500, isStyled: false, pause: async () => {} };
    const views = await Promise.all(previews.map((preview) => questionView(text, preview, options)));
    return views.flatMap(({ title, body }) => [...title, ...body]).join('\n');
  },
  'titles of sessions': (head, tail) => {
    const summary = {
      id: 'a',
      name: head + tail,
      title: tail + head,
      turns: 1,
      isUnanswered: false,
      source: 'chat' as const,
      bytes: 1,
      file: 'x',
      updatedAt: 0,
      createdAt: 0,
      cwd: head + tail,
    };
    return `${formatSessionRows([{ summary, number: 1 }], 0)
      .flat()
      .join(' ')} ${formatName(head + tail)}`;
  },
  'words of MCP servers': (head, tail) => {
    const text = head + tail;
    const { name, commandLine } = describeEntry({ name: text, written: { command: text, args: [text] } });
    return [formatFirstLine(text), sanitizeLines(text), name, commandLine].join('\n');
  },
  'bodies of errors': (head, tail) => {
    const body = JSON.stringify({ error: { code: 400, message: head + tail, status: head + tail } });
    const refusal = {
      status: 400,
      headers: {},
      body,
      model: 'm',
      secrets: new Set<string>(),
      credential: 'key',
      authHint: '',
    } as const;
    const page = { ...refusal, status: 502, body: `<html><body>${head}${tail}</body></html>` };
    const words = [refusal, page].map((one) => classifyResponse(one));
    return Promise.all(words.map((error) => screen([begin, { type: 'failure', error }]))).then((all) => all.join(''));
  },
  'names of files, and notices': (head, tail) =>
    screen([
      { type: 'notice', message: `${head}${tail} is not used` },
      { type: 'failure', error: new AppError('usage', `no such file: ${head}${tail}`, { hint: head + tail }) },
    ]),
  'the greeting of a chat': (head, tail) => {
    const model = head + tail;
    const chat: unknown = {
      app: { version: '1', cwd: `/${head}${tail}`, env: {} },
      run: {
        facts: { agent: { request: { model } }, model: { billedTo: 'x' }, setup: { model: {}, tools: {} }, tools: [] },
      },
      view: { columns: 10_000 },
    };
    return formatBanner(parseChat(chat));
  },
};

function parseChat(value: unknown): Chat {
  return value as Chat;
}

/** Whether one sequence, cut at a place, did nothing, and took nothing along of what stands around it. */
async function isHarmless(sink: Sink, { text, isEnded }: Sequence, cut: number): Promise<boolean> {
  const shown = await sink(`before${text.slice(0, cut)}`, `${text.slice(cut)}after`);
  return !OBEYED.test(shown) && shown.includes('before') && (!isEnded || shown.includes('after'));
}

test.for(Object.entries(SINKS))('no sequence gets through: %s', async ([, sink]) => {
  expect(SEQUENCES).toHaveLength(COUNT);
  const through: string[] = [];
  for (const [index, sequence] of SEQUENCES.entries()) {
    const cut = index % (sequence.text.length + 1);
    if (!(await isHarmless(sink, sequence, cut))) through.push(JSON.stringify([sequence.text, cut]));
  }
  expect(through.slice(0, 10)).toEqual([]);
});

test('wherever a sequence is cut, nothing of it gets through the answer', async () => {
  const sink: Sink = SINKS['the answer'] ?? (() => '');
  const through: string[] = [];
  for (const sequence of SEQUENCES.slice(0, 500)) {
    for (let cut = 0; cut <= sequence.text.length; cut += 1) {
      if (!(await isHarmless(sink, sequence, cut))) through.push(JSON.stringify([sequence.text, cut]));
    }
  }
  expect(through.slice(0, 10)).toEqual([]);
});
