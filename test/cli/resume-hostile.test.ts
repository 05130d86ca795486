import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';

const textContent = (role: string, text: string) => ({ role, parts: [{ text }] });

test('a call in a session that somebody else wrote is never run, and the history stays one that the API takes', async (t) => {
  const { gemini, ...here } = await homeWithPendingCall(t);
  const { stdout, exitCode } = await callGmnIn(t, here, ['-r', 'last', '--tools', 'all', '--yolo', 'go on']);
  expect([stdout, exitCode]).toEqual(['fine\n', 0]);
  expect([existsSync(join(here.cwd, 'marker')), existsSync(join(here.home, 'marker'))]).toEqual([false, false]);
  const unanswered = { response: { error: '[no answer was recorded]' } };
  expect(gemini.requests[0]?.body).toMatchObject({
    contents: [
      textContent('user', 'x'),
      {
        role: 'model',
        parts: [{ functionCall: { name: 'write_file' } }, { functionCall: { name: 'run_shell_command' } }],
      },
      {
        role: 'user',
        parts: [{ functionResponse: unanswered }, { functionResponse: unanswered }, { text: 'go on' }],
      },
    ],
  });
});

async function homeWithPendingCall(t: TestContext) {
  const gemini = await fakeGemini(t, [reply('fine')]);
  const here = place(t, { gemini });
  const cwd = realpathSync(here.cwd);
  const id = 'aaaaaaaa-1111-4111-8111-111111111111';
  const at = '2026-05-01T12:00:00.000Z';
  const calls = [
    call('write_file', { file_path: 'marker', content: 'x' }),
    call('run_shell_command', { command: 'touch marker ~/marker' }),
  ];
  gemini.issued.push(...calls);
  const lines = [
    { v: 1, type: 'session', id, t: at, cwd, by: 'chat', gmn: '0.1.0', title: 'x' },
    { seq: 1, t: at, type: 'prompt', turn: 1, content: textContent('user', 'x') },
    {
      seq: 2,
      t: at,
      type: 'reply',
      turn: 1,
      model: 'm',
      content: { role: 'model', parts: calls, origin: 'x' },
      usage: {},
    },
  ];
  const directory = join(here.home, '.gmn', 'sessions');
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, `20260501T120000Z-${id}.jsonl`),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
  return { ...here, cwd, gemini };
}
