import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { callGmnIn, parseLines, place } from '../support/gmn.ts';

const PROMPT = 'count to 2000';

async function ask(t: TestContext, format: string, fault: string | undefined) {
  const demo = await startDemo({ faults: parseFaults(fault === undefined ? [] : [fault]), clock: systemClock });
  t.onTestFinished(() => demo.close());
  const at = place(t, { gemini: demo });
  const run = await callGmnIn(t, at, ['-o', format, PROMPT]);
  return { ...run, saved: readRecords(join(at.home, '.gmn', 'sessions')) };
}

/** What was said, as it is in the one session that was saved. */
function readRecords(directory: string): unknown {
  const [name = '', ...others] = readdirSync(directory).filter((file) => file.endsWith('.jsonl'));
  expect(others).toEqual([]);
  const [, ...records] = readFileSync(join(directory, name), 'utf8').trimEnd().split('\n');
  return records.map((line) => JSON.parse(line)).map(({ type, content }) => ({ type, content }));
}

/** What a format says, without the times and ids of the run, and the counts that each request adds. */
function meaning(format: string, stdout: string): unknown {
  if (format === 'text') return stdout;
  if (format === 'json') return JSON.parse(stdout).response;
  const events = parseLines(stdout);
  return [events.map(({ type }) => type).filter((type) => type !== 'content'), texts(events)];
}

function texts(events: readonly { readonly type: string; readonly text?: string }[]): string {
  return events.map(({ type, text }) => (type === 'content' ? text : '')).join('');
}

test.for(['text', 'json', 'stream-json'])(
  'an answer that loses its line at a token, or comes in hops, is printed and saved as if it had not: %s',
  async (format, t) => {
    const whole = await ask(t, format, undefined);
    expect(whole).toMatchObject({ exitCode: 0, stderr: '' });
    for (const fault of ['checkpoint=1,cut-after=1x1', 'checkpoint=1,cut-after=1x3', 'continuation=1']) {
      const { exitCode, stdout, stderr, saved } = await ask(t, format, fault);
      expect({ fault, exitCode, stderr, saved }).toEqual({ fault, exitCode: 0, stderr: '', saved: whole.saved });
      expect(meaning(format, stdout)).toEqual(meaning(format, whole.stdout));
    }
  },
);

test('a cut after text beyond the last token is the failure it always was', async (t) => {
  const { exitCode, stdout, stderr } = await ask(t, 'text', 'checkpoint=2,cut-after=1');
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('the answer was cut short')]);
  expect(stdout.startsWith('1\n2\n3\n')).toBe(true);
  expect(stdout).not.toContain('\n2000\n');
});
