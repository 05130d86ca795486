import { describe, expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, parseLines } from '../support/gmn.ts';

const STRINGS = '{"type":"array","items":{"type":"string"}}';
const NO_SESSION = { GMN_NO_SESSION: '1' };
const USAGE_TWICE = `"usage": {
    "promptTokenCount": 10,
    "candidatesTokenCount": 24,
    "totalTokenCount": 34
  },`;

describe('an answer that meets the schema', () => {
  test('is all that is on stdout', async (t) => {
    const gmn = await callGmn(t, ['--demo', '--output-schema', STRINGS, '3 colors']);
    expect(gmn).toMatchObject({ stdout: '["red","green","blue"]\n', stderr: '', exitCode: 0 });
  });

  test('is the response in json', async (t) => {
    expect(await callGmn(t, ['--demo', '--output-schema', STRINGS, '3 colors', '-o', 'json'])).toMatchObject({
      stdout: `{
  "model": "gemini-2.5-flash",
  "response": "[\\"red\\",\\"green\\",\\"blue\\"]",
  "usage": {
    "promptTokenCount": 6,
    "candidatesTokenCount": 9,
    "totalTokenCount": 15
  },
  "finishReason": "STOP"
}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('is one content event in stream-json', async (t) => {
    expect(await callGmn(t, ['--demo', '--output-schema', STRINGS, '3 colors', '-o', 'stream-json'])).toMatchObject({
      stdout: `{"type":"start","model":"gemini-2.5-flash"}
{"type":"content","text":"[\\"red\\",\\"green\\",\\"blue\\"]"}
{"type":"done","usage":{"promptTokenCount":6,"candidatesTokenCount":9,"totalTokenCount":15},"finishReason":"STOP"}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('is taken out of a code block', async (t) => {
    const gmn = await callGmn(t, ['--output-schema', STRINGS, 'x'], { script: [reply('```json\n["a"]\n```\n')] });
    expect(gmn).toMatchObject({ stdout: '["a"]\n', stderr: '', exitCode: 0 });
  });
});

describe('an answer that does not match the schema', () => {
  test('is asked for once more, with what is wrong', async (t) => {
    const gemini = await fakeGemini(t, [reply('["a", 1]'), reply('["a", "1"]')]);
    const gmn = await callGmn(t, ['--output-schema', STRINGS, 'x'], { gemini });
    expect(gmn).toMatchObject({
      stdout: '["a", "1"]\n',
      stderr:
        'gmn: the answer did not match the schema, asked again (/1: Instance type "number" is invalid. Expected "string".)\n',
      exitCode: 0,
    });
    expect(gemini.requests[1]?.body.contents).toEqual([
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ text: '["a", 1]' }] },
      {
        role: 'user',
        parts: [
          {
            text:
              'That answer does not match the JSON Schema (/1: Instance type "number" is invalid. Expected "string".). ' +
              'Give it again, as JSON that does, and nothing else.',
          },
        ],
      },
    ]);
  });

  test('and is repaired counts both calls, and warns in json', async (t) => {
    const gemini = await fakeGemini(t, [reply('no'), reply('[]')]);
    const gmn = await callGmn(t, ['--output-schema', STRINGS, '-o', 'json', 'x'], { gemini, env: NO_SESSION });
    expect(gmn).toMatchObject({
      stdout: `{
  "model": "gemini-2.5-flash",
  "response": "[]",
  ${USAGE_TWICE}
  "cost": 0.000063,
  "finishReason": "STOP",
  "warnings": [
    "the answer did not match the schema, asked again (it is not JSON)"
  ]
}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('twice is exit 3; stdout stays empty and stderr keeps what came', async (t) => {
    const gmn = await callGmn(t, ['--output-schema', STRINGS, 'x'], { script: [reply('no'), reply('still no')] });
    expect(gmn).toMatchObject({
      stdout: '',
      stderr: `gmn: the answer did not match the schema, asked again (it is not JSON)
Error: the answer does not match the schema: it is not JSON
Ask again, describe in the prompt what is wanted, or loosen the schema.
What the model said:
still no
`,
      exitCode: 3,
    });
  });

  test('twice is an error object with what came in json', async (t) => {
    const gemini = await fakeGemini(t, [reply('no'), reply('{}')]);
    const gmn = await callGmn(t, ['--output-schema', STRINGS, '-o', 'json', 'x'], { gemini, env: NO_SESSION });
    expect(gmn).toMatchObject({ stderr: '', exitCode: 3 });
    expect(JSON.parse(gmn.stdout)).toEqual({
      error: {
        code: 3,
        type: 'ApiError',
        message:
          'the answer does not match the schema: the answer: Instance type "object" is invalid. Expected "array".',
        suggestion: 'Ask again, describe in the prompt what is wanted, or loosen the schema.',
        partialResponse: '{}',
        warnings: ['the answer did not match the schema, asked again (it is not JSON)'],
      },
    });
  });

  test('twice ends stream-json with that error and no content', async (t) => {
    const gemini = await fakeGemini(t, [reply('no'), reply('still no')]);
    const gmn = await callGmn(t, ['--output-schema', STRINGS, '-o', 'stream-json', 'x'], { gemini });
    const lines = parseLines(gmn.stdout);
    expect(gmn).toMatchObject({ stderr: '', exitCode: 3 });
    expect(lines).toMatchObject([
      { type: 'start' },
      { type: 'error', error: { code: 3, partialResponse: 'still no' } },
    ]);
  });
});

describe('the request', () => {
  test('carries what the service takes of the schema; the rest is checked here', async (t) => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        kind: { const: 'a' },
        name: { type: 'string', pattern: '^[a-z]+$', default: 'x', description: 'd' },
        node: { $ref: '#/definitions/node', description: 'lost beside a reference' },
      },
      required: ['name'],
      additionalProperties: false,
      definitions: { node: { type: 'object', patternProperties: {} } },
    };
    const gmn = await callGmn(t, ['--output-schema', 's.json', 'x'], {
      script: [reply('{"name":"A"}'), reply('{"name":"a"}')],
      files: { 's.json': JSON.stringify(schema) },
    });
    expect(gmn).toMatchObject({ stdout: '{"name":"a"}\n', exitCode: 0 });
    expect(gmn.requests[0]?.body.generationConfig).toEqual({
      temperature: 1,
      topP: 0.95,
      topK: 40,
      maxOutputTokens: 65536,
      responseMimeType: 'application/json',
      responseJsonSchema: {
        type: 'object',
        properties: {
          kind: { enum: ['a'] },
          name: { type: 'string', description: 'd' },
          node: { $ref: '#/$defs/node' },
        },
        required: ['name'],
        additionalProperties: false,
        $defs: { node: { type: 'object' } },
      },
    });
  });

  test('is shown by --dry-run with the schema', async (t) => {
    const gmn = await callGmn(t, ['--demo', '--dry-run', '--output-schema', STRINGS, 'x']);
    expect(JSON.parse(gmn.stdout).body.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: JSON.parse(STRINGS),
    });
  });

  test('of an older model has tools or the schema, one after the other', async (t) => {
    const made = call('read_file', { file_path: 'a.txt' });
    const gmn = await callGmn(t, ['--tools', 'read', '--output-schema', STRINGS, 'x'], {
      script: [reply('Reading.', made), reply('It says hello.'), reply('["hello"]')],
      files: { 'a.txt': 'hello' },
    });
    expect(gmn).toMatchObject({ stdout: '["hello"]\n', stderr: '✓ read_file a.txt · 1 line\n', exitCode: 0 });
    const bodies = gmn.requests.map(({ body }) => body);
    expect(bodies.map(({ tools }) => tools !== undefined)).toEqual([true, true, false]);
    expect(bodies.map(({ generationConfig }) => generationConfig.responseJsonSchema !== undefined)).toEqual([
      false,
      false,
      true,
    ]);
    expect(bodies[2].contents.at(-1).parts).toEqual([
      { text: `Give your answer as JSON of this JSON Schema, and nothing else:\n${STRINGS}` },
    ]);
  });

  test('of a newer model has both', async (t) => {
    const gmn = await callGmn(t, ['-m', 'gemini-3-flash-preview', '--tools', 'read', '--output-schema', STRINGS, 'x'], {
      script: [reply('["hello"]')],
    });
    expect(gmn).toMatchObject({ stdout: '["hello"]\n', exitCode: 0 });
    expect(gmn.requests[0]?.body.tools).toBeDefined();
    expect(gmn.requests[0]?.body.generationConfig.responseJsonSchema).toEqual(JSON.parse(STRINGS));
  });
});

test.for([
  ['{"type":', /^Error: --output-schema is not JSON: /],
  ['list.json', /^Error: list.json is not a JSON Schema: a schema is an object\n/],
  ['[]', /^Error: --output-schema is not a JSON Schema: a schema is an object\n/],
  [
    '{"items":{"type":["STRING","null"]}}',
    /^Error: --output-schema: "STRING" is not a type of JSON Schema\nTypes: string, number, /,
  ],
  ['absent.json', /^Error: no such file: absent.json\n/],
  ['{"items":{"pattern":"("}}', /^Error: the schema cannot be used: Invalid regular expression: /],
  ['{"pattern":"(a)\\\\1"}', /^Error: the schema cannot be used: a reference to a group \(\\1\) is not supported\n/],
])('a schema that is none (%s) is refused before anything is sent', async ([value = '', words], t) => {
  const gmn = await callGmn(t, ['--output-schema', String(value), 'x'], { script: [], files: { 'list.json': '[]' } });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toMatch(words ?? '');
});

test.for([
  ['a pattern that backtracks', '{"pattern":"^(a+)+$"}', `"${'a'.repeat(50_000)}"`, 0],
  [
    'many items that must differ',
    '{"uniqueItems":true}',
    JSON.stringify(Array.from({ length: 30_000 }, (_, a) => [a])),
    0,
  ],
  ['a pattern beyond the limit', '{"pattern":"(?=.*b)c"}', `"${'a'.repeat(20_000)}"`, 1],
] as const)('%s is checked in time', async ([, schema, answer, exitCode], t) => {
  const gmn = await callGmn(t, ['--output-schema', schema, 'x'], { script: [reply(answer)] });
  expect(gmn).toMatchObject({ exitCode, stdout: exitCode === 0 ? `${answer}\n` : '' });
  expect(gmn.stderr).toBe(
    exitCode === 0
      ? ''
      : `Error: the schema cannot be used: it takes too many steps\nMake its patterns shorter, with smaller numbers of repetitions, or ask for less.\nWhat the model said:\n${answer}\n`,
  );
});

test('a schema that leads nowhere is the fault of who wrote it', async (t) => {
  const gmn = await callGmn(t, ['--output-schema', '{"$ref":"#/$defs/none"}', 'x'], { script: [reply('{}')] });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toMatch(/^Error: the schema cannot be used: Unresolved \$ref/);
});
