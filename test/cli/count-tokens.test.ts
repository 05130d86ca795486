import { expect, test } from 'vitest';
import { fakeGemini, type Scripted } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';

const counted: Scripted = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"totalTokens":42}');
};

test.for([
  { flags: [], stdout: '42\n' },
  { flags: ['-o', 'json'], stdout: '{\n  "model": "gemini-2.5-flash",\n  "totalTokens": 42\n}\n' },
  { flags: ['-o', 'stream-json'], stdout: '{"model":"gemini-2.5-flash","totalTokens":42}\n' },
])('--count-tokens $flags prints the count and asks nothing else', async ({ flags, stdout }, t) => {
  const gemini = await fakeGemini(t, [counted]);
  const gmn = await callGmn(t, [...flags, '--count-tokens', 'how long is this?'], { gemini });
  expect(gmn).toMatchObject({ stdout, stderr: '', exitCode: 0 });
  expect(gemini.requests[0]?.path).toBe('/v1beta/models/gemini-2.5-flash:countTokens');
});

test('--count-tokens counts the tools and the system instruction too', async (t) => {
  const gemini = await fakeGemini(t, [counted]);
  const gmn = await callGmn(t, ['--count-tokens', '--tools', 'glob', '--system', 'brief', 'hi'], { gemini });
  expect(gmn).toMatchObject({ stdout: '42\n', stderr: '', exitCode: 0 });
  expect(gemini.requests[0]?.body).toEqual({
    generateContentRequest: {
      model: 'models/gemini-2.5-flash',
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      systemInstruction: { role: 'user', parts: [{ text: 'brief' }] },
      tools: [{ functionDeclarations: [expect.objectContaining({ name: 'glob' })] }],
    },
  });
});
