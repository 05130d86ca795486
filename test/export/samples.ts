import { beginsTurn, type Part } from '../../src/core/content.ts';
import type { TurnRecord } from '../../src/core/history.ts';
import type { SavedRecord, SavedSession } from '../../src/core/session.ts';

type Reply = Extract<TurnRecord, { readonly kind: 'reply' }>;

const BEGUN = Date.UTC(2026, 0, 31, 9, 5, 12, 345);
const MODEL = 'gemini-2.5-flash';

/** A red dot. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==';

/** The records are a minute apart. */
export function sessionOf(
  records: readonly TurnRecord[],
  { notices = [], ...summary }: Partial<SavedSession['summary']> & { readonly notices?: readonly string[] } = {},
): SavedSession {
  return {
    summary: {
      id: '3f8a1c52-0d4e-4b7a-9c61-2e5f7a90b1d3',
      title: 'What is in a.txt?',
      cwd: '/home/ada/notes',
      model: MODEL,
      createdAt: BEGUN,
      updatedAt: BEGUN + 60_000 * Math.max(0, records.length - 1),
      turns: records.filter(({ content }) => beginsTurn(content)).length,
      isUnanswered: false,
      source: 'chat',
      bytes: 4096,
      file: '/home/me/.gmn/sessions/3f8a1c52.jsonl',
      ...summary,
    },
    records: records.map((record, index): SavedRecord => ({ ...record, at: BEGUN + 60_000 * index })),
    notices,
  };
}

export function prompt(...parts: readonly (Part | string)[]): TurnRecord {
  return { kind: 'prompt', content: { role: 'user', parts: partsOf(parts) } };
}

/** What gmn asks by itself within a turn, as after a failed `--verify`. */
export function followUp(...parts: readonly (Part | string)[]): TurnRecord {
  return { kind: 'prompt', content: { role: 'user', parts: partsOf(parts), isFollowUp: true } };
}

export function call(...parts: readonly (Part | string)[]): TurnRecord {
  const usage = { promptTokenCount: 1000, candidatesTokenCount: 20, totalTokenCount: 1020 };
  return {
    kind: 'call',
    content: { role: 'model', parts: partsOf(parts), origin: 'gemini-api:1' },
    usage,
    model: MODEL,
  };
}

export function answer(name: string, response: Readonly<Record<string, string>>, ...rest: readonly Part[]): TurnRecord {
  const id = `${name}-1`;
  return {
    kind: 'answer',
    content: { role: 'user', parts: [{ functionResponse: { id, name, response } }, ...rest] },
  };
}

export function reply(...parts: readonly (Part | string)[]): Reply {
  return { ...cutReply(...parts), finishReason: 'STOP' };
}

export function cutReply(...parts: readonly (Part | string)[]): Reply {
  const usage = { promptTokenCount: 1100, candidatesTokenCount: 35, thoughtsTokenCount: 5, totalTokenCount: 1140 };
  const content = { role: 'model', parts: partsOf(parts), origin: 'gemini-api:1' } as const;
  return { kind: 'reply', content, usage, model: MODEL };
}

function partsOf(parts: readonly (Part | string)[]): readonly Part[] {
  return parts.map((part) => (typeof part === 'string' ? { text: part } : part));
}

/** Everything a session can hold. */
export const small = sessionOf(
  [
    prompt('What is in a.txt, and in the picture?\n', { inlineData: { mimeType: 'image/png', data: PNG } }),
    call(
      { text: 'I should **read** it.', thought: true },
      'Let me look.',
      {
        functionCall: { id: 'read_file-1', name: 'read_file', args: { file_path: 'a.txt' } },
        thoughtSignature: 'c2ln',
      },
      { functionCall: { name: 'write_file', args: { file_path: 'b.txt', content: 'one\ntwo\n' } } },
    ),
    answer('read_file', { output: 'A fence:\n```\ncode\n```\n' }),
    answer('write_file', { error: 'denied: nobody is there to ask' }),
    reply('It holds a *fence*:\n\n```js\nconst a = "<b>";\n```\n\nSee [the manual](https://example.com/a?b=1&c).'),
    prompt('Thanks'),
    cutReply('You are wel'),
  ],
  { name: 'notes', notices: ['2 lines at the end could not be read'] },
);
