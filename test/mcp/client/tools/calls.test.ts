import { expect, test } from 'vitest';
import { UNTRUSTED } from '../../../../src/core/tool.ts';
import { tryParseCallResult } from '../../../../src/mcp/client/parse.ts';
import { toToolResult } from '../../../../src/mcp/client/tools/calls.ts';
import type { ContentBlock } from '../../../../src/mcp/client/types.ts';

const lost = async () => undefined;
const text = (words: string): ContentBlock => ({ type: 'text', text: words });

test('structured content that the text repeats is sent once', async () => {
  const result = { content: [text('{ "a": 1 }')], structuredContent: { a: 1 }, isError: false };
  expect(await toToolResult(result, lost)).toEqual({
    ok: true,
    response: { output: '{ "a": 1 }', ...UNTRUSTED },
    summary: '{ "a": 1 }',
  });
});

test('structured content alone is sent', async () => {
  expect(await toToolResult({ content: [], structuredContent: [1], isError: false }, lost)).toEqual({
    ok: true,
    response: { output: '', structured: [1], ...UNTRUSTED },
  });
});

test('a tool without output says so, also when it failed', async () => {
  expect(await toToolResult({ content: [], isError: false }, lost)).toEqual({
    ok: true,
    response: { output: '(no output)', ...UNTRUSTED },
    summary: '(no output)',
  });
  expect(await toToolResult({ content: [], isError: true }, lost)).toEqual({
    ok: false,
    response: { error: '(no output)', ...UNTRUSTED },
  });
});

test('long output is stored where the model can read it', async () => {
  const kept: string[] = [];
  const keep = async (whole: string) => `/shelf/${kept.push(whole)}.txt`;
  const { response } = await toToolResult(
    { content: [text('a'.repeat(50_000)), text('z'.repeat(50_000))], isError: false },
    keep,
  );
  expect(String(response.output)).toMatch(
    /^a{30000}\n\[… 60001 characters are left out here; read_file \/shelf\/1\.txt shows them …\]\nz{10000}$/,
  );
  expect(kept[0]).toHaveLength(100_001);
});

test('ten thousand pieces are cut', async () => {
  const { response } = await toToolResult(
    { content: Array.from({ length: 10_000 }, () => text('.')), isError: false },
    lost,
  );
  expect(String(response.output).split('\n').slice(-2)).toEqual(['.', '[9000 more parts were skipped]']);
});

test('more media than a request takes is only described', async () => {
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1'), Buffer.alloc(6_000_000)]).toString('base64');
  const image: ContentBlock = { type: 'image', mimeType: 'image/gif', data: png };
  const { response, media } = await toToolResult({ content: [image, image], isError: false }, lost);
  expect(response.output).toBe(
    '[image, image/png, 6.0 MB: attached]\n[image, image/png, 6.0 MB: too large to be shown]',
  );
  expect(media?.map(({ inlineData }) => inlineData.mimeType)).toEqual(['image/png']);
});

test('a picture in a failure is attached, as it says', async () => {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const outcome = await toToolResult(
    { content: [{ type: 'image', mimeType: 'image/png', data }], isError: true },
    lost,
  );
  expect(outcome).toEqual({
    ok: false,
    response: { error: '[image, image/png, 70 B: attached]', ...UNTRUSTED },
    media: [{ inlineData: { mimeType: 'image/png', data } }],
  });
});

test.for([undefined, null, 7, {}, { content: 'words' }, { content: {} }, { toolResult: 1 }])(
  '%j is not a tool result',
  (value) => {
    expect(tryParseCallResult(value)).toBeUndefined();
  },
);

test('pieces that cannot be shown are named', async () => {
  const result = tryParseCallResult({
    content: [{ type: 'text', text: 'a' }, { type: 'hologram' }, { type: 'text' }, 7],
  });
  expect(result).toEqual({ content: [text('a')], omitted: ['hologram', 'text', 'none'], isError: false });
  expect((await toToolResult(result!, lost)).response.output).toBe(
    [
      'a',
      '[a part of the type hologram was skipped: it cannot be shown]',
      '[a part of the type text was skipped: it cannot be shown]',
      '[a part of the type none was skipped: it cannot be shown]',
    ].join('\n'),
  );
});
