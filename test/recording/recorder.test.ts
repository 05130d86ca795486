import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/core/json.ts';
import { createPlaceNames } from '../../src/recording/places.ts';
import { replaceAcross } from '../../src/recording/spans.ts';
import { CANARIES, canariesIn } from '../support/canaries.ts';
import { ask, cutAt, ENCODINGS, everythingIn, recording, replaying, STREAM, text, toRequest } from './support.ts';

const KEY = CANARIES.geminiKey;

test('an exchange is one line, with the times of its events and without the account', async () => {
  const { send, lines } = await recording([
    {
      headers: { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', 'x-gemini-service-tier': 'flex' },
      chunks: [
        { ...(text('Hel') as object), responseId: 'abc' },
        { ...(text('lo', { finishReason: 'STOP' }) as object), responseId: 'abc' },
      ],
    },
  ]);
  await send(
    toRequest(`${STREAM}&key=${KEY}`, ask('Hi'), { 'content-type': 'application/json', 'user-agent': 'me/1' }),
  );
  const [line] = lines();
  expect(line).toMatchObject({
    v: 1,
    id: 1,
    model: 'gemini-2.5-flash',
    request: {
      method: 'POST',
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
      query: { alt: 'sse' },
      headers: { 'content-type': 'application/json' },
      body: ask('Hi'),
    },
    response: {
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'x-gemini-service-tier': 'flex' },
      chunks: [{ data: { responseId: 'response-1' } }, { data: { responseId: 'response-1' } }],
    },
  });
  expect(line.request.query).toEqual({ alt: 'sse' });
  expect(Object.keys(line.response.headers)).toHaveLength(2);
  expect(line.response.chunks[1].ms).toBeGreaterThan(line.response.chunks[0].ms);
});

test('projects, traces, sessions and prompts of an account have names that say nothing', async () => {
  const { send, directory } = await recording([
    { chunks: [{ response: text('x'), traceId: 'trace-of-mine' }] },
    {
      status: 403,
      headers: { 'content-type': 'application/json' },
      chunks: [
        Buffer.from(
          JSON.stringify({
            validationUrl: 'https://accounts.example/?authuser=jane.doe%40example.org',
            error: { message: 'project 123456789012, projects/my-project-42: consumer project_number:123456789012' },
          }),
        ),
      ],
    },
  ]);
  const body = {
    model: 'gemini-2.5-pro',
    project: 'my-project-42',
    user_prompt_id: 'p-42',
    request: { ...ask('x'), session_id: 's-42' },
  };
  await send(toRequest('/v1internal:streamGenerateContent?alt=sse', body));
  await send(toRequest('/v1/projects/my-project-42/locations/eu/publishers/google/models/m:generateContent', ask('x')));
  expect(everythingIn(directory)).not.toMatch(/my-project|123456789012|jane|p-42|s-42|trace-of-mine/);
});

test('the same words in the conversation are left as they are', async () => {
  const part = {
    functionCall: {
      name: 'f',
      args: { project: 'apollo', sessionId: 's-1', mail: 'jane@example.org', at: 'projects/apollo' },
    },
  };
  const { send, lines } = await recording([{ chunks: [{ candidates: [{ content: { parts: [part] } }] }] }]);
  const contents = [{ role: 'model', parts: [part] }];
  await send(toRequest(STREAM, { contents }));
  const [{ request, response }] = lines();
  expect(request.body.contents).toEqual(contents);
  expect(response.chunks[0].data.candidates[0].content.parts).toEqual([part]);
});

test('requests that issue tokens are passed on, and not recorded', async () => {
  const { send, lines } = await recording(Array.from({ length: 4 }, () => ({ chunks: [{ access_token: KEY }] })));
  for (const address of [
    'https://oauth2.googleapis.com/token',
    'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token',
    'https://sts.googleapis.com/v1/token',
    'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/x:generateAccessToken',
  ]) {
    expect((await send(toRequest(address, { grant: 'x' }))).text).toContain(KEY);
  }
  expect(lines()).toEqual([]);
});

test.for(['/oauth2/v4/token/', '/o/oauth2/token?grant_type=x', '/v1alpha/auth_tokens', '/oauth2/v3/userinfo'])(
  'a proxy does not record %s',
  async (path) => {
    const { send, lines } = await recording([{ chunks: [{ token: 'opaque' }] }], [], { isProxy: true });
    await send(toRequest(path, { x: 1 }));
    await send(toRequest('/v1beta/models/m:countTokens', ask('x')));
    expect(lines().map(({ request }) => request.path)).toEqual(['/v1beta/models/m:countTokens']);
  },
);

test('tokens by their name, parameters by theirs, and the parts of a credential are nowhere', async () => {
  const basic = `Basic ${Buffer.from('user:canary-pass-1').toString('base64')}`;
  const { send, directory, lines } = await recording([
    {
      headers: {
        'content-type': 'application/json',
        'x-goog-upload-url': 'https://host/upload/v1beta/files?upload_id=1&X-Goog-Signature=canary-signed',
      },
      chunks: [Buffer.from('{"access_token":"canary-a","nested":{"refreshToken":"canary-b","tokens":3}}')],
    },
    { chunks: [text('the pass is canary-pass-1, the cookie canary-cookie-1')] },
  ]);
  const address = '/v1beta/files?pageToken=next&pageSize=2&api_key=canary-c&sig=canary-d&X-Goog-Credential=canary-e';
  await send(toRequest(address, undefined, { authorization: basic, cookie: 'SID=canary-cookie-1; a=b' }));
  await send(toRequest(STREAM, ask('x')));
  expect(everythingIn(directory)).not.toContain('canary');
  expect(lines()[0].request.query).toEqual({ pageToken: 'next', pageSize: '2' });
  expect(lines()[0].response.chunks[0].data.nested.tokens).toBe(3);
  expect(lines()).toHaveLength(2);
});

test('what is compressed is read: a request by its JSON, an attachment for secrets', async () => {
  const { send, lines, reports, file, directory } = await recording([
    { chunks: [text('ok')] },
    { chunks: [text('ok')] },
  ]);
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json', 'x-goog-api-key': KEY };
  await send(toRequest(STREAM, gzipSync(JSON.stringify(ask(`my key is ${KEY}`))), headers));
  expect(lines()[0].request.body).toEqual(ask('my key is ‹redacted›'));
  await send(toRequest('/upload/v1beta/files', gzipSync(`key=${KEY}\n`.repeat(9)), { 'x-goog-api-key': KEY }));
  expect(reports.join()).toMatch(/it holds a credential of this run/);
  expect([lines().length, readdirSync(directory)]).toEqual([1, ['calls.jsonl']]);
  // A client that does not compress is the same one.
  const again = await replaying(file);
  const plain = toRequest(STREAM, ask(`my key is ${KEY}`), {
    'content-type': 'application/json',
    'x-goog-api-key': KEY,
  });
  expect((await again.ask(plain)).text).toContain('ok');
});

test('a body that says it is compressed and is not is kept as it came', async () => {
  const { send, lines } = await recording([{ chunks: [text('ok')] }]);
  await send(toRequest(STREAM, Buffer.from('{"a":1}'), { 'content-encoding': 'gzip' }));
  expect(lines()[0].request.body).toEqual({ a: 1 });
});

test('a secret is found also if its halves are events of two forms', async () => {
  const half = (words: string): Uint8Array =>
    Buffer.from(`data: {"n":1.0,"candidates":[{"content":{"role":"model","parts":[{"text":"${words}"}]}}]}\r\n\r\n`);
  const { send, lines, reports } = await recording([{ chunks: [text('it is canary-'), half('key-0123'), text('!')] }]);
  await send(toRequest(STREAM, ask('x'), { 'x-goog-api-key': 'canary-key-0123' }));
  expect([lines().length, reports.length]).toEqual([0, 1]);
});

test('a stream of very many pieces, or of one long line of spaces, is written in time', async () => {
  const pieces = Array.from({ length: 30_000 }, (_, index) => ({ candidates: [{ index }] }));
  const spaces = Buffer.from(`data: ${' '.repeat(400_000)}x\ny\n\n`);
  const { send, lines } = await recording([{ chunks: [...pieces, spaces] }]);
  await send(toRequest(STREAM, ask('x')));
  expect(lines()[0].response.chunks).toHaveLength(30_001);
});

test('a credential of the run is in no file, wherever it was and however it was written', async () => {
  const secret = 'canary+"key/0123=&456\\789';
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.values(ENCODINGS)),
      fc.constantFrom('prompt', 'attachment', 'answer', 'query', 'field'),
      fc.array(fc.nat(200), { maxLength: 4 }),
      async (encode, place, cuts) => {
        const hidden = `before ${encode(secret)} after`;
        const pieces = place === 'answer' ? cutAt(hidden, cuts) : ['fine'];
        const { send, directory, reports } = await recording(
          [{ chunks: pieces.map((piece) => text(piece)) }],
          [secret],
        );
        const attachment = {
          inlineData: { mimeType: 'text/plain', data: Buffer.from(hidden.repeat(300)).toString('base64') },
        };
        const parts = [
          ...(place === 'prompt' ? [{ text: hidden }] : []),
          ...(place === 'attachment' ? [attachment] : []),
          ...(place === 'field' ? [{ functionResponse: { name: 'f', response: { [hidden]: 1 } } }] : []),
          { text: 'hi' },
        ];
        const query = place === 'query' ? `&x=${encodeURIComponent(hidden)}` : '';
        await send(
          toRequest(`${STREAM}${query}`, { contents: [{ role: 'user', parts }] }, { 'x-goog-api-key': secret }),
        );
        const kept = everythingIn(directory);
        const forms = Object.values(ENCODINGS).flatMap((form) => [
          form(secret),
          JSON.stringify(form(secret)).slice(1, -1),
        ]);
        expect(forms.filter((form) => kept.includes(form))).toEqual([]);
        const answers = [...kept.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)]
          .map(([, found]) => JSON.parse(`"${found}"`))
          .join('');
        expect(forms.filter((form) => answers.includes(form))).toEqual([]);
        // Either the line is there without it, or somebody was told.
        if (kept === '') expect(reports.join()).toMatch(/is not recorded: .*it holds a credential of this run/);
      },
    ),
    { numRuns: 150 },
  );
});

test('what is stored about the user is looked for, too, and what looks like a credential of anybody', async () => {
  const { send, directory, lines } = await recording(
    [{ chunks: [text(`use ${CANARIES.refresh}`)] }],
    [CANARIES.privateKey],
  );
  await send(toRequest(STREAM, ask(`${CANARIES.privateKey} and ${CANARIES.clientSecret}, key=lambda x: x`)));
  expect(canariesIn(everythingIn(directory))).toEqual([]);
  expect(lines()[0].request.body.contents[0].parts[0].text).toBe('‹redacted› and ‹redacted›, key=lambda x: x');
});

test('long media are kept beside the recording by their fingerprint, and come back in a replay', async () => {
  const picture = Buffer.from(Array.from({ length: 6000 }, (_, index) => index % 251)).toString('base64');
  const part = { inlineData: { mimeType: 'image/png', data: picture } };
  const { send, file, lines, directory } = await recording([
    { chunks: [{ candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }] },
  ]);
  const request = toRequest(STREAM, { contents: [{ role: 'user', parts: [part] }] });
  const original = await send(request);
  expect(readFileSync(file, 'utf8')).not.toContain(picture);
  expect(readdirSync(join(directory, 'calls.media'))).toEqual([
    lines()[0].request.body.contents[0].parts[0].inlineData.data.$media,
  ]);
  const { ask: again } = await replaying(file);
  expect((await again(request)).text).toBe(original.text);
  writeFileSync(join(directory, 'calls.media', readdirSync(join(directory, 'calls.media'))[0] ?? ''), 'changed');
  await expect((await replaying(file)).ask(request)).rejects.toThrow(/media .* are missing, or were changed/);
});

test('an upload is recorded by its bytes, and goes on where the client is', async () => {
  const start = {
    headers: { 'x-goog-upload-url': 'https://host/upload/v1beta/files?upload_id=secret&upload_protocol=resumable' },
    chunks: [],
  };
  const { send, file, directory } = await recording([
    start,
    { headers: { 'content-type': 'application/json' }, chunks: [Buffer.from('{"file":{"name":"files/a"}}')] },
  ]);
  const bytes = Buffer.from([0xff, 0xfe, 0, 1, 2]);
  const first = toRequest('/upload/v1beta/files', { file: {} }, { 'x-goog-upload-command': 'start' });
  await send(first);
  const second = (id: string) => toRequest(`/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`, bytes);
  await send(second('secret'));
  expect(everythingIn(directory)).not.toContain('secret');
  const { ask: again, listProblems } = await replaying(file);
  const { headers } = await again(first);
  expect(headers['x-goog-upload-url']).toBe(
    'https://generativelanguage.googleapis.com/upload/v1beta/files?upload_id=upload&upload_protocol=resumable',
  );
  expect(JSON.parse((await again(second('upload'))).text)).toEqual({ file: { name: 'files/a' } });
  expect(listProblems()).toEqual({ refused: [], unused: [] });
});

test('a lost connection, numbers of any form and what is no JSON come back as they were', async () => {
  const odd = 'data: {"n": 1.0, "big": 12345678901234567890}\n\n: a comment\n\ndata: {"candidates"';
  const { send, file } = await recording([
    { chunks: [text('a'), Buffer.from(odd), 'cut'] },
    { status: 502, headers: { 'content-type': 'text/html' }, chunks: [Buffer.from('<h1>東京</h1>')] },
  ]);
  await expect(send(toRequest(STREAM, ask('one')))).rejects.toThrow('lost');
  await send(toRequest(STREAM, ask('two')));
  const { send: again, ask: whole } = await replaying(file);
  const response = await again(toRequest(STREAM, ask('one')), new AbortController().signal);
  let seen = '';
  await expect(
    (async () => {
      for await (const piece of response.body) seen += Buffer.from(piece).toString('utf8');
    })(),
  ).rejects.toThrow(/the answer was cut short/);
  expect(seen).toBe(`data: ${JSON.stringify(text('a'))}\r\n\r\n${odd}`);
  expect(await whole(toRequest(STREAM, ask('two')))).toMatchObject({ status: 502, text: '<h1>東京</h1>' });
});

test('only known headers of a response are replayed: a file cannot break the connection', async () => {
  const { send, file } = await recording([{ chunks: [text('a')] }]);
  await send(toRequest(STREAM, ask('a')));
  const line = readFileSync(file, 'utf8').replace(
    '"headers":{"content-type":"text',
    '"headers":{"content-length":"3","x":"\\r\\n","Content-Type":"text',
  );
  writeFileSync(file, line);
  expect((await (await replaying(file)).ask(toRequest(STREAM, ask('a')))).headers).toEqual({
    'content-type': 'text/event-stream',
  });
});

test('a recorder adds to its own files only, and numbers go on', async () => {
  const { send, file, directory, lines } = await recording([]);
  await send(toRequest(STREAM, ask('one')));
  const { createRecorder } = await import('../../src/recording/recorder.ts');
  const open = (name: string) =>
    createRecorder({
      ...{ file: name, cwd: directory, clock: { now: () => Date.UTC(2026, 10, 19) }, report: () => {} },
      secrets: async () => new Set<string>(),
      send: async () => ({ status: 200, headers: {}, body: (async function* () {})() }),
    });
  const { send: more } = await open(file);
  for await (const _ of (await more(toRequest(STREAM, ask('two')), new AbortController().signal)).body);
  expect(lines().map(({ id }) => id)).toEqual([1, 2]);
  writeFileSync(join(directory, 'notes.txt'), 'dear diary\n');
  await expect(open('notes.txt')).rejects.toThrow(/notes.txt:1: not JSON/);
});

test('every path of a directory comes back as it was, whatever is around it and however it is cut', async () => {
  const piece = fc.constantFrom(
    '/home/ann',
    '/home/ann/work',
    '/home/anna',
    '.',
    ' ',
    '-',
    'x',
    '%2Fhome%2Fann',
    '"',
    '\\',
  );
  await fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat(200), { maxLength: 4 }), (parts, cuts) => {
      const there = createPlaceNames([
        ['workspace', '/home/ann/work'],
        ['home', '/home/ann'],
      ]);
      const whole = parts.join('');
      const pieces = cutAt(whole || ' ', cuts).map((part) => text(part));
      const hidden = replaceAcross(pieces, there.findSpans);
      const join = (values: readonly JsonValue[]): string =>
        values.map((value) => JSON.parse(JSON.stringify(value)).candidates[0].content.parts[0].text).join('');
      expect(join(hidden)).not.toMatch(/\/home\/ann(?![\w-]|\.\w)/);
      expect(join(hidden.map(there.restore))).toBe(whole || ' ');
      const elsewhere = createPlaceNames([
        ['workspace', '/srv/w'],
        ['home', '/root'],
      ]);
      expect(join(hidden.map(elsewhere.restore))).not.toMatch(/‹/);
    }),
    { numRuns: 300 },
  );
});
