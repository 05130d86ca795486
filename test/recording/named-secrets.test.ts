import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ask, cutAt, ENCODINGS, everythingIn, recording, replaying, STREAM, text, toRequest } from './support.ts';

const VALUE = 'Tr0ub4dor&3-canary';
const NAMES = [
  'password',
  'DB_PASSWORD',
  'passphrase',
  'token',
  'accessToken',
  'client_secret',
  'api_key',
  'Api-Key',
  'パスワード',
  'Passwort',
  'contraseña',
];
const FORMS: Readonly<Record<string, (name: string) => string>> = {
  yaml: (name) => `user: me\n${name}: ${VALUE}\nhost: db`,
  environment: (name) => `export ${name}=${VALUE}\nUSER=me`,
  code: (name) => `const ${name} = '${VALUE}';`,
  json: (name) => JSON.stringify({ user: 'me', [name]: VALUE }),
  'json in json': (name) => JSON.stringify(JSON.stringify({ [name]: VALUE })),
  xml: (name) => `<${name}>${VALUE}</${name}>`,
  markdown: (name) => `**${name}:** \`${VALUE}\``,
  table: (name) => `| ${name} | ${VALUE} |`,
  prose: (name) => `the ${name} is ${VALUE}.`,
  flag: (name) => `curl --${name} ${VALUE} https://example.com`,
  'code with a type': (name) => `const ${name}: Readonly<string> = '${VALUE}';`,
  'YAML block': (name) => `${name}: |-\n  ${VALUE}\n`,
  attribute: (name) => `<input name="${name}" type="text" value="${VALUE}">`,
  'property list': (name) => `<key>${name}</key>\n<string>${VALUE}</string>`,
};

test('what stands beside a word such as password is in no recording, wherever it was and however it was written', async () => {
  const forms = Object.values(FORMS);
  const encodings = Object.values(ENCODINGS);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...NAMES),
      fc.constantFrom(...forms),
      fc.constantFrom(...encodings),
      fc.constantFrom('prompt', 'attachment', 'answer', 'call', 'field', 'upload'),
      fc.array(fc.nat(200), { maxLength: 4 }),
      async (name, form, encode, place, cuts) => {
        const hidden = `before ${encode(form(name))} after`;
        const pieces = place === 'answer' ? cutAt(hidden, cuts) : ['fine'];
        const { send, directory, lines } = await recording([{ chunks: pieces.map((piece) => text(piece)) }]);
        const data = Buffer.from(hidden).toString('base64');
        const parts: Readonly<Record<string, object>> = {
          attachment: { inlineData: { mimeType: 'text/plain', data } },
          call: { functionCall: { name: 'write_file', args: { content: hidden } } },
          field: {
            functionCall: {
              name: 'log_in',
              args: { user: 'me', [name]: { value: VALUE }, env: [{ name, value: VALUE }], headers: [[name, VALUE]] },
            },
          },
        };
        const part = parts[place] ?? { text: place === 'prompt' ? hidden : 'hi' };
        const body = place === 'upload' ? Buffer.from(hidden) : { contents: [{ role: 'user', parts: [part] }] };
        await send(toRequest(place === 'upload' ? '/upload/v1beta/files' : STREAM, body));
        const kept = everythingIn(directory);
        const seen = [
          kept,
          Buffer.from(lines()[0].request.body?.contents[0].parts[0].inlineData?.data ?? '', 'base64'),
        ];
        seen.push(
          [...kept.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)].map(([, found]) => JSON.parse(`"${found}"`)).join(''),
        );
        for (const one of seen) {
          for (const secret of [...encodings.map((it) => it(VALUE)), encode(form(name))]) {
            expect([secret, String(one)]).toEqual([secret, expect.not.stringContaining(secret)]);
          }
        }
        expect(lines()).toHaveLength(1);
      },
    ),
    { numRuns: 300 },
  );
});

test('a word that is spelled with other characters is that word', async () => {
  const written = [
    `ｐａｓｓｗｏｒｄ＝${VALUE}`,
    `pass\u200bword: ${VALUE}`,
    `&quot;password&quot;: &quot;${VALUE}&quot;`,
  ];
  const { send, directory } = await recording([{ chunks: [text('ok')] }]);
  const data = Buffer.from(`\ufeffpassword: ${VALUE}`, 'utf16le').toString('base64');
  const parts = [...written.map((it) => ({ text: it })), { inlineData: { mimeType: 'text/plain', data } }];
  await send(toRequest(STREAM, { contents: [{ role: 'user', parts }] }));
  const kept = everythingIn(directory);
  expect(kept).not.toContain(VALUE);
  expect(kept).not.toContain(data);
  expect(kept).toContain(Buffer.from('\ufeffpassword: ‹redacted›', 'utf16le').toString('base64'));
});

test('what is no secret stays beside such a word: references, types, counts, pages and calls of a program', async () => {
  const plain = [
    'export TOKEN=$GEMINI_API_KEY; run --token "$TOKEN"',
    'password: string; token?: string | null; secret: process.env.SECRET',
    'const token = lexer.next(); if (token === undefined) return;',
    'max_tokens: 4096, Tokens: 12, the password is required, key=lambda x: x',
    'echo secret > file; get-secret | head; secretary: Ann, tokenizer: fast',
  ];
  const schema = { type: 'object', properties: { password: { type: 'string', description: 'as typed' } } };
  const answer = {
    nextPageToken: 'page-2',
    continuationToken: 'next',
    candidates: [
      {
        logprobsResult: { chosenCandidates: [{ token: 'Hello', tokenId: 7 }] },
        content: { parts: plain.map((it) => ({ text: it })) },
      },
    ],
    usageMetadata: { promptTokensDetails: [{ modality: 'TEXT', tokenCount: 5 }], totalTokenCount: 5 },
  };
  const { send, lines } = await recording([{ chunks: [answer] }]);
  const tools = [{ functionDeclarations: [{ name: 'log_in', parametersJsonSchema: schema }] }];
  const contents = [{ role: 'user', parts: plain.map((it) => ({ text: it })) }];
  await send(toRequest(`${STREAM}&pageToken=next`, { contents, tools }));
  expect(lines()[0].request.body).toEqual({ contents, tools });
  expect(lines()[0].response.chunks[0].data).toEqual(answer);
  expect(lines()[0].request.query).toMatchObject({ pageToken: 'next' });
});

test('a request with a named secret is found again in its recording', async () => {
  const { send, file } = await recording([{ chunks: [text('ok')] }]);
  const request = toRequest(STREAM, ask('log in with password: hunter2'));
  await send(request);
  expect(readFileSync(file, 'utf8')).not.toContain('hunter2');
  expect((await (await replaying(file)).ask(request)).text).toContain('ok');
});
