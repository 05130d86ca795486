import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, GMN, place, startProgram } from '../support/gmn.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';
import { isWindows } from '../support/posix.ts';

// What a person does there, and what only Windows has. All else is in the tests that run on every system.

const windowsTest = test.runIf(isWindows);

windowsTest('a file that is there is edited in lines of its own kind, and undo brings it back', async (t) => {
  const before = 'one\r\ntwo\r\n日本\r\n';
  const script = [
    reply(call('read_file', { file_path: 'SRC\\A.txt' })),
    reply(call('edit_file', { file_path: 'src/a.txt', old_string: 'two\n', new_string: 'zwei\n' })),
    reply('done'),
  ];
  const gemini = await fakeGemini(t, script);
  const at = place(t, { gemini, files: { 'src/a.txt': before } });
  const file = join(at.cwd, 'src', 'a.txt');
  expect(await callGmnIn(t, at, ['edit it', '--tools', 'read_file,write_file,edit_file', '-y'])).toMatchObject({
    exitCode: 0,
    stdout: 'done\n',
  });
  expect(readFileSync(file, 'utf8')).toBe('one\r\nzwei\r\n日本\r\n');
  expect(await callGmnIn(t, at, ['undo'])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('a.txt') });
  expect(readFileSync(file, 'utf8')).toBe(before);
});

windowsTest.for(['dev', 'proc', 'sys'])('a project in C:\\%s is one as everywhere', async (name, t) => {
  const gemini = await fakeGemini(t, [reply(call('write_file', { file_path: 'a.txt', content: 'x' })), reply('done')]);
  const { env } = place(t, { gemini });
  mkdirSync(`C:\\${name}`, { recursive: true });
  const cwd = mkdtempSync(`C:\\${name}\\gmn-test-`);
  t.onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 10 }));
  await callGmnIn(t, { cwd, env }, ['write it', '--tools', 'write_file', '-y']);
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('x');
});

windowsTest.for([
  ['as it was written', ['-y', 'a b', '^&|<>()!', 'C:\\dir\\', '"quoted"', '日本', 'a & calc.exe']],
  ['without the value of a variable', ['100%', '%PATH%', '%CD%x%']],
] as const)('a server behind npx.cmd is called, and gets every argument %s', async ([, words], t) => {
  const { command, args } = fixtureServer('mcp-server.mjs');
  const here = mcpPlace(t, { files: { command: 'npx', args: words } });
  here.write(join(here.root, 'bin', 'npx.cmd'), `@"${command}" "${args[0]}" %*\r\n`);
  Object.assign(here.env, { PATH: `${join(here.root, 'bin')};${here.env.PATH}` });
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'call', 'files', 'arguments']);
  expect([stderr, exitCode]).toEqual(['', 0]);
  expect(JSON.parse(stdout)).toMatchObject({ args: words });
});

windowsTest('no trick with a path reads or writes outside, and each is refused by its spelling', async (t) => {
  const at = place(t, { files: { 'work.txt': 'mine' } });
  const drive = at.cwd.slice(0, 2);
  const tricks = [
    ...[`${drive}secret.txt`, `${drive}..\\secret.txt`, 'D:\\secret.txt', '\\secret.txt', '..\\SECRET.txt'],
    ...['\\\\localhost\\c$\\secret.txt', '//localhost/c$/secret.txt', `\\\\?\\${at.root}\\secret.txt`],
    ...['\\\\.\\PhysicalDrive0', 'NUL', 'sub\\con.txt', 'COM1', 'work.txt:hidden', 'work.txt::$DATA', 'work.txt.'],
    ...['work.txt ', '.GIT\\config', '.git.\\config', '.ENV:x'],
  ];
  const outside = join(at.root, 'secret.txt');
  const gemini = await fakeGemini(t, [
    reply(...tricks.map((path) => call('write_file', { file_path: path, content: 'changed' }))),
    reply(...tricks.map((path) => call('read_file', { file_path: path }))),
    reply('done'),
  ]);
  Object.assign(at.env, { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url });
  expect(await callGmnIn(t, at, ['go', '--tools', 'read_file,write_file,edit_file', '-y'])).toMatchObject({
    stdout: 'done\n',
  });
  const [, written, read] = gemini.requests.map(({ results }) => results);
  for (const results of [written, read])
    expect(results?.map((result) => 'error' in result)).toEqual(tricks.map(() => true));
  expect([existsSync(outside), readdirSync(at.cwd), readFileSync(join(at.cwd, 'work.txt'), 'utf8')]).toEqual([
    ...[false, ['work.txt']],
    'mine',
  ]);
});

windowsTest('a server on the network is not asked for a file that a prompt mentions', async (t) => {
  const prompt = 'what is in @\\\\127.0.0.1\\share\\a.txt ?';
  const { exitCode, requests, stderr } = await callGmn(t, [prompt], { script: [reply('ok')] });
  expect([exitCode, requests[0]?.prompt, stderr]).toEqual([0, prompt, expect.stringContaining('127.0.0.1')]);
});

windowsTest.for(['NUL', 'nul'])('--output-file %s throws the answer away, and leaves no file', async (name, t) => {
  const gemini = await fakeGemini(t, [reply('hello')]);
  const at = place(t, { gemini });
  expect(await callGmnIn(t, at, ['hi', '--output-file', name])).toMatchObject({ exitCode: 0 });
  expect(readdirSync(at.cwd)).toEqual([]);
});

windowsTest.for(['con.txt', 'sub\\NUL', '\\\\.\\C:'])('--output-file %s is a device, and refused', async (name, t) => {
  const result = await callGmn(t, ['hi', '--output-file', name], { gemini: { url: 'http://127.0.0.1:1' } });
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('it is a device of Windows') });
});

windowsTest('Ctrl+Break ends a run as Ctrl+C does', async (t) => {
  // Node cannot send this signal to another process: a script inside is told when, and lets it come.
  const waiting: ServerResponse[] = [];
  let isAsked = false;
  const server = createServer((request, response) => {
    if (request.url === '/break') waiting.push(response);
    else isAsked = true;
    if (isAsked) for (const each of waiting.splice(0)) each.end();
  }).listen(0, '127.0.0.1');
  t.onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script = `require('node:http').get('${url}/break', () => process.emit('SIGBREAK', 'SIGBREAK'));`;
  const at = place(t, { gemini: { url }, files: { 'break.cjs': script } });
  const words = ['--require', join(at.cwd, 'break.cjs'), GMN, 'hi'];
  const { stdout, stderr, exitCode } = await startProgram(t, [process.execPath, words], at).ended;
  expect([stdout, stderr, exitCode]).toEqual(['', expect.stringContaining('Interrupted (SIGBREAK).'), 130]);
});
