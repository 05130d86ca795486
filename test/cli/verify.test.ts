import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serve } from '../mcp/server/support.ts';
import { pipedChat } from '../support/chat.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place } from '../support/gmn.ts';
import { linuxTest, posixTest, processesWith } from '../support/posix.ts';

const EDIT = call('edit_file', { file_path: 'a.js', old_string: '1', new_string: '2' }, { id: 'c1' });
const READ = call('read_file', { file_path: 'a.js' }, { id: 'c0' });
const FLAGS = ['--tools', 'edit', '--approval-mode', 'auto_edit'];
const CHECK = 'cat a.js; env > seen; grep -q 2 a.js';

/** The text of the last thing that the model was told. */
const told = (request: { readonly body: { contents: { parts: { text: string }[] }[] } } | undefined): string =>
  request?.body.contents.at(-1)?.parts[0]?.text ?? '';

posixTest('a failure goes back to the model, which repairs it; all of it is in the answer', async (t) => {
  const gemini = await fakeGemini(t, [
    reply('Nothing to do.'),
    reply('I see.', READ),
    reply(EDIT),
    reply('Now it is right.'),
  ]);
  const at = place(t, { gemini, files: { 'a.js': 'x = 1;\n' }, env: { SECRET_TOKEN: 'canary-0123456789' } });
  const gmn = await callGmnIn(t, at, [...FLAGS, '--verify', CHECK, 'make it 2']);
  expect(gmn).toMatchObject({ stdout: 'Nothing to do.\nI see.\nNow it is right.\n', exitCode: 0 });
  expect(gmn.stderr).toMatch(
    /^✗ verify cat a\.js; .* · exit 1 · [\d.]+s\n(?:(?:✓| ) .*\n)+✓ verify cat a\.js; .* · [\d.]+s\n$/,
  );
  expect(told(gemini.requests[1])).toBe(`The work is not done yet: this command, which checks it, fails (exit code 1):

${CHECK}

The end of what it printed:

x = 1;

Find the cause and repair it. It is run again when you are done.`);
  expect(gemini.requests[1]?.body.contents.map(({ role }: { role: string }) => role)).toEqual([
    'user',
    'model',
    'user',
  ]);
  const seen = readFileSync(join(at.cwd, 'seen'), 'utf8');
  expect(seen).toContain('TERM=dumb');
  expect(seen).not.toMatch(/canary|GEMINI_API_KEY/);
});

posixTest('an export shows the failed check in the turn that it belongs to, not as a prompt', async (t) => {
  const at = place(t, {
    gemini: await fakeGemini(t, [reply('Nothing to do.'), reply('It was nothing.')]),
    files: { 'check.sh': '[ -e again ] && exit 0; touch again; echo 壊れた; exit 3' },
  });
  expect((await callGmnIn(t, at, [...FLAGS, '--verify', 'sh check.sh', 'make it 2'])).exitCode).toBe(0);
  const { stdout } = await callGmnIn(t, at, ['sessions', 'export', 'last']);
  expect(stdout).toContain('\n- Turns: 1\n');
  expect(stdout.match(/^#.*/gm)).toEqual([
    '# make it 2',
    '## 1. Prompt',
    '### Answer (gemini-2.5-flash)',
    '#### Follow-up by gmn',
  ]);
  expect(stdout).toContain(
    '\nNothing to do.\n\n#### Follow-up by gmn\n\n```\nThe work is not done yet: this command, which checks it, fails (exit code 3):\n\nsh check.sh\n',
  );
  expect(stdout).toMatch(/\n壊れた\n[\s\S]*\n```\n\nIt was nothing\.\n/);
});

posixTest('what still fails is a VerifyError with the end of the output, not with keys', async (t) => {
  const gemini = await fakeGemini(t, [reply('Done.'), reply('Done now.')]);
  const flood = 'yes 0123456789abcdef | head -c 59500000; cat key; echo 日本語; exit 3';
  const args = [...FLAGS, '--verify', flood, '--max-verify', '1', '-o', 'stream-json', 'do it'];
  const gmn = await callGmn(t, args, { gemini, files: { key: 'test-key-0123456789\n' } });
  expect(gmn).toMatchObject({ stderr: '', exitCode: 1 });
  expect(gmn.stdout).not.toContain('test-key');
  const lines = parseLines(gmn.stdout);
  expect(lines.map(({ type }) => type)).toEqual([
    'start',
    'content',
    'verify',
    'content',
    'content',
    'verify',
    'error',
  ]);
  const [, , first, , , , { error }] = lines;
  expect(first).toMatchObject({ command: flood, ok: false, exitCode: 3 });
  expect(error).toMatchObject({
    code: 1,
    type: 'VerifyError',
    message: `verify still fails after 1 repair: ${flood} (exit code 3)`,
    partialResponse: 'Done.\nDone now.',
  });
  expect(error.output).toMatch(/def\n‹redacted›\n日本語$/);
  expect(Buffer.byteLength(error.output)).toBeLessThanOrEqual(4096);
  expect(Buffer.byteLength(error.output)).toBeGreaterThan(4000);
  expect(told(gemini.requests[1])).toContain(error.output);
});

posixTest('with a schema only the last try is the answer', async (t) => {
  const gemini = await fakeGemini(t, [reply('{"n":1}'), reply('{"n":2}')]);
  const files = { 'check.sh': '[ -e again ] && exit 0; touch again; exit 1' };
  const args = ['-m', 'gemini-3-pro-preview', ...FLAGS, '--verify', '. ./check.sh', '-q'];
  const gmn = await callGmn(t, [...args, '--output-schema', '{"type":"object"}', 'x'], { gemini, files });
  expect(gmn).toMatchObject({ stdout: '{"n":2}\n', stderr: '', exitCode: 0 });
});

posixTest('a command that hangs ends with the run, and the tries share the limit of model calls', async (t) => {
  const hung = await callGmn(t, [...FLAGS, '-t', '2s', '--verify', 'sleep 60', '-o', 'json', 'x'], {
    gemini: await fakeGemini(t, [reply('Done.')]),
  });
  expect(hung.exitCode).toBe(3);
  expect(JSON.parse(hung.stdout).error).toMatchObject({
    type: 'ApiError',
    partialResponse: 'Done.',
    suggestion: expect.stringMatching(/^The command of --verify was still running: sleep 60\. Give it longer/),
  });
  const limited = await callGmn(t, [...FLAGS, '--max-turns', '2', '--verify', 'false', '-o', 'json', 'x'], {
    gemini: await fakeGemini(t, [reply('a'), reply('b')]),
  });
  expect(JSON.parse(limited.stdout).error).toMatchObject({
    type: 'LimitError',
    message: 'stopped after 2 model turns',
    verify: [
      { command: 'false', ok: false, exitCode: 1, output: '' },
      { command: 'false', ok: false, exitCode: 1, output: '' },
    ],
  });
});

describe('is refused before anything is sent', () => {
  test.for([
    [
      ['--verify', 'true', 'x'],
      '--verify means nothing without tools',
      'Add those the model may use, e.g. --tools edit; or leave it out.',
    ],
    [
      ['--tools', 'edit', '--approval-mode', 'plan', '--verify', 'true', 'x'],
      '--verify cannot be combined with plan mode, which changes nothing',
      'Choose another mode: --approval-mode auto_edit',
    ],
    [['--tools', 'edit', '--verify', ' ', 'x'], '--verify needs a command', 'Example: --verify "npm test"'],
    [
      ['--tools', 'edit', '--max-verify', '2', 'x'],
      '--max-verify means nothing without --verify',
      'Add --verify "<command>"; or leave it out.',
    ],
  ] as const)('%j', async ([args, what, next], t) => {
    const gmn = await callGmn(t, args, { gemini: await fakeGemini(t, []) });
    expect(gmn).toMatchObject({ stdout: '', stderr: `Error: ${what}\n${next}\n`, exitCode: 1 });
  });
});

posixTest('/verify sets, shows and ends it in a chat', async (t) => {
  const files = { 'check.sh': '[ -e again ] && exit 0; touch again; echo not yet; exit 1' };
  const lines = ['/verify', '/verify . ./check.sh', 'do it', '/verify off', 'hello', '/approve plan', '/verify true'];
  const chat = await pipedChat(t, lines, { script: [reply('Done.'), reply('Done again.'), reply('Hello.')], files });
  expect(chat.stdout).toBe('Done.\nDone again.\nHello.\n');
  expect(told(chat.requests[1])).toContain('not yet');
  expect(chat.stderr).toMatch(
    /^No command is run after a turn\.\nRun after each turn: \. \.\/check\.sh\n✗ verify \. \.\/check\.sh · exit 1 · [\d.]+s\n✓ verify \. \.\/check\.sh · [\d.]+s\nNo command is run after a turn\.\nplan: .*\nError: \/verify means nothing in plan mode, which changes nothing\nFirst: \/approve auto_edit\n/,
  );
  expect(chat.exitCode).toBe(1);
});

posixTest('/rewind and /retry take a turn with its repairs for one, also after a resume', async (t) => {
  const answers = ['First.', 'Not done.', 'Done.', 'Not done.', 'Done.', 'Last.'];
  const gemini = await fakeGemini(
    t,
    answers.map((text) => reply(text)),
  );
  const check = '[ -e again ] && rm again || { touch again; exit 1; }';
  const at = place(t, { gemini });
  const chat = (args: readonly string[], lines: readonly string[]) =>
    callGmnIn(t, at, ['chat', ...args], `${lines.join('\n')}\n`);
  await chat(['--session-name', 'kept'], ['hello', `/verify ${check}`, 'do it', '/retry']);
  expect(told(gemini.requests[2])).toContain('not done yet');
  expect(gemini.requests[3]?.body.contents).toHaveLength(3);
  const resumed = await chat(['-r', 'kept'], ['/rewind', 'what was said?', '/rewind 5']);
  expect(resumed.stderr).toMatch(
    /Dropped the last exchange\.\n(?:.*\n)*Dropped the last 2 exchanges; there were no more\./,
  );
  expect(gemini.requests[5]?.body.contents.map(({ parts }: { parts: unknown }) => parts)).toEqual([
    [{ text: 'hello' }],
    [{ text: 'First.' }],
    [{ text: 'what was said?' }],
  ]);
});

linuxTest(
  'a command that hangs has a time limit in a chat, where the turn goes on, and in a delegated task',
  async (t) => {
    const mark = randomUUID();
    const hang = `env > seen; MARK=${mark} exec sleep 600`;
    const chatting = await fakeGemini(t, [reply('Done.'), reply('No idea.')]);
    const once = `[ -e seen ] && exit 0; ${hang}`;
    const chat = await pipedChat(t, [`/verify ${once}`, 'do it'], { gemini: chatting, args: ['-t', '2s'] });
    expect(chat).toMatchObject({ stdout: 'Done.\nNo idea.\n', exitCode: 0 });
    expect(told(chatting.requests[1])).toContain('fails (it was stopped after 2 s)');
    const gemini = await fakeGemini(t, [reply('Done.')]);
    const server = await serve(t, { gemini, flags: ['--allow-shell'] });
    const { structuredContent } = await server.call('delegate', { prompt: 'do it', verify: hang, timeout_ms: 3000 });
    expect(structuredContent).toMatchObject({ status: 'error', code: 'TIMEOUT', timeout_ms: 3000 });
    expect(processesWith(mark)).toEqual([]);
    const seen = readFileSync(join(server.cwd, 'seen'), 'utf8');
    expect(seen).toContain('TERM=dumb');
    expect(seen).not.toContain('GEMINI_API_KEY');
  },
);
