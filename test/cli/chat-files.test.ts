import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat, readChat, sharedHome } from '../support/chat.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { copyFile, printAndFail, showFile, TO_UPPER_CASE } from '../support/shell-lines.ts';

test('/export writes the session, and never over a file', async (t) => {
  const { env, path } = sharedHome(t);
  const file = join(path, 'out.md');
  const lines = ['/export', 'hello', `/export ${file}`, `/export ${file}`, '/export x.pdf'];
  const { stderr } = await pipedChat(t, lines, { env, args: ['--demo', '--session-name', 'tour'] });
  expect(stderr).toMatch(
    /^Error: there is nothing to export.*\n.*\nWrote .*out\.md\.\nError: .*out\.md exists\n.*\nError: x\.pdf has no file extension of a known format/,
  );
  expect(readFileSync(file, 'utf8')).toContain('Hello! How can I help you today?');
});

test('/export makes one file of a session whose name has slashes', async (t) => {
  const { env } = sharedHome(t);
  const args = ['--demo', '--session-name', 'a/../b'];
  const lines = ['hello', '/export', '/export', '/export none/x.md', `!${showFile('gmn-a-..-b.md')}`];
  const { stderr, exitCode } = await pipedChat(t, lines, { env, args });
  expect(stderr).toMatch(
    /^Wrote gmn-a-\.\.-b\.md\.\nError: gmn-a-\.\.-b\.md exists\nName another file: \/export <file>\nError: cannot write none\/x\.md: .*\n.*\n# hello\n/,
  );
  expect(exitCode).toBe(1);
});

test('/file attaches to the next prompt alone', async (t) => {
  const files = { 'a b.txt': 'A', 'c.txt': 'C' };
  const lines = ['/file', '/file "a b.txt" c.txt', '/file nothing.txt', 'x', 'y', '/file c.txt', '/file -'];
  const { stderr, requests } = await pipedChat(t, lines, { script: [reply('a'), reply('b')], files });
  expect(requests[0]?.body.contents[0].parts).toEqual([{ text: '=== a b.txt ===\nA\n\n=== c.txt ===\nC\n\nx' }]);
  expect(requests[1]?.body.contents[2].parts).toEqual([{ text: 'y' }]);
  expect(stderr).toMatch(
    /^Nothing goes with the next prompt\.\n\+ a b\.txt\n\+ c\.txt\nError: no such file: nothing\.txt\n.*\n\+ c\.txt\nNothing goes/,
  );
});

test('~ is the home directory where no shell expands it: in /file, in /export, and behind @', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, [reply('a')]), home: { 'notes.txt': 'N' } });
  const lines = ['look @~/notes.txt', '/export ~/talk.md', '/file ~/notes.txt', '/file ~nobody/x'];
  const { stderr } = await callGmnIn(t, at, ['chat'], lines.map((line) => `${line}\n`).join(''));
  const notes = join(at.home, 'notes.txt');
  expect(stderr).toContain(`not attached: @${notes} is outside the working directory`);
  expect(stderr).toContain(`Wrote ${join(at.home, 'talk.md')}.\n+ ${notes}\nError: no such file: ~nobody/x\n`);
  expect(existsSync(join(at.home, 'talk.md'))).toBe(true);
});

test('/edit and /copy need a terminal, and say what to do without one', async (t) => {
  expect(await readChat(t, ['hello', '/edit', '/copy', '/copy 7', '/copy code'])).toBe(
    [
      'Hello! How can I help you today?',
      'Error: /edit needs a terminal',
      'Type the prompt on a line of its own.',
      'Error: nothing was copied: a clipboard needs a terminal',
      'Pass it to a program of yours: /pipe <command>',
      'Error: there is no answer "7"',
      '1 is the last answer, 1 the first.',
      'Error: there is no code block in the last answer',
      'All of it: /copy\n',
    ].join('\n'),
  );
});

test('/pipe hands the last answer to a command, whose output is not an answer', async (t) => {
  expect(await readChat(t, ['/pipe cat', 'hello', `/pipe ${TO_UPPER_CASE}`, '/pipe exit 3', '/pipe'])).toBe(
    [
      'Hello! How can I help you today?',
      'Error: there is no answer yet',
      'Type a prompt.',
      'HELLO! HOW CAN I HELP YOU TODAY?',
      'Error: the command failed (exit code 3)',
      'See what it says above.',
      'Error: /pipe needs a command',
      'Example: /pipe less\n',
    ].join('\n'),
  );
});

test('/diff shows what tools changed, /undo undoes the last turn, and the model learns of it', async (t) => {
  const write = (file_path: string, content: string) => call('write_file', { file_path, content });
  const gemini = await fakeGemini(t, [
    reply(write('a.txt', 'one\n')),
    reply('a'),
    reply(write('b.txt', 'two\n')),
    reply('b'),
    reply('c'),
  ]);
  const { env } = sharedHome(t);
  const lines = ['x', '/diff', 'y', '/undo', '/diff', 'z', '/undo', '/undo', '/undo', '/diff'];
  const { stderr } = await pipedChat(t, lines, { gemini, env, args: ['--approval-mode', 'auto_edit'] });
  const diff = '--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n';
  expect(stderr).toMatch(/^✓ write_file a\.txt \+1 −0(?: · .*)?\n/);
  expect(stderr.split(diff)).toHaveLength(3);
  expect(stderr).toMatch(/✓ write_file b\.txt \+1 −0(?: · .*)?\n {2}@@ -0,0 \+1,1 @@\n {2}\+two\nremoved b\.txt\n/);
  expect(stderr).toMatch(
    /\nError: the last turn changed no files\n.*\nremoved a\.txt\nError: there is nothing to undo in this session\n.*\nTools changed nothing in this session\.\n/,
  );
  expect(gemini.requests[4]?.parts).toEqual([
    { text: 'I took back changes that your tools made:\n\nremoved b.txt' },
    { text: 'z' },
  ]);
  const note = 'I took back changes that your tools made:';
  const shown = await callGmn(t, ['sessions', 'show', 'last'], { env });
  expect(shown.stdout).toContain(`> ${note}\n> \n> removed b.txt\n> \n> z\n`);
  const exported = await callGmn(t, ['sessions', 'export', 'last'], { env });
  expect(exported.stdout).toMatch(/removed b\.txt\n\n(?:> )?z\n/);
});

test('/save of a chat that was not saved keeps what /diff and /undo know', async (t) => {
  const write = call('write_file', { file_path: 'a.txt', content: 'one\n' });
  const { stderr } = await pipedChat(t, ['x', '/save kept', '/diff', '/undo', '/new', '/undo'], {
    script: [reply(write), reply('a')],
    args: ['--no-session', '--approval-mode', 'auto_edit'],
  });
  expect(stderr).toMatch(
    /^✓ write_file a\.txt \+1 −0\n {2}@@ -0,0 \+1,1 @@\n {2}\+one\nSaved as kept\.\n--- \/dev\/null\n\+\+\+ b\/a\.txt\n@@ -0,0 \+1,1 @@\n\+one\nremoved a\.txt\nThis is a new session\.\nError: there is nothing to undo in this session\n/,
  );
});

test('!command shows what it prints and lets it go with the next prompt, mentions in it not followed', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  const line = printAndFail('@a.txt', 'err', 3);
  const lines = [`!${line}`, 'x', 'y'];
  const { stderr, stdout } = await pipedChat(t, lines, { gemini, files: { 'a.txt': 'secret' } });
  expect(stdout).toBe('a\nb\n');
  expect(stderr).toMatch(/^@a\.txt\nerr\n✗ exit code 3\nThis goes with your next prompt; \/file - drops it\.\n/);
  expect(gemini.requests[0]?.body.contents[0].parts).toEqual([
    { text: `I ran this command:\n\n${line}\n\nIt printed (exit code 3):\n\n@a.txt\nerr` },
    { text: 'x' },
  ]);
  expect(gemini.requests[1]?.parts).toEqual([{ text: 'y' }]);
});

test('a file that was attached may be edited without being read again', async (t) => {
  const edit = call('edit_file', { file_path: 'a.txt', old_string: 'one', new_string: 'two' });
  const { env, path } = sharedHome(t);
  const { stderr } = await pipedChat(t, ['change @a.txt', `!${copyFile('a.txt', join(path, 'copy'))}`], {
    script: [reply(edit), reply('done')],
    env,
    files: { 'a.txt': 'one\n' },
    args: ['--approval-mode', 'auto_edit'],
  });
  expect(stderr).toMatch(/^\+ a\.txt \(4 B\)\n✓ edit_file a\.txt \+1 −1\n/);
  expect(readFileSync(join(path, 'copy'), 'utf8')).toBe('two\n');
  expect(existsSync(join(path, 'undo'))).toBe(true);
});
