import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { renderAll } from './fakes.ts';
import { begin, cutOff, end, failure, hello, texts, unauthenticated, withTools } from './runs.ts';

describe('stream-json', () => {
  test('an answer is a start, its contents and a done', async () => {
    expect(await renderAll('stream-json', hello)).toMatchObject({
      err: '',
      out: `{"type":"start","model":"gemini-2.5-flash"}
{"type":"content","text":"Hello"}
{"type":"content","text":"! How can"}
{"type":"content","text":" I help you today?"}
{"type":"done","usage":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"finishReason":"STOP"}
`,
    });
  });

  test('thoughts are events only when they were asked for', async () => {
    const { out } = await renderAll('stream-json', hello, { showThoughts: true });
    expect(out.split('\n')[1]).toBe('{"type":"thought","text":"They greet me."}');
  });

  test('tools are events, a second model call is no second start, notices wait for the end', async () => {
    expect((await renderAll('stream-json', withTools)).out).toBe(`{"type":"start","model":"gemini-2.5-flash"}
{"type":"tool_call","id":"c1","name":"read_file","args":{"file_path":"a.txt"}}
{"type":"tool_call","id":"c2","name":"read_file","args":{"file_path":"b.txt"}}
{"type":"tool_result","id":"c1","name":"read_file","result":{"output":"hello"}}
{"type":"tool_result","id":"c2","name":"read_file","result":{"error":"b.txt does not exist"},"isError":true}
{"type":"content","text":"It says hello."}
{"type":"done","usage":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"finishReason":"STOP","warnings":["settings.json: unknown key \\"modle\\""]}
`);
  });

  test('an error before the request is the only line', async () => {
    expect((await renderAll('stream-json', unauthenticated)).out).toBe(
      '{"type":"error","error":{"code":2,"type":"AuthError","message":"no Gemini credentials found","suggestion":"Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo"}}\n',
    );
  });

  test('an error later is the last line and holds what had arrived', async () => {
    const { out } = await renderAll('stream-json', cutOff);
    expect(out.trimEnd().split('\n').at(-1)).toBe(
      '{"type":"error","error":{"code":3,"type":"ApiError","message":"API error: the stream ended without a finish reason","suggestion":"Try again.","partialResponse":"Once upon a time","warnings":["answered after 2 tries"]}}',
    );
  });

  test('a partial answer too long to keep is left to the content events, and the error says so', async () => {
    const cut = failure(new AppError('api', 'cut'));
    const upToLimit = await renderAll('stream-json', [begin, ...texts(...Array(10).fill('y'.repeat(100_000))), cut]);
    expect(lastLine(upToLimit.out).error.partialResponse).toHaveLength(1_000_000);
    const beyond = await renderAll('stream-json', [begin, ...texts(...Array(11).fill('y'.repeat(100_000))), cut]);
    expect(lastLine(beyond.out).error).toEqual({
      code: 3,
      type: 'ApiError',
      message: 'cut',
      warnings: ['partialResponse left out: join the content events'],
    });
  });

  test('each event is one write, made as it comes', async () => {
    const { writes } = await renderAll('stream-json', hello);
    expect(writes).toHaveLength(5);
    expect(writes.every((write) => write.indexOf('\n') === write.length - 1)).toBe(true);
  });

  test('an empty delta makes no event', async () => {
    expect((await renderAll('stream-json', [begin, ...texts(''), end])).out).not.toContain('content');
  });
});

function lastLine(out: string): { readonly error: Readonly<Record<string, unknown>> } {
  return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '');
}
