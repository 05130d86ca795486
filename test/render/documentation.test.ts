import { readFileSync } from 'node:fs';
import { type Schema, Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import type { TurnEvent } from '../../src/core/event.ts';
import { renderAll } from './fakes.ts';
import { everyRun, savedAs } from './runs.ts';

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
const schema = (name: string): Schema => JSON.parse(read(`schemas/${name}.schema.json`));
const runs: Readonly<Record<string, readonly TurnEvent[] | undefined>> = everyRun;

describe('docs/output.md', () => {
  const samples = [...read('output.md').matchAll(/<!-- sample: (.+?) -->\n```\w*\n(.*?)```/gs)];

  test('has samples', () => {
    expect(samples.length).toBeGreaterThanOrEqual(9);
  });

  test('its failed run is the first session of the samples, which the program is compared with', () => {
    const [, , text = ''] = samples.find(([, name]) => name === 'unauthenticated text') ?? [];
    expect(text).not.toBe('');
    expect(read('dev/samples.md')).toContain(
      `$ gmn "hello"\n${text.replace(/^/gm, 'err│ ').slice(0, -'err│ '.length)}=> 2`,
    );
  });

  test.each(samples.map(([, name = '', text = '']) => [name, text]))(
    'the sample "%s" is what gmn writes',
    async (name, text) => {
      const words = name.split(' ');
      const format = words.includes('stream-json') ? 'stream-json' : words.includes('json') ? 'json' : 'text';
      const run = runs[words[0] ?? ''] ?? [];
      const isGemini = words.includes('gemini');
      const { out, err } = await renderAll(format, isGemini ? savedAs('7c1e90aa', run) : run, {
        showUsage: words.includes('usage'),
        ...(isGemini ? { dialect: 'gemini' } : {}),
      });
      expect(format === 'text' ? err : out).toBe(text);
    },
  );
});

describe('the JSON Schemas', () => {
  const json = new Validator(schema('json'), '2020-12');
  const line = new Validator(schema('stream-json'), '2020-12');

  test.each(Object.entries(everyRun))('describe the run %s', async (_name, run) => {
    const { out } = await renderAll('json', savedAs('abc', run));
    expect(json.validate(JSON.parse(out))).toEqual({ valid: true, errors: [] });
    const stream = await renderAll('stream-json', savedAs('abc', run), { showThoughts: true });
    for (const text of stream.out.trimEnd().split('\n')) {
      expect(line.validate(JSON.parse(text))).toEqual({ valid: true, errors: [] });
    }
  });

  test.each([
    [{}],
    [{ model: 'm', response: 'x', usage: {} }],
    [{ model: 'm', response: 1, usage: {}, finishReason: 'STOP' }],
    [{ model: 'm', response: '', usage: { totalTokenCount: '1' }, finishReason: 'STOP' }],
    [{ model: 'm', response: '', usage: {}, finishReason: 'STOP', warnings: [] }],
    [
      {
        model: 'm',
        response: '',
        usage: {},
        finishReason: 'STOP',
        error: { code: 1, type: 'UsageError', message: 'x' },
      },
    ],
    [{ error: { code: 0, type: 'UsageError', message: 'x' } }],
    [{ error: { code: 1, type: 'Error', message: 'x' } }],
    [{ error: { code: 1, type: 'UsageError' } }],
  ])('json refuses %j', (value) => {
    expect(json.validate(value).valid).toBe(false);
  });

  test.each([
    [{}],
    [{ type: 'other' }],
    [{ type: 'start' }],
    [{ type: 'content', text: '' }],
    [{ type: 'tool_call', name: 'x', args: {} }],
    [{ type: 'tool_result', id: '1', name: 'x', result: 'text' }],
    [{ type: 'tool_result', id: '1', name: 'x', result: {}, isError: false }],
    [{ type: 'done', usage: {} }],
    [{ type: 'error', code: 1 }],
  ])('stream-json refuses %j', (value) => {
    expect(line.validate(value).valid).toBe(false);
  });

  test('know every type of error there is', async () => {
    const { AppError, FAULTS } = await import('../../src/core/error.ts');
    for (const fault of Object.keys(FAULTS)) {
      if (fault === 'pipe') continue;
      const error = new AppError(fault as keyof typeof FAULTS, 'x');
      const { out } = await renderAll('json', [{ type: 'failure', error }]);
      expect(json.validate(JSON.parse(out)).valid).toBe(true);
    }
  });
});
