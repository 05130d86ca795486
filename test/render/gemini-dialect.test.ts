import { describe, expect, test } from 'vitest';
import { openRenderer } from '../../src/render/renderers.ts';
import { parseLines } from '../support/gmn.ts';
import { fakeOut, fakeTime, renderAll, renderOptions } from './fakes.ts';
import { cutOff, hello, savedAs, unauthenticated, withTools } from './runs.ts';

const gemini = { dialect: 'gemini', prompt: 'Hello there' } as const;
const at = '2026-11-16T00:00:00.000Z';

function lines(out: string): readonly unknown[] {
  return parseLines(out);
}

describe('json in the gemini dialect', () => {
  test('has the official keys in the official order', async () => {
    const { out, err } = await renderAll('json', savedAs('a1b2', hello), gemini);
    const tokens = { input: 5, prompt: 5, candidates: 12, total: 17, cached: 0, thoughts: 0, tool: 0 };
    const api = { totalRequests: 1, totalErrors: 0, totalLatencyMs: 0 };
    expect(err).toBe('');
    expect(out).toBe(
      `${JSON.stringify(
        {
          session_id: 'a1b2',
          response: 'Hello! How can I help you today?',
          stats: {
            models: {
              'gemini-2.5-flash': { api: { ...api, errorsByType: {} }, tokens, roles: { main: { ...api, tokens } } },
            },
            tools: {
              totalCalls: 0,
              totalSuccess: 0,
              totalFail: 0,
              totalDurationMs: 0,
              totalDecisions: { accept: 0, reject: 0, modify: 0, auto_accept: 0 },
              byName: {},
            },
            files: { totalLinesAdded: 0, totalLinesRemoved: 0 },
          },
        },
        null,
        2,
      )}\n`,
    );
  });

  test('counts tools by name, requests and time', async () => {
    const time = fakeTime();
    const out = fakeOut();
    const render = await openRenderer('json', { out, err: fakeOut() }, renderOptions({ ...gemini, ...time }));
    for (const event of withTools) {
      await time.pass(10);
      await render(event);
    }
    const { stats, warnings } = JSON.parse(out.text);
    expect(warnings).toEqual(['settings.json: unknown key "modle"']);
    expect(stats.models['gemini-2.5-flash'].api).toMatchObject({ totalRequests: 2, totalLatencyMs: 90 });
    expect(stats.tools).toMatchObject({
      totalCalls: 2,
      totalSuccess: 1,
      totalFail: 1,
      totalDurationMs: 40,
      byName: { read_file: { count: 2, success: 1, fail: 1, durationMs: 40 } },
    });
  });

  test('counts a model call after each round of tools, though the turn begins once', async () => {
    const call = (id: string) => ({ type: 'call', id, name: 'glob', args: {} }) as const;
    const answer = (id: string) => ({ type: 'answer', id, name: 'glob', outcome: { ok: true, response: {} } }) as const;
    const wait = { type: 'wait', what: 'x' } as const;
    // Two rounds of tools, the first in two batches: three calls.
    const start = hello.findIndex(({ type }) => type === 'begin') + 1;
    const rounds = [
      call('1'),
      wait,
      answer('1'),
      call('2'),
      wait,
      answer('2'),
      wait,
      wait,
      call('3'),
      wait,
      answer('3'),
    ];
    const { out } = await renderAll(
      'json',
      [wait, ...hello.slice(0, start), ...rounds, wait, ...hello.slice(start)],
      gemini,
    );
    expect(JSON.parse(out).stats.models['gemini-2.5-flash'].api.totalRequests).toBe(3);
  });

  test('an error is on stdout, with the text that had arrived', async () => {
    expect(await renderAll('json', savedAs('a1b2', cutOff), gemini)).toMatchObject({
      err: '',
      out: `${JSON.stringify(
        {
          session_id: 'a1b2',
          response: 'Once upon a time',
          error: {
            type: 'ApiError',
            message: 'API error: the stream ended without a finish reason',
            code: 3,
            suggestion: 'Try again.',
          },
          warnings: ['answered after 2 tries'],
        },
        null,
        2,
      )}\n`,
    });
  });

  test('a run that is not saved has no session_id', async () => {
    const { out } = await renderAll('json', hello, { dialect: 'gemini' });
    expect(Object.keys(JSON.parse(out))).toEqual(['response', 'stats']);
  });
});

describe('stream-json in the gemini dialect', () => {
  test('has the official events in the official order', async () => {
    const { out, err } = await renderAll('stream-json', savedAs('a1b2', hello), gemini);
    const tokens = { total_tokens: 17, input_tokens: 5, output_tokens: 12, cached: 0, input: 5 };
    expect(err).toBe('');
    expect(out).toBe(
      [
        { type: 'init', timestamp: at, session_id: 'a1b2', model: 'gemini-2.5-flash' },
        { type: 'message', timestamp: at, role: 'user', content: 'Hello there' },
        { type: 'message', timestamp: at, role: 'assistant', content: 'Hello', delta: true },
        { type: 'message', timestamp: at, role: 'assistant', content: '! How can', delta: true },
        { type: 'message', timestamp: at, role: 'assistant', content: ' I help you today?', delta: true },
        {
          type: 'result',
          timestamp: at,
          status: 'success',
          stats: { ...tokens, duration_ms: 0, tool_calls: 0, models: { 'gemini-2.5-flash': tokens } },
        },
      ]
        .map((event) => `${JSON.stringify(event)}\n`)
        .join(''),
    );
  });

  test('tools have their official names, and notices are warnings of the result, no errors', async () => {
    const events = lines((await renderAll('stream-json', savedAs('a1b2', withTools), gemini)).out);
    expect(events.slice(0, 6)).toEqual([
      { type: 'init', timestamp: at, session_id: 'a1b2', model: 'gemini-2.5-flash' },
      { type: 'message', timestamp: at, role: 'user', content: 'Hello there' },
      { type: 'tool_use', timestamp: at, tool_name: 'read_file', tool_id: 'c1', parameters: { file_path: 'a.txt' } },
      { type: 'tool_use', timestamp: at, tool_name: 'read_file', tool_id: 'c2', parameters: { file_path: 'b.txt' } },
      { type: 'tool_result', timestamp: at, tool_id: 'c1', status: 'success', output: 'hello' },
      {
        type: 'tool_result',
        timestamp: at,
        tool_id: 'c2',
        status: 'error',
        output: 'b.txt does not exist',
        error: { type: 'TOOL_EXECUTION_ERROR', message: 'b.txt does not exist' },
      },
    ]);
    expect(events).toHaveLength(8);
    expect(events.at(-1)).toMatchObject({
      type: 'result',
      status: 'success',
      warnings: ['settings.json: unknown key "modle"'],
    });
  });

  test('an error before the request is a single result', async () => {
    expect(lines((await renderAll('stream-json', unauthenticated, gemini)).out)).toEqual([
      {
        type: 'result',
        timestamp: at,
        status: 'error',
        error: {
          type: 'AuthError',
          message: 'no Gemini credentials found',
          code: 2,
          suggestion: 'Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo',
        },
        stats: {
          total_tokens: 0,
          input_tokens: 0,
          output_tokens: 0,
          cached: 0,
          input: 0,
          duration_ms: 0,
          tool_calls: 0,
          models: {},
        },
      },
    ]);
  });
});
