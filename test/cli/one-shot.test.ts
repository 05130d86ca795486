import { describe, expect, test } from 'vitest';
import { chunk, events, failure, fakeGemini, finish, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, GMN_LINE, place, runShell } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const HELLO = reply('Hello', '! How can', ' I help you today?');

describe('an answer', () => {
  test('as text is the text and one newline', async (t) => {
    const gmn = await callGmn(t, ['Hello'], { script: [HELLO] });
    expect(gmn).toMatchObject({ stdout: 'Hello! How can I help you today?\n', stderr: '', exitCode: 0 });
  });

  test('as json is one object', async (t) => {
    expect(await callGmn(t, ['Hello', '-o', 'json'], { script: [HELLO], env: { GMN_NO_SESSION: '1' } })).toMatchObject({
      stdout: `{
  "model": "gemini-2.5-flash",
  "response": "Hello! How can I help you today?",
  "usage": {
    "promptTokenCount": 5,
    "candidatesTokenCount": 12,
    "totalTokenCount": 17
  },
  "cost": 0.0000315,
  "finishReason": "STOP"
}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('as stream-json is one event a line', async (t) => {
    const gemini = await fakeGemini(t, [HELLO]);
    expect(await callGmn(t, ['Hello', '-o', 'stream-json'], { gemini, env: { GMN_NO_SESSION: '1' } })).toMatchObject({
      stdout: `{"type":"start","model":"gemini-2.5-flash"}
{"type":"content","text":"Hello"}
{"type":"content","text":"! How can"}
{"type":"content","text":" I help you today?"}
{"type":"done","usage":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"cost":0.0000315,"finishReason":"STOP"}
`,
      stderr: '',
      exitCode: 0,
    });
  });
});

describe('the request', () => {
  test('is one POST with the key in a header and the documented defaults', async (t) => {
    const gemini = await fakeGemini(t, [HELLO]);
    await callGmn(t, ['Say', 'hello', 'in', '日本語'], { gemini });
    const [request] = gemini.requests;
    expect(request?.path).toBe('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(request?.headers['x-goog-api-key']).toBe('test-key-0123456789');
    expect(request?.headers['user-agent']).toMatch(/^gmn\/\d/);
    expect(request?.body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Say hello in 日本語' }] }],
      generationConfig: { temperature: 1, topP: 0.95, topK: 40, maxOutputTokens: 65536 },
    });
  });

  test('carries what the flags say', async (t) => {
    const gemini = await fakeGemini(t, [HELLO]);
    const flags = ['-m', 'gemini-2.5-pro', '--temperature', '0', '--top-p', '0.5', '--top-k', '3', '--seed', '7'];
    const more = ['--max-output-tokens', '100', '--system', 'Be brief.', '--append-system-prompt', '@rules.md'];
    const gmn = await callGmn(t, [...flags, ...more, 'hi'], { gemini, files: { 'rules.md': 'No emoji.' } });
    expect(gmn.exitCode).toBe(0);
    expect(gemini.requests[0]?.path).toContain('/gemini-2.5-pro:');
    expect(gemini.requests[0]?.body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      systemInstruction: { role: 'user', parts: [{ text: 'Be brief.\n\nNo emoji.' }] },
      generationConfig: { temperature: 0, topP: 0.5, topK: 3, maxOutputTokens: 100, seed: 7 },
    });
  });

  test('carries sampling flags that the model ignores, with a notice', async (t) => {
    const gemini = await fakeGemini(t, [HELLO, HELLO, HELLO]);
    const flags = ['--temperature', '0.2', '--top-k', '3', 'hi'];
    const { stderr } = await callGmn(t, ['-m', 'gemini-3.8-flash', ...flags], { gemini });
    expect(stderr).toBe('gmn: gemini-3.8-flash ignores --temperature, --top-k\n');
    expect(gemini.requests[0]?.body.generationConfig).toMatchObject({ temperature: 0.2, topK: 3 });
    const { stdout } = await callGmn(t, ['-m', 'gemini-3.8-flash', '-o', 'json', '--top-p', '0', 'hi'], { gemini });
    expect(JSON.parse(stdout).warnings).toEqual(['gemini-3.8-flash ignores --top-p']);
    expect((await callGmn(t, ['-m', 'gemini-flash-latest', ...flags], { gemini })).stderr).toBe('');
  });

  test('puts stdin before the prompt, byte for byte', async (t) => {
    const { requests } = await callGmn(t, ['-p', 'review this'], {
      script: [HELLO],
      stdin: '  line 1\r\nこんにちは\n\n',
    });
    expect(requests[0]?.body.contents[0].parts).toEqual([{ text: '  line 1\r\nこんにちは\n\n\n\nreview this' }]);
  });

  test('puts files before stdin, each under its name', async (t) => {
    const { requests } = await callGmn(t, ['-f', 'a.md', '-f', 'b.txt', 'compare'], {
      script: [HELLO],
      files: { 'a.md': 'A\n', 'b.txt': 'B' },
      stdin: 'S',
    });
    expect(requests[0]?.body.contents[0].parts).toEqual([
      { text: '=== a.md ===\nA\n\n\n=== b.txt ===\nB\n\nS\n\ncompare' },
    ]);
  });

  test('is shown and not sent by --dry-run, without the key', async (t) => {
    const gemini = await fakeGemini(t, []);
    const gmn = await callGmn(t, ['--dry-run', 'hi'], { gemini });
    expect(gmn.exitCode).toBe(0);
    expect(JSON.parse(gmn.stdout)).toMatchObject({
      method: 'POST',
      url: `${gemini.url}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    });
    expect(gmn.stdout).not.toContain('test-key');
  });
});

test('a warning goes to stderr in text, and into the object in json', async (t) => {
  const cut = events([chunk([{ text: 'Once upon' }]), finish('MAX_TOKENS')]);
  const text = await callGmn(t, ['story'], { gemini: await fakeGemini(t, [cut]) });
  expect(text).toMatchObject({ stdout: 'Once upon\n', exitCode: 0 });
  expect(text.stderr).toMatch(/^gmn: .*token limit.*\n$/);
  const json = await callGmn(t, ['story', '-o', 'json'], { gemini: await fakeGemini(t, [cut]) });
  expect(json).toMatchObject({ stderr: '', exitCode: 0 });
  expect(JSON.parse(json.stdout)).toMatchObject({ response: 'Once upon', finishReason: 'MAX_TOKENS' });
  expect(JSON.parse(json.stdout).warnings).toHaveLength(1);
});

test('a passing fault is retried and the answer is whole', async (t) => {
  const gmn = await callGmn(t, ['Hello'], { script: [failure(503, 'UNAVAILABLE'), HELLO] });
  expect(gmn).toMatchObject({ stdout: 'Hello! How can I help you today?\n', exitCode: 0 });
});

test('the model in json is the one that answered', async (t) => {
  const answer = events([{ ...finish('STOP', [{ text: 'hi' }]), modelVersion: 'gemini-2.5-flash-002' }]);
  const gmn = await callGmn(t, ['hi', '-o', 'json'], { gemini: await fakeGemini(t, [answer]) });
  expect(JSON.parse(gmn.stdout).model).toBe('gemini-2.5-flash-002');
});

test('several pictures are sent under their names, one is sent as it is', async (t) => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const data = png.toString('base64');
  const other = Buffer.concat([png, Buffer.from('2')]);
  const gemini = await fakeGemini(t, [HELLO, HELLO]);
  await callGmn(t, ['-f', 'a.png', 'what is this?'], { gemini, files: { 'a.png': png } });
  await callGmn(t, ['-f', 'a.png', '-f', 'b.png', 'compare'], { gemini, files: { 'a.png': png, 'b.png': other } });
  expect(gemini.requests[0]?.body.contents[0].parts).toEqual([
    { inlineData: { mimeType: 'image/png', data } },
    { text: 'what is this?' },
  ]);
  expect(gemini.requests[1]?.body.contents[0].parts).toEqual([
    { text: '=== a.png ===' },
    { inlineData: { mimeType: 'image/png', data } },
    { text: '=== b.png ===' },
    { inlineData: { mimeType: 'image/png', data: other.toString('base64') } },
    { text: 'compare' },
  ]);
});

test('-f - with nothing on stdin is an error, not an input that was lost', async (t) => {
  const gmn = await callGmn(t, ['-f', '-', 'review'], { gemini: await fakeGemini(t, []), stdin: '' });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toMatch(/^Error: stdin is empty, and - asks for it\n\S/);
});

test('- beside a prompt is stdin; between words it is a minus', async (t) => {
  const rows = [
    [['-', 'what is it?'], 'data\n\nwhat is it?'],
    [['what is it?', '-'], 'data\n\nwhat is it?'],
    [['-p', 'what is it?', '-'], 'data\n\nwhat is it?'],
    [['--no-stdin', 'what', 'is', '5', '-', '3'], 'what is 5 - 3'],
  ] as const;
  const gemini = await fakeGemini(
    t,
    rows.map(() => reply('ok')),
  );
  const at = place(t, { gemini });
  for (const [args] of rows) expect(await callGmnIn(t, at, args, 'data')).toMatchObject({ stderr: '', exitCode: 0 });
  expect(gemini.requests.map(({ body }) => body.contents[0].parts)).toEqual(rows.map(([, text]) => [{ text }]));
});

posixTest('a pipe or file that was empty is said, before the answer', async (t) => {
  const gemini = await fakeGemini(
    t,
    [1, 2, 3, 4].map(() => reply('ok')),
  );
  const at = place(t, { gemini, files: { empty: '' } });
  const text = { stdout: 'ok\n', stderr: 'gmn: stdin was empty\n', exitCode: 0 };
  expect(await runShell(t, at, `printf '' | ${GMN_LINE} summarise`)).toMatchObject(text);
  expect(await runShell(t, at, `${GMN_LINE} summarise < empty`)).toMatchObject(text);
  expect(await runShell(t, at, `echo "$unset" | ${GMN_LINE} summarise`)).toMatchObject({
    ...text,
    stderr: 'gmn: stdin was blank: only spaces and line breaks\n',
  });
  const json = await runShell(t, at, `printf '' | ${GMN_LINE} -o json summarise`);
  expect(JSON.parse(json.stdout).warnings).toEqual(['stdin was empty']);
  expect(await runShell(t, at, `printf '' | ${GMN_LINE}`)).toMatchObject({
    stderr: expect.stringMatching(/^gmn: stdin was empty\nError: no prompt given\n/),
    exitCode: 1,
  });
});
