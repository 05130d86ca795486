import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Agent, createMemoryHistory } from '../../src/agent/agent.ts';
import { applyCompactions, estimateContent, listSent, prepareEstimates } from '../../src/agent/compacted.ts';
import { toContents } from '../../src/agent/history.ts';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import type { History } from '../../src/core/history.ts';
import { type JsonObject, toJsonObject } from '../../src/core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../../src/core/model.ts';
import type { Tool } from '../../src/core/tool.ts';
import { countPromptTokens } from '../../src/demo/reply.ts';
import { parseRequest } from '../../src/demo/request.ts';
import { checkRequest } from '../../src/demo/rules.ts';
import { createSignatureBook } from '../../src/demo/signature.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { agentOf, ok, play, tool, userContent } from './support.ts';

const MODEL = 'gemini-3.8-flash';

/** Twelve long questions and their short answers. */
const TALK = Array.from({ length: 12 }, (_, index) => [
  userContent(`${index} ${'word '.repeat(800)}`),
  { role: 'model', parts: [{ text: `ok ${index}` }] } as const,
]).flat();

type Step = readonly JsonObject[] | string;

interface Counting extends Model {
  readonly requests: ModelRequest[];
  readonly summaries: string[];
  readonly faults: string[];
  readonly tokens: number[];
}

/** A model that calls what it is told, refuses what Google would refuse, and counts `factor` times what gmn estimates. */
function countingModel(
  window: number,
  steps: readonly Step[],
  { summarise = (): string => 'Goal: go on.', factor = 1, isStrict = true } = {},
): Counting {
  const book = createSignatureBook();
  const result = { requests: [], summaries: [], faults: [], tokens: [] } as Omit<Counting, 'stream'>;
  let next = 0;
  async function* stream(request: ModelRequest): AsyncGenerator<ReplyEvent, Reply> {
    const { model, contents } = request;
    const { promptTokenCount, objection } = isStrict ? examine(request, book) : { promptTokenCount: measure(contents) };
    const fault = objection ?? (promptTokenCount * factor > window ? `too many tokens exceed ${window}` : undefined);
    if (fault !== undefined) {
      result.faults.push(fault);
      throw new AppError('api', fault, /exceed/.test(fault) ? { objection: 'length', windowTokens: window } : {});
    }
    yield { type: 'begin', model };
    const usage = { promptTokenCount: Math.round(promptTokenCount * factor), candidatesTokenCount: 7 };
    result.tokens.push(usage.promptTokenCount);
    const first = contents[0]?.parts[0];
    const asked = first !== undefined && 'text' in first ? first.text : '';
    if (asked.startsWith('Below is the record')) {
      result.summaries.push(asked);
      const text = summarise();
      yield { type: 'text', delta: text };
      return { finishReason: 'STOP', usage, model };
    }
    result.requests.push(request);
    const step = steps[next] ?? 'Done.';
    next += 1;
    if (typeof step === 'string') {
      yield { type: 'text', delta: step };
      return { finishReason: 'STOP', usage, model, content: { role: 'model', parts: [{ text: step }] } };
    }
    const calls = step.map((args, index) => ({
      id: `c${next}.${index}`,
      givenId: `c${next}.${index}`,
      name: 'look',
      args,
    }));
    const parts = calls.map(({ givenId, name, args }, index) => ({
      functionCall: { id: givenId, name, args },
      ...(index === 0 ? { thoughtSignature: book.sign({ name, args }) } : {}),
    }));
    return { finishReason: 'STOP', usage, model, content: { role: 'model', parts }, calls };
  }
  return { ...result, stream };
}

/** As the demo counts, and what it would refuse. */
function examine(request: ModelRequest, book: ReturnType<typeof createSignatureBook>) {
  const { model, contents, systemInstruction, tools, generationConfig } = request;
  const parsed = parseRequest(toJsonObject({ contents, systemInstruction, tools, generationConfig }), model);
  if (!parsed.ok) return { promptTokenCount: 0, objection: parsed.message };
  const { value } = parsed;
  const objection = checkRequest(value) ?? book.check(value.contents, model);
  return { promptTokenCount: countPromptTokens(value), objection };
}

/** Quick, for texts of four characters a token. */
function measure(contents: History['contents']): number {
  const outputs = outputsIn(contents).reduce((sum, { length }) => sum + length, 0);
  const texts = contents.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text.length : 100)));
  return Math.ceil(texts.reduce((sum, length) => sum + length, outputs) / 4);
}

/** Gives as many characters as it is asked for, never the same twice. */
function lookTool(): Tool {
  let count = 0;
  return tool('look', 'read', ({ size }) => {
    count += 1;
    return ok(`${count}:`.padEnd(Number(size), ` line ${count}\n`));
  });
}

function compactingAgent(model: Model, windowTokens: number | undefined, rest: Partial<Agent> = {}): Agent {
  return agentOf(model, [lookTool(), tool('read_file', 'read')], {
    request: { model: MODEL, generationConfig: {} },
    maxTurns: 1000,
    compaction: { windowTokens, threshold: 0.7 },
    outputs: { keep: async (text, store) => store?.(text), allow: () => {} },
    ...rest,
  });
}

/** Saves outputs in a map, as a session does in files. */
function sessionHistory(earlier: History['contents'] = []) {
  const files = new Map<string, string>();
  const history = createMemoryHistory({ keepsReplies: true, earlier });
  const keepOutput = async (text: string): Promise<string> => {
    const path = `/kept/${files.size}`;
    files.set(path, text);
    return path;
  };
  return { files, history: { ...history, keepOutput } as Required<Omit<History, 'dropReply' | 'appendDelta'>> };
}

function notices(events: readonly TurnEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
}

function outputsIn(contents: History['contents']): readonly string[] {
  return contents.flatMap(({ parts }) =>
    parts.flatMap((part) => ('functionResponse' in part ? [String(part.functionResponse.response.output)] : [])),
  );
}

function isPrefix(before: ModelRequest, after: ModelRequest): boolean {
  return isDeepStrictEqual(before.contents, after.contents.slice(0, before.contents.length));
}

test('two million tokens of tool output never exceed the window, and nothing of them is lost', async () => {
  const window = 120_000;
  const two = (index: number) => [1, 2].map((call) => ({ size: 40_000, index, call }));
  const steps = Array.from({ length: 100 }, (_, index) => two(index));
  const model = countingModel(window, steps, { isStrict: false });
  const { history, files } = sessionHistory();
  const { events, error } = await play(compactingAgent(model, window), history, { text: 'Read all of it.' });
  expect(error).toBeUndefined();
  expect(model.faults).toEqual([]);
  expect(Math.max(...model.tokens)).toBeLessThan(window);
  // The log has everything.
  const outputs = outputsIn(history.contents);
  expect(outputs.map((output) => output.length)).toEqual(Array(200).fill(40_000));
  // The model always has the prompt and the newest results, whole.
  for (const [index, { contents }] of model.requests.entries()) {
    expect(JSON.stringify(contents[0])).toContain('Read all of it.');
    if (index > 0) expect(outputsIn(contents.slice(-1))).toEqual(outputs.slice(2 * index - 2, 2 * index));
  }
  // A compaction costs the service's cache, so it is rare.
  const breaks = model.requests.filter(
    (request, index) => index > 0 && !isPrefix(model.requests[index - 1] as ModelRequest, request),
  );
  expect(breaks.length).toBeGreaterThan(10);
  expect(breaks.length).toBeLessThan(100 / 2);
  expect(history.compactions.length).toBeGreaterThanOrEqual(breaks.length);
  // What a pointer names is the whole result.
  const pointers = outputsIn(listSent(history)).flatMap((output) => /read_file (\S+) shows/.exec(output)?.[1] ?? []);
  expect(pointers.length).toBeGreaterThan(0);
  for (const path of pointers) expect(outputs).toContain(files.get(path));
  expect(notices(events)[0]).toMatch(
    /^made room in the model's window: \d+ old tool results moved to files; about \d+ tokens before, \d+ now$/,
  );
});

test('whatever the sizes of results, every request is valid and fits, and the log is complete', {
  timeout: FUZZ_TIMEOUT,
}, async () => {
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.array(fc.record({ size: fc.integer({ min: 1, max: 30_000 }) }), { minLength: 1, maxLength: 4 }),
    },
    {
      weight: 1,
      arbitrary: fc.array(fc.record({ size: fc.integer({ min: 50_000, max: 300_000 }) }), {
        minLength: 1,
        maxLength: 20,
      }),
    },
    { weight: 2, arbitrary: fc.string({ minLength: 1, maxLength: 5000 }) },
  );
  const conversation = fc.record({
    window: fc.integer({ min: 12_000, max: 60_000 }),
    steps: fc.array(step, { minLength: 1, maxLength: 40 }),
    prompt: fc.integer({ min: 1, max: 24_000 }),
    factor: fc.double({ min: 0.4, max: 1.4, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(conversation, async ({ window, steps, prompt, factor }) => {
      const unique = steps.map((one, index) =>
        // No two calls alike: the third of the same would be refused.
        typeof one === 'string' ? `${one}.` : one.map((args, call) => ({ ...args, index, call })),
      );
      const model = countingModel(window, unique, { factor });
      const { history } = sessionHistory();
      const agent = compactingAgent(model, window);
      let asked = 0;
      const said = unique.filter((one) => typeof one === 'string').length;
      for (let turn = 0; turn <= said; turn += 1) {
        const { error } = await play(agent, history, { text: `turn ${turn} `.padEnd(prompt, 'x ') });
        expect(error).toBeUndefined();
        // The prompt of the turn and the last reply are always there.
        for (const { contents } of model.requests.slice(asked))
          expect(JSON.stringify(contents)).toContain(`turn ${turn} `);
        asked = model.requests.length;
      }
      expect(model.faults).toEqual([]);
      const sizes = unique.flatMap((one) =>
        typeof one === 'string' ? [] : one.map(({ size }) => Math.max(Number(size), 2)),
      );
      expect(outputsIn(history.contents).map((output) => Math.max(output.length, 2))).toEqual(
        sizes.map((size) => expect.toSatisfy((length: number) => length >= size && length <= size + 3)),
      );
    }),
    fuzz(12, 2_000),
  );
});

test('results that are too long all together keep their beginning and end', async () => {
  const model = countingModel(30_000, [Array.from({ length: 8 }, (_, index) => ({ size: 100_000, index })), 'Done.']);
  const { history, files } = sessionHistory();
  const { error, events } = await play(compactingAgent(model, 30_000), history);
  expect([error, model.faults]).toEqual([undefined, []]);
  const sent = outputsIn(model.requests[1]?.contents ?? []);
  expect(sent).toHaveLength(8);
  for (const [index, output] of sent.entries()) {
    expect(output).toMatch(
      new RegExp(
        `^${index + 1}: line[\\s\\S]*\\n\\[… \\d+ characters are left out here to make room; read_file /kept/${index} shows all of it …\\]\\n[\\s\\S]*line ${index + 1}\\n`,
      ),
    );
    expect(files.get(`/kept/${index}`)).toHaveLength(100_000);
  }
  expect(notices(events)[0]).toContain('8 new tool results shortened');
});

test('if the model writes no summary, the run goes on as long as it fits', async () => {
  const history = createMemoryHistory({ keepsReplies: true, earlier: TALK });
  for (const summarise of [
    () => '  ',
    () => {
      throw new AppError('api', 'API error: quota', { shortMessage: 'quota' });
    },
  ]) {
    const model = countingModel(16_000, ['a', 'b'], { summarise });
    const { events, error } = await play(compactingAgent(model, 16_000), history, { text: 'go on' });
    expect(error).toBeUndefined();
    expect(notices(events)).toEqual([
      expect.stringMatching(
        /^the conversation could not be summarised and continues unchanged: (?:quota|the model wrote no summary)$/,
      ),
    ]);
    expect(model.requests).toHaveLength(1);
  }
  expect(history.compactions).toEqual([]);
});

test('an overflow error makes room and asks once more; for a model of unknown window, too', async () => {
  for (const windowTokens of [undefined, 1_000_000]) {
    const { history } = sessionHistory(TALK);
    const model = countingModel(10_000, ['fine']);
    const { events, error } = await play(compactingAgent(model, windowTokens), history, { text: 'go on' });
    expect(error).toBeUndefined();
    expect(model.faults).toEqual([expect.stringContaining('exceed 10000')]);
    expect(model.requests).toHaveLength(1);
    expect(model.summaries[0]).toContain('User: 0 word');
    expect(notices(events)).toEqual([
      expect.stringMatching(/^made room in the model's window: \d+ old messages summarised/),
    ]);
    expect(history.contents).toHaveLength(26);
  }
  const model = countingModel(10_000, ['fine']);
  const { error } = await play(compactingAgent(model, 1_000_000), createMemoryHistory(), {
    text: 'word '.repeat(20_000),
  });
  expect(error?.details).toMatchObject({ objection: 'length' });
  expect(model.faults).toHaveLength(1);
});

test('the tokens of a summary count in the usage of the run', async () => {
  const model = countingModel(14_000, ['fine']);
  const { events } = await play(compactingAgent(model, 14_000), sessionHistory(TALK).history, { text: 'go on' });
  const end = events.at(-1);
  expect(model.summaries).toHaveLength(1);
  expect(end).toMatchObject({
    type: 'end',
    usage: { promptTokenCount: (model.tokens[0] ?? 0) + (model.tokens[1] ?? 0), candidatesTokenCount: 14 },
  });
  expect(events.find((event) => event.type === 'wait')).toEqual({
    type: 'wait',
    what: 'a summary of the conversation',
  });
});

test('where nothing can be shortened, a notice says how full the window is, once', async () => {
  const model = countingModel(10_000, [[{ size: 10 }], [{ size: 10, again: true }], 'Done.']);
  const { history } = sessionHistory();
  const { events, error } = await play(compactingAgent(model, 10_000), history, { text: 'word '.repeat(7000) });
  expect([error, model.faults, history.compactions]).toEqual([undefined, [], []]);
  expect(notices(events)).toEqual([
    expect.stringMatching(/^8\d % of the model's window is full, and no more room could be made/),
  ]);
});

test('without a threshold, or in a history that keeps no compactions, everything is sent as it is', async () => {
  const steps = [[{ size: 40_000 }], [{ size: 40_001 }], 'Done.'];
  for (const [rest, history] of [
    [{ compaction: undefined }, createMemoryHistory()],
    [{}, { ...createMemoryHistory(), compact: undefined }],
  ] as const) {
    const model = countingModel(30_000, steps);
    const { compaction: _, ...agent } = compactingAgent(model, 20_000);
    const policy = 'compaction' in rest ? {} : { compaction: { windowTokens: 20_000, threshold: 0.7 } };
    const { compact: __, ...others } = history;
    const { events } = await play({ ...agent, ...policy }, others);
    expect(notices(events)).toEqual([]);
    expect(outputsIn(model.requests[2]?.contents ?? []).map(({ length }) => length)).toEqual([40_000, 40_001]);
  }
});

test('a long conversation is measured in slices, and each part once', async () => {
  const text = 'some words '.repeat(50_000);
  let reads = 0;
  const contents = Array.from({ length: 40 }, () => {
    const part = Object.defineProperty({ text: '' }, 'text', {
      get() {
        reads += 1;
        return text;
      },
    });
    return { role: 'user' as const, parts: [part] };
  });
  const readBefore: number[] = [];
  await prepareEstimates(contents, async () => void readBefore.push(reads));
  expect(readBefore).toEqual([4, 8, 12, 16, 20, 24, 28, 32, 36, 40]);
  const tokens = contents.reduce((sum, content) => sum + estimateContent(content), 0);
  expect([tokens, reads]).toEqual([(40 * text.length) / 4, 40]);
});

/** Of 16 contents. */
const FORGED = fc.array(
  fc.record({
    outputs: fc.array(fc.record({ content: fc.nat(20), part: fc.nat(2), head: fc.nat(60), tail: fc.nat(60) })),
    summary: fc.record({ text: fc.constant('Goal.'), end: fc.nat(16), prompt: fc.nat(20) }),
  }),
  { minLength: 1, maxLength: 3 },
);

test('whatever a forged session says was compacted, the request is valid and has the prompt', () => {
  const response = { functionResponse: { name: 'look', response: { output: '😀'.repeat(40) } } };
  const exchange: History['contents'] = [
    { role: 'user', parts: [{ text: 'ask' }] },
    { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] },
    { role: 'user', parts: [response] },
    { role: 'model', parts: [{ text: 'said' }] },
  ];
  const contents = [...Array(4).fill(exchange).flat(), { role: 'user', parts: [{ text: 'last' }] }];
  fc.assert(
    fc.property(FORGED, (compactions) => {
      const sent = toContents(applyCompactions(contents, compactions), { origin: () => '', distrusted: 0 });
      expect(sent.at(-1)?.parts.at(-1)).toEqual({ text: 'last' });
      const request = { model: 'gemini-2.5-flash', contents: sent, generationConfig: {} };
      expect(examine(request, createSignatureBook()).objection).toBeUndefined();
    }),
    { numRuns: 100 },
  );
});
