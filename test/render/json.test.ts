import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { codePoint } from '../support/properties.ts';
import { renderAll } from './fakes.ts';
import { begin, cutOff, end, failure, hello, interrupted, savedAs, texts, unauthenticated, withTools } from './runs.ts';

describe('json', () => {
  test('an answer is one object with the documented keys in their order', async () => {
    expect(await renderAll('json', hello)).toMatchObject({
      err: '',
      out: `{
  "model": "gemini-2.5-flash",
  "response": "Hello! How can I help you today?",
  "usage": {
    "promptTokenCount": 5,
    "candidatesTokenCount": 12,
    "totalTokenCount": 17
  },
  "finishReason": "STOP"
}
`,
    });
  });

  test('a saved run with tools and notices adds its keys at the end', async () => {
    const { out, err } = await renderAll('json', savedAs('abc', withTools));
    expect(err).toBe('');
    expect(out).toBe(
      `${JSON.stringify(
        {
          model: 'gemini-2.5-flash',
          response: 'It says hello.',
          usage: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
          finishReason: 'STOP',
          sessionId: 'abc',
          toolCalls: [
            { id: 'c1', name: 'read_file', args: { file_path: 'a.txt' }, result: { output: 'hello' } },
            {
              id: 'c2',
              name: 'read_file',
              args: { file_path: 'b.txt' },
              result: { error: 'b.txt does not exist' },
              isError: true,
            },
          ],
          warnings: ['settings.json: unknown key "modle"'],
        },
        null,
        2,
      )}\n`,
    );
  });

  test('an error is an object on stdout and stderr stays empty', async () => {
    expect(await renderAll('json', unauthenticated)).toMatchObject({
      err: '',
      out: `{
  "error": {
    "code": 2,
    "type": "AuthError",
    "message": "no Gemini credentials found",
    "suggestion": "Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo"
  }
}
`,
    });
  });

  test('text that had arrived, and notices, are kept in the error', async () => {
    expect((await renderAll('json', cutOff)).out).toBe(`{
  "error": {
    "code": 3,
    "type": "ApiError",
    "message": "API error: the stream ended without a finish reason",
    "suggestion": "Try again.",
    "partialResponse": "Once upon a time",
    "warnings": [
      "answered after 2 tries"
    ]
  }
}
`);
  });

  test('calls that had been made are kept in the error', async () => {
    const events = [
      begin,
      { type: 'call', id: '1', name: 'look', args: { a: 1 } },
      {
        type: 'answer',
        id: '1',
        name: 'look',
        outcome: { ok: true, response: { output: 'x' }, usage: { totalTokenCount: 1 } },
      },
      { type: 'call', id: '2', name: 'look', args: {} },
      failure(new AppError('limit', 'Too many.')),
    ] as const;
    expect(JSON.parse((await renderAll('json', events)).out)).toEqual({
      error: {
        code: 1,
        type: 'LimitError',
        message: 'Too many.',
        toolCalls: [
          { id: '1', name: 'look', args: { a: 1 }, result: { output: 'x' } },
          { id: '2', name: 'look', args: {} },
        ],
      },
    });
  });

  test('an error without a next step has no suggestion', async () => {
    expect(JSON.parse((await renderAll('json', interrupted)).out)).toEqual({
      error: { code: 130, type: 'Interrupted', message: 'Interrupted.', partialResponse: 'Once' },
    });
  });

  test('nothing is written to a reader that went away', async () => {
    const gone = [begin, ...texts('a'), failure(new AppError('pipe', 'closed'))];
    for (const format of ['json', 'stream-json', 'text']) {
      for (const dialect of ['gmn', 'gemini'] as const) {
        const { out, err } = await renderAll(format, gone, { dialect });
        expect(out + err).not.toMatch(/closed|error/i);
      }
    }
  });

  test('a long answer is written in pieces of about 64 KB', async () => {
    const delta = 'x'.repeat(4096);
    const { out, writes } = await renderAll('json', [begin, ...texts(...Array(100).fill(delta)), end]);
    expect(JSON.parse(out).response).toBe(delta.repeat(100));
    expect(Math.max(...writes.map((write) => write.length))).toBeLessThan(140_000);
    expect(writes.length).toBeLessThan(10);
  });

  test('any answer is byte for byte what JSON.stringify would print, but for escaped controls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: codePoint })), async (deltas) => {
        const { out } = await renderAll('json', [begin, ...texts(...deltas), end]);
        const parsed: unknown = JSON.parse(out);
        expect(parsed).toMatchObject({ response: deltas.join('') });
        expect(
          out.replace(/\\u(007f|00[89].|061c|200[ef]|202[89a-e]|206[6-9])/g, (escaped) => JSON.parse(`"${escaped}"`)),
        ).toBe(`${JSON.stringify(parsed, null, 2)}\n`);
      }),
    );
  });

  test('what reaches stdout is safe to print on a terminal', async () => {
    const hostile = '\u001b]0;x\u0007\u009b31m\u007f\u202e\u2066\u2028\u0085';
    for (const format of ['json', 'stream-json']) {
      for (const dialect of ['gmn', 'gemini'] as const) {
        const { out } = await renderAll(format, [begin, ...texts(hostile), { type: 'notice', message: hostile }, end], {
          dialect,
          prompt: hostile,
        });
        expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/);
      }
    }
  });
});
