import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { pipedChat, readChat, sharedHome } from '../support/chat.ts';
import { chunk, events, fakeGemini, finish, reply } from '../support/gemini.ts';
import { gmnCommand, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

test('/save says so when nothing can be written, and /export then writes what was said', async (t) => {
  const { env, path } = sharedHome(t);
  writeFileSync(join(path, 'sessions'), 'not a directory');
  const file = join(path, 'out.md');
  expect(await readChat(t, ['hello', '/save kept', `/export ${file}`], { env })).toBe(
    [
      'Hello! How can I help you today?',
      'Error: this session could not be saved',
      'Write it to a file of yours: /export <file>',
      'this session is no longer being saved: a file is where a directory should be',
      `Wrote ${file}.\n`,
    ].join('\n'),
  );
  expect(readFileSync(file, 'utf8')).toMatch(/^# hello\n[\s\S]*\nHello! How can I help you today\?\n/);
});

test('a chat that is not saved can be exported in every format', async (t) => {
  const { path } = sharedHome(t);
  for (const ending of ['md', 'json', 'html']) {
    const file = join(path, `out.${ending}`);
    expect(await readChat(t, ['hello', `/export ${file}`])).toBe(`Hello! How can I help you today?\nWrote ${file}.\n`);
    expect(readFileSync(file, 'utf8')).toContain('Hello! How can I help you today?');
  }
});

test('an export names as cut off only the answers that were, in a chat that is not saved and after /save', async (t) => {
  const { env, path } = sharedHome(t);
  const gemini = await fakeGemini(t, [
    reply('whole'),
    events([finish('MAX_TOKENS', [{ text: 'long' }])]),
    events([chunk([{ text: 'half' }])]),
  ]);
  const [md, html, json, saved] = ['a.md', 'a.html', 'a.json', 'saved.md'].map((name) => join(path, name));
  const lines = ['one', 'two', 'three', ...[md, html, json].map((file) => `/export ${file}`)];
  await pipedChat(t, [...lines, '/save kept', `/export ${saved}`], {
    gemini,
    env,
    args: ['--no-session', '--tools', 'none'],
  });
  for (const file of [md, html, saved]) {
    const text = readFileSync(file ?? '', 'utf8').replaceAll('\\_', '_');
    expect(text.match(/The answer (?:was cut off here|ended with MAX_TOKENS)\./g)).toEqual([
      'The answer ended with MAX_TOKENS.',
      'The answer was cut off here.',
    ]);
  }
  const { records } = JSON.parse(readFileSync(json ?? '', 'utf8'));
  expect(records.map((record: { finishReason?: string }) => record.finishReason)).toEqual([
    undefined,
    'STOP',
    undefined,
    'MAX_TOKENS',
    undefined,
    undefined,
  ]);
});

test('/save keeps the summary that /compress made of a chat that is not saved', async (t) => {
  const { env } = sharedHome(t);
  const gemini = await fakeGemini(t, [reply('long'), reply('in short'), reply('yes'), reply('still')]);
  const args = ['--no-session', '--tools', 'none'];
  await pipedChat(t, ['x '.repeat(200), '/compress', '/save kept', 'more'], { gemini, env, args });
  await pipedChat(t, ['again'], { gemini, env, args: ['-r', 'kept', '--tools', 'none'] });
  for (const { body } of gemini.requests.slice(2)) {
    expect(JSON.stringify(body)).toContain('in short');
    expect(JSON.stringify(body)).not.toContain('x x x');
  }
});

test('/save with a name that cannot be one writes nothing', async (t) => {
  const { env, path } = sharedHome(t);
  expect(await readChat(t, ['hello', '/save last'], { env })).toMatch(/^Hello! .*\nError: .*last.*\n/);
  expect(existsSync(join(path, 'sessions'))).toBe(false);
});

test('/save before the first prompt promises no more than it can', async (t) => {
  const { env } = sharedHome(t);
  expect(await readChat(t, ['/save kept'], { env })).toBe('Your first prompt will be saved as kept.\n');
});

posixTest('no command to go on is named when the last turns could not be saved', async (t) => {
  const { cwd, env } = place(t);
  const limited = [
    '-c',
    'ulimit -f 8; exec "$@"',
    'sh',
    ...gmnCommand(['chat', '--demo', '--session-name', 'x']).flat(),
  ];
  const child = spawn('sh', limited, { cwd, env, stdio: ['pipe', 'ignore', 'pipe'] });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end(`hello\n${'long '.repeat(5000)}\n`);
  const stderr = await text(child.stderr);
  expect(stderr).toMatch(/^this session is no longer being saved: .*\n2 turns · .*\n$/);
});
