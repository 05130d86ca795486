import { readFileSync } from 'node:fs';
import { type Schema, Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { splitLines, trimLine } from '../../src/mcp/wire/lines.ts';
import { findId, parseProcessLine } from '../../src/process/request.ts';

async function* cut(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const end of [...cuts].sort((one, other) => one - other)) {
    yield bytes.subarray(at, end);
    at = Math.max(at, end);
  }
  yield bytes.subarray(at);
}

const schema: Schema = JSON.parse(
  readFileSync(new URL('../../docs/schemas/process-input.schema.json', import.meta.url), 'utf8'),
);
const validator = new Validator(schema, '2020-12');

const text = fc
  .string({ unit: fc.constantFrom('a', '\u2028', '\u2029', '\u0085', '\r', '\n', '日', '😀', '"') })
  .filter((value) => value.trim() !== '');

test('a prompt arrives as it was sent, wherever the bytes are cut and whatever ends a line for other readers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.array(fc.nat(300)), async (texts, cuts) => {
      const sent = texts.map((value, index) => `${JSON.stringify({ type: 'prompt', id: `${index}`, text: value })}\n`);
      const found: unknown[] = [];
      const lines = splitLines(cut(Buffer.from(sent.join('')), cuts), { maxBytes: 100_000, tooLong: 'skip' });
      for await (const line of lines) found.push('text' in line ? parseProcessLine(trimLine(line.text)) : line);
      expect(found).toEqual(
        texts.map((value, index) => ({
          type: 'prompt',
          id: `${index}`,
          content: { role: 'user', parts: [{ text: value }] },
          choice: {},
        })),
      );
    }),
  );
});

function tryParse(line: string): object {
  try {
    return parseProcessLine(line);
  } catch (thrown) {
    return thrown as object;
  }
}

test('whatever a line holds, it is a request or an error of its sender', () => {
  const type = fc.constantFrom('prompt', 'cancel', 'approve', 'set', 'ping', 'other');
  const names = fc.constantFrom('id', 'text', 'parts', 'call', 'decision', 'args', 'reason', 'model', 'mode', 'tools');
  const fields = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }));
  const line = fc.tuple(type, fields).map(([kind, rest]) => JSON.stringify({ type: kind, ...rest }));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), line), (value) => {
      findId(value);
      const found = tryParse(value);
      if (found instanceof AppError) expect(found).toMatchObject({ fault: 'usage', hint: expect.any(String) });
      else expect(validator.validate(JSON.parse(value))).toEqual({ valid: true, errors: [] });
    }),
  );
});

test.for<readonly [line: object | string, message: string]>([
  ['[]', 'the line is not a JSON object'],
  ['{', 'the line is not JSON'],
  ['['.repeat(200) + ']'.repeat(200), 'the line is not a JSON object'],
  [`{"type":"ping","x":${'['.repeat(200)}${']'.repeat(200)}}`, 'the line is nested deeper than 100 levels'],
  [{ type: 'steer' }, '"type" must be prompt, cancel, approve, set or ping'],
  [{ type: 'prompt', id: '1' }, 'a prompt has either "text" or "parts"'],
  [{ type: 'prompt', id: '1', text: 'a', parts: [] }, 'a prompt has either "text" or "parts"'],
  [{ type: 'prompt', text: 'a' }, '"id" must be a text that is not empty'],
  [{ type: 'prompt', id: 'x'.repeat(201), text: 'a' }, '"id" has at most 200 characters'],
  [{ type: 'prompt', id: '1', text: ' ' }, '"text" must be a text that is not empty'],
  [{ type: 'prompt', id: '1', prompt: 'a' }, 'prompt has no "prompt"; it takes id, text, parts'],
  [{ type: 'prompt', id: '1', parts: [] }, '"parts" must be a list of Gemini parts'],
  [{ type: 'prompt', id: '1', parts: [{ functionResponse: {} }] }, '"parts[0]" must be {"text"}'],
  [{ type: 'prompt', id: '1', parts: [{ text: 'a' }, { text: 'a', thought: true }] }, '"parts[1]" must be {"text"}'],
  [
    {
      type: 'prompt',
      id: '1',
      parts: [{ fileData: { mimeType: 'a/b', fileUri: 'x' }, localFile: { path: '/etc/passwd' } }],
    },
    '"parts[0]" must be {"text"}',
  ],
  [{ type: 'prompt', id: '1', text: 'a', tools: [1] }, '"tools" must be a text or a list of names'],
  [{ type: 'prompt', id: '1', text: 'a', schema: 'x' }, '"schema" must be a JSON Schema, an object'],
  [{ type: 'approve', call: 'c', decision: 'maybe' }, '"decision" must be one of yes, no, always'],
  [{ type: 'approve', call: 'c', decision: 'no', args: {} }, '"args" go with yes or always'],
  [{ type: 'approve', call: 'c', decision: 'yes', args: [] }, '"args" must be an object'],
  [{ type: 'approve', call: 'c', decision: 'yes', reason: 'x' }, '"reason" goes with no'],
  [{ type: 'set' }, 'set has "model", "mode" or both'],
  [{ type: 'set', mode: 'all' }, '"mode" must be one of default, auto_edit, plan, yolo'],
  [{ type: 'ping', id: '1' }, 'ping has no "id"; it takes no other fields'],
])('%j is refused: %s', ([line, message]) => {
  expect(() => parseProcessLine(typeof line === 'string' ? line : JSON.stringify(line))).toThrow(message);
  if (typeof line !== 'string') expect(validator.validate(line).valid).toBe(false);
});

test('parts keep what the API reads, and nothing else', () => {
  const parts = [
    { text: 'a' },
    { inlineData: { mimeType: 'image/png', data: 'AAAA', displayName: 'x' } },
    { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/v' } },
  ];
  expect(parseProcessLine(JSON.stringify({ type: 'prompt', id: '1', parts, tools: ['read_file', 'glob'] }))).toEqual({
    type: 'prompt',
    id: '1',
    content: {
      role: 'user',
      parts: [parts[0], { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, parts[2]],
    },
    choice: { tools: 'read_file,glob' },
  });
});
