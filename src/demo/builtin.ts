import type { JsonObject } from '../core/json.ts';
import { type Answer, type Chunk, say } from './chunk.ts';
import { callableTools, type DemoRequest, isAnswer, parseObject, textOf } from './request.ts';

type Usage = NonNullable<Answer['usage']>;

/** Answers that never change, by question in lower case. The documented sample runs depend on every byte. */
const FIXED: ReadonlyMap<string, readonly [texts: readonly string[], usage: Usage]> = new Map([
  [
    'hello',
    [
      ['Hello', '! How can', ' I help you today?'],
      [5, 12],
    ],
  ],
  [
    'hi',
    [
      ['Hi! What are', ' we building today?'],
      [4, 9],
    ],
  ],
  [
    'review this change',
    [
      [
        '- src/sum.ts:3 adds a loop that never ends when `n` is negative. Guard it.\n',
        '- STYLE.md asks for `const`; line 5 uses `let`.',
      ],
      [48, 31],
    ],
  ],
  [
    'bash script that prints the date',
    [
      ['```bash\n', "date '+%F'\n", '```'],
      [9, 14],
    ],
  ],
  ['best month for kyoto?', [['November.'], [8, 3]]],
]);

const EDIT = {
  ask: '挨拶を日本語にして',
  args: { file_path: 'hello.js', old_string: 'console.log("Hello");', new_string: 'console.log("こんにちは");' },
};

/** What the tour and the sample runs ask; undefined for every other question. `sign` signs the calls made here. */
export function builtinAnswer(request: DemoRequest, sign: (call: JsonObject) => string): Answer | undefined {
  const last = request.contents.at(-1);
  const asked = request.contents.findLast(({ role, parts }) => role !== 'model' && !parts.some(isAnswer));
  if (last === undefined || asked === undefined) return undefined;
  if (textOf(asked.parts).includes(EDIT.ask)) return editAnswer(request, sign);
  if (last !== asked) return undefined;
  const question = lastLine(textOf(last.parts.slice(-1)));
  const fixed = FIXED.get(question);
  const schema = request.generationConfig.responseJsonSchema ?? request.generationConfig.responseSchema;
  if (question === '3 colors') return colors(parseObject(schema));
  if (schema !== undefined) return undefined;
  if (fixed !== undefined) return say(...fixed);
  if (question === 'and the second best?' && mentions(request, 'Kyoto')) return say(['April.'], [21, 2]);
  if (question === 'write a very long story') return { chunks: story(), isCountedLate: true };
  const count = /^count to (\d{1,7})$/.exec(question)?.[1];
  return count === undefined ? undefined : { chunks: numbers(Number(count)), isUnlimited: true };
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim().toLowerCase() ?? '';
}

function mentions(request: DemoRequest, word: string): boolean {
  return request.contents.some(({ parts }) => textOf(parts).includes(word));
}

function colors(schema: JsonObject): Answer | undefined {
  if (Object.keys(schema).length === 0) return say(['red, green', ', blue'], [6, 5]);
  if (String(schema.type).toLowerCase() !== 'array') return undefined;
  return say(['["red",', '"green",', '"blue"]'], [6, 9]);
}

function editAnswer(request: DemoRequest, sign: (call: JsonObject) => string): Answer | undefined {
  const answered = request.contents.at(-1)?.parts.find(isAnswer);
  if (answered !== undefined) {
    const { response } = parseObject(answered.functionResponse);
    const isDone = parseObject(response).error === undefined;
    return say([isDone ? '日本語の挨拶に変えました。' : '変更できませんでした。'], [56, 12]);
  }
  const name = ['edit_file', 'replace'].find((tool) => callableTools(request).includes(tool));
  if (name === undefined) return undefined;
  const call = { name, args: name === 'replace' ? { ...EDIT.args, instruction: EDIT.ask } : EDIT.args };
  const part = { functionCall: { id: 'demo-edit', ...call }, thoughtSignature: sign(call) };
  return { chunks: [{ parts: [part] }], usage: [40, 29] };
}

const STORY_PAUSE_MS = 400;

function* story(): Generator<Chunk> {
  yield { parts: [{ text: 'Once upon a time, in a harbour town' }] };
  yield { parts: [{ text: ', a clockmaker took in a parcel that ticked.' }], pauseMs: 2000 };
  const visitors = ['a sailor', 'the baker', 'two sisters', 'the postman', 'a stray cat'];
  const wishes = ['to know the time in another port', 'to buy an hour', 'to hear it strike', 'to be told a secret'];
  for (let day = 1; day <= 60; day += 1) {
    const text = ` On day ${day} came ${visitors[day % 5]}, who wanted ${wishes[day % 4]}.`;
    yield { parts: [{ text }], pauseMs: STORY_PAUSE_MS };
  }
  yield { parts: [{ text: ' On the last day it stopped, and the whole town was on time.' }] };
}

const NUMBERS_PER_CHUNK = 250;

function* numbers(last: number): Generator<Chunk> {
  for (let first = 1; first <= last; first += NUMBERS_PER_CHUNK) {
    const size = Math.min(NUMBERS_PER_CHUNK, last - first + 1);
    const lines = Array.from({ length: size }, (_line, index) => first + index).join('\n');
    yield { parts: [{ text: first + size > last ? lines : `${lines}\n` }] };
  }
}
