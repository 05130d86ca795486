import { expect, test } from 'vitest';
import { fakeGemini } from '../support/gemini.ts';
import { runInTerminal } from '../support/pty.ts';

/** Takes hold of a terminal without the escape character: C1 controls, DEL, and marks that turn the direction of text. */
const EVIL = 'a\u009b31mb\u0085c\u007fd\u202ee\u2066f\u2028g';
const ESCAPED = 'a\\u009b31mb\\u0085c\\u007fd\\u202ee\\u2066f\\u2028g';
const OBEYED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

const ID = 'aaaaaaaa-1111-4111-8111-111111111111';
const AT = '2026-01-01T00:00:00.000Z';

function savedSession(): Readonly<Record<string, string>> {
  const lines = [
    { v: 1, type: 'session', id: ID, t: AT, cwd: '/', by: 'prompt', gmn: '0.1.0', title: EVIL },
    { seq: 1, t: AT, type: 'prompt', turn: 1, content: { role: 'user', parts: [{ text: EVIL }] } },
    { seq: 2, t: AT, type: 'reply', turn: 1, model: 'm', content: { role: 'model', parts: [{ text: EVIL }] } },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return { [`.gmn/sessions/20260101T000000Z-${ID}.jsonl`]: text };
}

test.for([
  'sessions show last --json',
  'sessions list --all --json',
  'sessions rename aaaa other --json',
  'sessions delete aaaa --json',
  'sessions export last --format json',
  'config get hooks',
  'config get hooks --json',
  'config list --json',
  'config explain hooks --json',
])('%s leaves nothing on a terminal that it would obey', async (line, t) => {
  const home = { ...savedSession(), '.gemini/settings.json': JSON.stringify({ hooks: { name: EVIL } }) };
  const { exitCode, output } = await runInTerminal(t, line.split(' '), { home, columns: 1000 }).ended;
  expect(exitCode).toBe(0);
  expect(output).not.toMatch(OBEYED);
  expect(output).toContain(ESCAPED);
});

test.for(['text', 'json'])(
  'a preview in %s shows what is sent without what a terminal would obey',
  async (format, t) => {
    const gemini = await fakeGemini(t, []);
    const args = ['--dry-run', '-o', format, EVIL];
    const { exitCode, output } = await runInTerminal(t, args, { gemini, columns: 1000 }).ended;
    expect(exitCode).toBe(0);
    expect(output).not.toMatch(OBEYED);
    expect(output).toContain(ESCAPED);
  },
);
