import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { drawPicture } from '../../src/demo/picture.ts';
import type { GmnEvent, StandardSchema } from '../../src/library/gmn.d.ts';
import { createLibrary } from '../../src/library/library.ts';
import { answerEach, CUT, call, chunk, END, failure, fakeGemini, finish, reply, stream } from '../support/gemini.ts';
import { temporary } from '../support/temporary.ts';

const { ask, defineTool, GmnError } = createLibrary('0.0.0');

const png = drawPicture('a fox', {});

async function collect<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function fail(message: string): never {
  throw new Error(message);
}

/** A schema of another library, as https://standardschema.dev has it. */
function standard({
  validate = (value) => ({ value }),
  jsonSchema = () => ({ type: 'array' }),
}: {
  readonly validate?: (value: unknown) => unknown;
  readonly jsonSchema?: () => object;
}): StandardSchema {
  const own = { version: 1, vendor: 'test', validate, jsonSchema: { input: jsonSchema } };
  return { '~standard': own as StandardSchema['~standard'] };
}

describe('a turn', () => {
  test('is sent once, when it is first awaited or iterated, and gives everybody the same', async (t) => {
    const server = await fakeGemini(t, [reply('No', 'vember')]);
    const turn = ask('best month?', { server });
    expect(server.requests).toHaveLength(0);
    const [answer, events, again, text] = await Promise.all([turn, collect(turn), collect(turn), turn.text()]);
    expect(answer).toEqual({
      ...{ text: 'November', response: 'November', model: 'gemini-2.5-flash', finishReason: 'STOP' },
      ...{ usage: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 }, cost: expect.any(Number) },
      ...{ files: [], warnings: [] },
    });
    expect(Object.keys(answer)).not.toContain('sessionId');
    expect(events.map((event) => (event.type === 'content' ? event.text : event.type))).toEqual([
      'start',
      'No',
      'vember',
      'done',
    ]);
    expect([again, await collect(turn), text]).toEqual([events, events, 'November']);
    expect(server.requests).toHaveLength(1);
  });

  test('waits for who reads it, and is cancelled if the only reader leaves', async (t) => {
    let isGone = false;
    const server = await fakeGemini(t, (response) => {
      response.on('close', () => (isGone = true));
      return stream('one', 'two', 'three')(response, server.requests[0]!);
    });
    const turn = ask('count', { server });
    for await (const event of turn) if (event.type === 'content') break;
    await expect(turn).rejects.toMatchObject({ code: 'interrupted', exitCode: 130, partial: 'one' });
    await expect.poll(() => isGone).toBe(true);
  });

  test('goes on for others when one reader leaves', async (t) => {
    const server = await fakeGemini(t, [reply('one', 'two')]);
    const turn = ask('count', { server });
    const [text] = await Promise.all([
      turn.text(),
      (async () => {
        for await (const _ of turn) break;
      })(),
    ]);
    expect(text).toBe('onetwo');
  });

  test('is over with its last event: leaving the loop there cancels nothing', async (t) => {
    const server = await fakeGemini(t, [reply('hi')]);
    const turn = ask('hello', { server });
    for await (const event of turn) if (event.type === 'done') break;
    expect(await turn.text()).toBe('hi');
  });

  test('can be read ahead: several events asked for at once come in order', async (t) => {
    const server = await fakeGemini(t, [reply('one', 'two')]);
    const events = ask('count', { server })[Symbol.asyncIterator]();
    const read = await Promise.all(Array.from({ length: 6 }, () => events.next()));
    expect(read.map(({ value, done }) => (done ? 'over' : value.type))).toEqual([
      ...['start', 'content', 'content', 'done', 'over', 'over'],
    ]);
  });

  test('fifty at once each get their own answer', async (t) => {
    const server = await fakeGemini(
      t,
      answerEach((prompt) => `answer to ${prompt}`),
    );
    const prompts = Array.from({ length: 50 }, (_, index) => `question ${index}`);
    const texts = await Promise.all(prompts.map((prompt) => ask(prompt, { server }).text()));
    expect(texts).toEqual(prompts.map((prompt) => `answer to ${prompt}`));
    expect(server.requests).toHaveLength(50);
  });
});

describe('what is sent', () => {
  test('system, thinking, sampling and tools of the service', async (t) => {
    const server = await fakeGemini(t, [reply('ok')]);
    const sent = { model: 'gemini-3-flash-preview', system: 'Answer in Japanese.', thinking: 'low' } as const;
    await ask('日本', { server, ...sent, maxOutputTokens: 100, search: true });
    const [{ path, body, headers }] = server.requests as [(typeof server.requests)[0]];
    expect(path).toContain('gemini-3-flash-preview:streamGenerateContent');
    expect(headers['x-goog-api-key']).toBe('demo');
    expect(body).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: '日本' }] }],
      systemInstruction: { parts: [{ text: 'Answer in Japanese.' }] },
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' }, maxOutputTokens: 100 },
      tools: [{ googleSearch: {} }],
    });
  });

  test('files by path, by file URL and as bytes', async (t) => {
    const cwd = temporary({ 'notes.md': '# Notes\n', 'b.txt': 'second\n', 'AGENTS.md': 'Obey me.\n' });
    const server = await fakeGemini(t, [reply('ok')]);
    const text = { data: 'third', name: 'c.txt', type: 'text/plain' };
    const picture = { data: new Uint8Array(png).buffer, type: 'image/png' };
    const files = ['notes.md', new URL(`file://${join(cwd, 'b.txt')}`), picture, text];
    await ask('what is missing?', { server, cwd, files });
    expect(server.requests[0]?.parts).toEqual([
      { inlineData: { mimeType: 'image/png', data: png.toString('base64') } },
      {
        text: expect.stringMatching(
          /^=== notes\.md ===\n# Notes\n\n\n=== .*b\.txt ===\nsecond\n\n\n=== c\.txt ===\nthird\n\nwhat is missing\?$/,
        ),
      },
    ]);
    // Context files are for those who ask for the settings.
    expect(server.requests[0]?.text).not.toContain('Obey me');
  });

  test.for([
    [{ files: ['-'] }, 'a library has no stdin'],
    [{ files: ['gone.txt'] }, 'gone.txt'],
    [{ files: [new URL('https://127.0.0.1/a.pdf')] }, '127.0.0.1'],
    [{ timeout: 'soon' }, '"soon" is not a duration'],
    [{ maxCost: 0 }, 'maxCost must be more than 0'],
    [{ mcpServers: ['files'] }, 'those of the settings'],
    [{ approvalMode: 'wild' }, 'approvalMode must be one of'],
    [{ thinking: 'hard' }, 'thinking must be one of'],
    [{ server: { url: 'http://example.com' } }, 'server.url must use https'],
    [{ tools: ['no_such_tool'] }, 'no_such_tool'],
    [{ schema: 'string' as never }, 'schema must be a JSON Schema'],
    [{ schema: { type: 'text' } }, 'is not a type of JSON Schema'],
    [{ schema: { type: 'object', default: 1n } }, 'schema must be a JSON Schema'],
    [{ schema: standard({ jsonSchema: () => fail('dates') }) }, 'cannot be told as JSON Schema: dates'],
    [{ tools: 'read' }, 'tools must be a list'],
    [{ tools: [{}] }, 'tools[0] is neither a name nor a tool of defineTool'],
    [{ files: 'notes.md' }, 'files must be a list'],
    [{ files: ['x.md', { data: 5 }] }, 'files[1] is neither a path, nor an address, nor { data }'],
    [{ approve: 'defer' }, 'approve must be a function'],
    [{ apiKey: '' }, 'apiKey is empty'],
    [{ signal: {} }, 'signal must be an AbortSignal'],
  ] as const)('%o is refused before anything is sent', async ([options, message], t) => {
    const server = await fakeGemini(t, []);
    const asked = ask('x', { server, cwd: temporary(), ...(options as object) });
    await expect(asked).rejects.toThrow(message);
    await expect(asked).rejects.toBeInstanceOf(GmnError);
    await expect(asked).rejects.not.toMatchObject({ code: 'internal' });
  });
});

describe('an answer in JSON', () => {
  const schema = { type: 'array', items: { type: 'string' } } as const;

  test('matches the schema, and is asked for again once if it does not', async (t) => {
    const server = await fakeGemini(t, [reply('{"no":1}'), reply('["red"]')]);
    const turn = ask('colours', { server, schema });
    const colours: string[] = await turn.json();
    expect(colours).toEqual(['red']);
    expect((await turn).json).toEqual(['red']);
    expect(server.requests[1]?.body.generationConfig.responseJsonSchema).toEqual(schema);
  });

  test('is refused with what came, if the second does not match either', async (t) => {
    const server = await fakeGemini(t, [reply('{}'), reply('17')]);
    await expect(ask('colours', { server, schema })).rejects.toMatchObject({ code: 'api', partial: '17' });
  });

  test('goes through a schema of another library', async (t) => {
    const server = await fakeGemini(t, [reply('{"n":4}'), reply('{"n":3}')]);
    const even = {
      '~standard': {
        ...{ version: 1, vendor: 'test' },
        jsonSchema: { input: () => ({ type: 'object', properties: { n: { type: 'integer' } } }) },
        validate: (value: unknown) => {
          const { n } = value as { n: number };
          return n % 2 === 0 ? { value: new Map([['n', n]]) } : { issues: [{ message: 'n is odd' }] };
        },
        types: undefined as { input: unknown; output: Map<string, number> } | undefined,
      },
    } as const;
    const map: Map<string, number> = await ask('even', { server, schema: even }).json();
    expect(map.get('n')).toBe(4);
    await expect(ask('even', { server, schema: even })).rejects.toMatchObject({ code: 'api', message: /n is odd/ });
  });

  test.for([
    [(): unknown => fail('boom'), 'validate of the schema has failed: boom'],
    [(): unknown => undefined, 'validate of the schema has failed'],
  ] as const)('is not there if the schema of the program fails: %o', async ([validate, message], t) => {
    const server = await fakeGemini(t, [reply('[]')]);
    const asked = ask('x', { server, schema: standard({ validate }) });
    await expect(asked).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
      partial: '[]',
    });
  });

  test('needs a schema', async (t) => {
    const server = await fakeGemini(t, []);
    await expect(ask('x', { server }).json()).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('a failure', () => {
  test('carries code, exit code, hint, status and what had arrived', async (t) => {
    const server = await fakeGemini(t, [failure(400, 'INVALID_ARGUMENT', 'bad field'), stream('half', CUT)]);
    const refused = await ask('x', { server }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      ...{ name: 'GmnError', code: 'api', exitCode: 3, status: 400, retryable: false, partial: undefined },
      message: expect.stringContaining('bad field'),
    });
    await expect(ask('x', { server, retries: 0 })).rejects.toMatchObject({ code: 'api', partial: 'half' });
  });

  test('is thrown to whoever iterates, after the events before it', async (t) => {
    const server = await fakeGemini(t, [stream('half', CUT)]);
    const seen: string[] = [];
    const read = async () => {
      for await (const event of ask('x', { server, retries: 0 })) seen.push(event.type);
    };
    await expect(read()).rejects.toBeInstanceOf(GmnError);
    expect(seen).toEqual(['start', 'content']);
  });

  test('without a credential says how to give one', async () => {
    expect(process.env.GEMINI_API_KEY).toBeUndefined();
    await expect(ask('x')).rejects.toMatchObject({
      code: 'auth',
      exitCode: 2,
      hint: expect.stringContaining('apiKey'),
    });
  });

  test('beyond the cost limit is a `limit`', async (t) => {
    const server = await fakeGemini(t, []);
    await expect(ask('x', { server, maxCost: 0.000_000_1 })).rejects.toMatchObject({ code: 'limit', exitCode: 1 });
  });
});

describe('cancelling', () => {
  test('ends a turn that the server never answers, before its connection is closed', async (t) => {
    const order: string[] = [];
    const server = await fakeGemini(t, (response) => {
      response.on('close', () => order.push('closed'));
    });
    const controller = new AbortController();
    const turn = ask('x', { server, signal: controller.signal });
    const failed = turn.catch((error: unknown) => {
      order.push('rejected');
      return error;
    });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(new Error('enough'));
    expect(await failed).toMatchObject({ code: 'interrupted', cause: { message: 'enough' } });
    await expect.poll(() => order).toEqual(['rejected', 'closed']);
  });

  test('with a signal that has aborted sends nothing, and no listener stays on one that has not', async (t) => {
    const server = await fakeGemini(t, [reply('hi')]);
    await expect(ask('x', { server, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'interrupted' });
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await ask('x', { server, signal });
    expect(listeners).toBe(0);
  });

  test('can come from a signal of another library', async (t) => {
    const server = await fakeGemini(t, () => {});
    const { signal, abort } = createForeignSignal();
    const failed = ask('x', { server, signal }).catch((error: unknown) => error);
    await expect.poll(() => server.requests.length).toBe(1);
    abort();
    expect(await failed).toMatchObject({ code: 'interrupted', cause: 'enough' });
  });

  test('gives no event after the end', async (t) => {
    const server = await fakeGemini(t, [stream('one', 'two', finish(), END)]);
    const turn = ask('x', { server });
    const seen: GmnEvent[] = [];
    const read = async () => {
      for await (const event of turn) {
        seen.push(event);
        if (event.type === 'content') turn.cancel();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'interrupted' });
    expect(seen.map(({ type }) => type)).toEqual(['start', 'content']);
  });
});

describe('tools of the program', () => {
  const weather = defineTool({
    name: 'weather',
    description: 'The weather in a city',
    input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: async ({ city }) => `sunny in ${city.toUpperCase()}`,
  });

  test('are offered, checked, run without a question, and told what went wrong', async (t) => {
    const broken = defineTool({
      ...{ name: 'broken', description: 'It fails', input: { type: 'object', properties: {} } },
      run: () => {
        throw new Error('the disk is full');
      },
    });
    const calls = [call('weather', { city: 'Kyoto' }), call('weather', { city: 5 }), call('broken')];
    const server = await fakeGemini(t, [reply(...calls), reply('It is sunny.')]);
    const events = await collect(ask('weather?', { server, tools: [weather, broken] }));
    expect(server.requests[0]?.tools).toEqual(['weather', 'broken']);
    expect(server.requests[0]?.body.systemInstruction).toBeUndefined();
    expect(server.requests[1]?.results).toEqual([
      { output: 'sunny in KYOTO' },
      { error: expect.stringContaining('/city') },
      { error: 'the disk is full' },
    ]);
    expect(events.map(({ type }) => type).filter((type) => type.startsWith('tool'))).toHaveLength(6);
  });

  test('that ignore the signal do not hold up a turn that is cancelled', async (t) => {
    const server = await fakeGemini(t, [reply(call('forever'))]);
    const controller = new AbortController();
    const forever = defineTool({
      ...{ name: 'forever', description: 'It never ends', input: { type: 'object', properties: {} } },
      run: (_args, { signal }) => {
        const aborted = once(signal, 'abort');
        controller.abort();
        return aborted.then(() => new Promise(() => {}));
      },
    });
    const turn = ask('x', { server, tools: [forever], signal: controller.signal });
    await expect(turn).rejects.toMatchObject({ code: 'interrupted' });
  });

  test.for([
    ['read_file', 'a tool "read_file" of its own'],
    ['server__tool', 'two _ together'],
    ['no spaces', 'a name has 1 to 64'],
  ] as const)('cannot be called %s', ([name, why]) => {
    expect(() => defineTool({ ...weather, name, run: () => '' })).toThrow(why);
  });

  test('need a description and a function', () => {
    const tool = { name: 'weather', input: { type: 'object' } };
    expect(() => defineTool({ ...tool, run: () => '' } as never)).toThrow('it has no description');
    expect(() => defineTool({ ...tool, description: 'The weather' } as never)).toThrow('run is not a function');
  });

  test('with needsApproval are asked about', async (t) => {
    const pay = defineTool({
      ...{ name: 'pay', description: 'Pays', input: { type: 'object', properties: { yen: { type: 'integer' } } } },
      needsApproval: true,
      run: ({ yen }) => `paid ${yen}`,
    });
    const turns = ['once', { deny: 'too much' }, { args: { yen: 5 } }] as const;
    for (const [index, approval] of turns.entries()) {
      const server = await fakeGemini(t, [reply(call('pay', { yen: 100 })), reply('done')]);
      const asked: unknown[] = [];
      await ask('pay', {
        ...{ server, tools: [pay] },
        approve: async ({ signal, ...question }) => {
          asked.push(question);
          expect(signal.aborted).toBe(false);
          return approval;
        },
      });
      expect(asked).toEqual([
        {
          id: expect.any(String),
          name: 'pay',
          args: { yen: 100 },
          title: expect.stringContaining('pay'),
          view: ['╭ pay', '│ {', '│   "yen": 100', '│ }'],
          default: 'no',
        },
      ]);
      expect(JSON.stringify(server.requests[1]?.results)).toContain(['paid 100', 'too much', 'paid 5'][index]);
    }
  });

  test('are denied if nobody can be asked, and what `approve` throws ends the turn', async (t) => {
    const pay = defineTool({
      ...{ name: 'pay', description: 'Pays', input: { type: 'object', properties: {} }, needsApproval: true },
      run: () => 'paid',
    });
    const server = await fakeGemini(t, [reply(call('pay')), reply('fine'), reply(call('pay')), reply(call('pay'))]);
    const { warnings } = await ask('pay', { server, tools: [pay] });
    expect(server.requests[1]?.results).toEqual([{ error: expect.stringContaining('was not run') }]);
    expect(warnings).toEqual([expect.stringContaining('pass approve')]);
    const approve = () => {
      throw new Error('no database');
    };
    await expect(ask('pay', { server, tools: [pay], approve })).rejects.toThrow('approve has failed: no database');
    await expect(ask('pay', { server, tools: [pay], approve: () => true as never })).rejects.toThrow("is 'once'");
  });
});

test('thoughts, files and sources are there if the model gives them', async (t) => {
  const parts = [
    { text: 'hm', thought: true },
    { text: 'Look:' },
    { inlineData: { mimeType: 'image/png', data: png.toString('base64') } },
  ];
  const server = await fakeGemini(t, [stream(chunk(parts), finish(), END)]);
  const turn = ask('draw', { server, thoughts: true, model: 'gemini-2.5-flash' });
  expect((await collect(turn)).map(({ type }) => type)).toEqual(['start', 'thought', 'content', 'file', 'done']);
  const [file] = await turn.files();
  expect([file?.mimeType, Buffer.from(file!.data).equals(png)]).toEqual(['image/png', true]);
});

/** As jsdom and older libraries bring their own: it is none of Node's event targets. */
function createForeignSignal() {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    addEventListener: (_: string, listener: () => void) => void listeners.add(listener),
    removeEventListener: (_: string, listener: () => void) => void listeners.delete(listener),
  };
  const abort = (): void => {
    Object.assign(signal, { aborted: true, reason: 'enough' });
    for (const listener of listeners) listener();
  };
  return { signal: signal as unknown as AbortSignal, abort };
}
