import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@cfworker/json-schema';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { drawPicture } from '../../src/demo/picture.ts';
import { startDemo } from '../../src/demo/server.ts';
import { signInFile } from '../support/account.ts';
import { chunk, events, fakeGemini, finish } from '../support/gemini.ts';
import { callGmn, callGmnIn, GMN_LINE, gmnCommand, place, runGmn, runGmnIn } from '../support/gmn.ts';
import { decodePng, picturesIn } from '../support/png.ts';
import { linuxTest, posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const FOX = drawPicture('fox').toString('base64');
const PICTURE = { inlineData: { mimeType: 'image/png', data: FOX }, thoughtSignature: 'c2ln' };

async function demo(t: TestContext, faults: readonly string[] = []) {
  const clock = { now: Date.now, sleep: async () => {} };
  const server = await startDemo({ clock, faults: parseFaults(faults) });
  t.onTestFinished(() => server.close());
  return server;
}

test('gmn image "…" > a.png is a picture, and stdout has not one byte more', async (t) => {
  const at = place(t);
  const gmn = await runGmnIn(t, at, ['--demo', 'image', '--aspect', '16:9', '--size', '2K', 'a', 'fox']);
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  expect(decodePng(gmn.bytes)).toMatchObject({ width: 228, height: 128 });
  expect(readdirSync(at.cwd)).toEqual([]);
});

test('words beside the picture go to stderr', async (t) => {
  const gmn = await runGmn(t, ['--demo', 'image', 'a fox; describe it']);
  expect(gmn).toMatchObject({ stderr: 'gmn: demo: a picture of a fox; describe it\n', exitCode: 0 });
  expect(decodePng(gmn.bytes).width).toBe(64);
});

test('the next turn edits the picture: it goes back with its signature, to the model that made it', async (t) => {
  const at = place(t, { gemini: await demo(t) });
  const first = await runGmnIn(t, at, ['image', 'a fox']);
  const second = await runGmnIn(t, at, ['-c', 'make it winter']);
  const third = await runGmnIn(t, at, ['image', '-c', 'and at night', '-o', 'json']);
  expect([first, second].map(({ stderr, exitCode }) => [stderr, exitCode])).toEqual([
    ['', 0],
    ['gmn: asking gemini-3.1-flash-image, as before in this session; -m asks another\n', 0],
  ]);
  expect(decodePng(second.bytes).rows.equals(decodePng(first.bytes).rows)).toBe(false);
  expect(JSON.parse(third.stdout)).toMatchObject({
    model: 'gemini-3.1-flash-image',
    files: [{ mimeType: 'image/png' }],
  });
  const page = await callGmnIn(t, at, ['sessions', 'export', 'last', '--format', 'html']);
  expect(page.stdout.match(/<img src="data:image\/png;base64,/g)).toHaveLength(3);
  expect(page.stdout).toContain(first.bytes.toString('base64'));
});

test('a large picture is a blob of the session, and comes back whole', async (t) => {
  const large = Buffer.concat([drawPicture('fox'), Buffer.alloc(2_000_000, 7)]).toString('base64');
  const part = { inlineData: { mimeType: 'image/png', data: large }, thoughtSignature: 'c2ln' };
  const gemini = await fakeGemini(t, [events([chunk([part]), finish()]), events([chunk([{ text: 'ok' }]), finish()])]);
  const at = place(t, { gemini });
  expect(await callGmnIn(t, at, ['image', 'x', '--session-name', 'fox'])).toMatchObject({ stderr: '', exitCode: 0 });
  expect(await callGmnIn(t, at, ['-r', 'fox', 'what is it?'])).toMatchObject({ stdout: 'ok\n', exitCode: 0 });
  expect(gemini.requests[1]?.body.contents[1]).toEqual({ role: 'model', parts: [part] });
  expect(readdirSync(join(at.home, '.gmn', 'blobs')).length).toBeGreaterThan(0);
});

const schema = (name: string) =>
  new Validator(
    JSON.parse(readFileSync(new URL(`../../docs/schemas/${name}.schema.json`, import.meta.url), 'utf8')),
    '2020-12',
  );

test.for(['json', 'stream-json'])('-o %s names the saved file, and never holds its bytes', async (format, t) => {
  const at = place(t, { files: { 'a-fox.png': 'mine' } });
  const gmn = await callGmnIn(t, at, ['--demo', 'image', '-o', format, 'a fox']);
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  const bytes = readFileSync(join(at.cwd, 'a-fox-2.png'));
  decodePng(bytes);
  const saved = { path: join(at.cwd, 'a-fox-2.png'), mimeType: 'image/png', bytes: bytes.length };
  const lines = format === 'json' ? [gmn.stdout] : gmn.stdout.trimEnd().split('\n');
  const values = lines.map((line) => JSON.parse(line));
  for (const value of values) expect(schema(format).validate(value)).toEqual({ valid: true, errors: [] });
  expect(values.at(-1)).toMatchObject({ files: [saved] });
  if (format === 'stream-json') expect(values.at(-2)).toEqual({ type: 'file', ...saved });
  expect(gmn.stdout).not.toContain(bytes.toString('base64').slice(0, 40));
});

test('--output-file replaces the file that the user names', async (t) => {
  const at = place(t, { files: { 'fox.png': 'old' } });
  const gmn = await callGmnIn(t, at, ['--demo', 'image', 'a fox', '--output-file', 'fox.png']);
  expect(gmn).toMatchObject({ stdout: '', exitCode: 0 });
  expect(gmn.stderr).toMatch(/^✓ saved fox\.png \(PNG, 64x64, [\d.]+ kB\)\n$/);
  decodePng(readFileSync(join(at.cwd, 'fox.png')));
});

test('text with pictures on a pipe: the text on stdout, the files saved, their names on stderr', async (t) => {
  const gemini = await fakeGemini(t, [
    events([chunk([{ text: 'Here:' }]), chunk([PICTURE]), chunk([PICTURE]), finish()]),
  ]);
  const at = place(t, { gemini });
  const gmn = await callGmnIn(t, at, ['draw it']);
  expect(gmn).toMatchObject({ stdout: 'Here:\n', exitCode: 0 });
  expect(gmn.stderr).toMatch(/^✓ saved draw-it\.png .*\n✓ saved draw-it-2\.png .*\n$/);
  decodePng(readFileSync(join(at.cwd, 'draw-it-2.png')));
});

test('a draft that the model thinks of is not the answer', async (t) => {
  const draft = { ...PICTURE, thought: true };
  const gmn = await runGmn(t, ['image', 'x'], { script: [events([chunk([draft]), chunk([PICTURE]), finish()])] });
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  expect(gmn.bytes.toString('base64')).toBe(FOX);
});

test('an attached picture and the shape are in the request', async (t) => {
  const gemini = await fakeGemini(t, [events([chunk([PICTURE]), finish()])]);
  const files = { 'in.png': drawPicture('in') };
  await callGmn(t, ['image', '-f', 'in.png', 'make it winter', '--aspect', '21:9', '--size', '4K'], { gemini, files });
  const [request] = gemini.requests;
  expect(request?.path).toContain('/models/gemini-3.1-flash-image:');
  expect(request?.body).toMatchObject({
    contents: [{ parts: [{ inlineData: { mimeType: 'image/png' } }, { text: 'make it winter' }] }],
    generationConfig: {
      responseModalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '21:9', imageSize: '4K' },
    },
  });
});

test.for([
  [['image'], 1, 'Error: no prompt given\nSay what to draw: gmn image "a red fox in the snow"\n'],
  [['image', '--aspect', '7:5', 'x'], 1, /^Error: --aspect: "7:5" is not one of 1:1, 2:3,.*\nExample: --aspect 1:1\n$/],
  [['image', '--size', '3K', 'x'], 1, 'Error: --size: "3K" is not one of 512, 1K, 2K, 4K\nExample: --size 512\n'],
  [['image', '-m', 'gemini-3.8-flash', 'x'], 1, /^Error: gemini-3\.8-flash makes no pictures\n/],
] as const)('%j says what to do, before the network', async ([args, exitCode, message], t) => {
  const gmn = await callGmn(t, ['--demo', ...args]);
  expect(gmn).toMatchObject({ stdout: '', exitCode });
  if (typeof message === 'string') expect(gmn.stderr).toBe(message);
  else expect(gmn.stderr).toMatch(message);
});

test('a Google login makes no pictures: one error with the way out', async (t) => {
  const home = {
    '.gemini/oauth_creds.json': signInFile(),
    '.gemini/settings.json': '{"security":{"auth":{"selectedType":"oauth-personal"}}}',
  };
  const gmn = await callGmn(t, ['image', 'a fox'], { home, env: { CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9' } });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 2 });
  expect(gmn.stderr).toContain(`Error: Code Assist, which a Google login uses, makes no pictures
Use an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.
`);
});

test.for([
  ['image-safety', 'IMAGE_SAFETY: The picture was filtered out.'],
  ['no-image', 'NO_IMAGE'],
])('the fault %s is exit 3, with the reason', async ([fault = '', reason], t) => {
  const gmn = await callGmn(t, ['image', 'x'], { gemini: await demo(t, [fault]) });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 3 });
  expect(gmn.stderr).toContain(`the model stopped without finishing its answer: ${reason}`);
});

test('an answer in words alone is a failure, and the words are not lost', async (t) => {
  const gmn = await callGmn(t, ['image', 'x'], { script: [events([chunk([{ text: 'I cannot.' }]), finish()])] });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 3 });
  expect(gmn.stderr).toContain('Error: the model made no picture\n');
  expect(gmn.stderr).toContain('What the model said:\nI cannot.\n');
});

linuxTest('a full disk is one clear error, whether the picture goes to a file or to stdout', async (t) => {
  const { cwd, env } = place(t);
  const gmn = await callGmnIn(t, { cwd, env }, ['--demo', 'image', 'x', '--output-file', '/dev/full']);
  expect(gmn).toMatchObject({
    stdout: '',
    stderr: 'Error: cannot write /dev/full: ENOSPC\nMake room on that disk, or name a file on another one.\n',
    exitCode: 1,
  });
  const at = place(t, { gemini: await demo(t) });
  const kept = await callGmnIn(t, at, ['image', 'x', '--output-file', '/dev/full']);
  const [, id = ''] =
    /^gmn: the session keeps what could not be saved: gmn sessions export (\w+) page\.html$/m.exec(kept.stderr) ?? [];
  const page = await callGmnIn(t, at, ['sessions', 'export', id, '--format', 'html']);
  expect(page.stdout).toContain('<img src="data:image/png;base64,');
  const full = openSync('/dev/full', 'w');
  const [file, args] = gmnCommand(['--demo', 'image', 'x']);
  const { status, stderr } = spawnSync(file, args, { cwd, env, stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
  closeSync(full);
  expect(stderr.match(/^Error: cannot write the output/gm)).toHaveLength(1);
  expect(status).toBe(1);
});

posixTest('where a picture does not fit, no half of it is left', async (t) => {
  const { cwd, env } = place(t);
  // In blocks of 512 or 1024 bytes: less than the picture.
  const line = `ulimit -f 1; ${GMN_LINE} --demo image --size 4K -o json "a fox"`;
  const { status, stdout } = spawnSync('sh', ['-c', line], {
    cwd,
    env: { ...env, GMN_NO_SESSION: '1' },
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 1, message: 'cannot write a-fox.png: EFBIG' } });
  expect(status).toBe(1);
  expect(readdirSync(cwd)).toEqual([]);
});

posixTest('a picture that does not fit into the file of stdout is an error', (t) => {
  const { cwd, env } = place(t);
  const line = `ulimit -f 1; ${GMN_LINE} --demo image --size 4K "a fox" > fox.png`;
  const { status, stderr } = spawnSync('sh', ['-c', line], {
    cwd,
    env: { ...env, GMN_NO_SESSION: '1' },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^Error: cannot write the output: .*EFBIG.*\n\S.*\n$/)]);
});

/** What a terminal without pictures must never get. */
const BINARY = /[\x00\x89]|\u001b_G|\u001b\]1337|IHDR|iVBORw0K/;

test('nothing binary reaches a terminal that did not say it shows pictures', async (t) => {
  const at = place(t);
  const { exitCode, output } = await runInTerminal(t, ['--demo', 'image', 'a fox'], { at }).ended;
  expect(exitCode).toBe(0);
  expect(output).not.toMatch(BINARY);
  expect(output).toContain('saved a-fox.png (PNG, 64x64');
  decodePng(readFileSync(join(at.cwd, 'a-fox.png')));
});

test.for([
  ['kitty', { TERM: 'xterm-kitty' }, '\u001b_G'],
  ['iTerm2', { TERM_PROGRAM: 'iTerm.app' }, '\u001b]1337'],
] as const)('%s shows the picture that is saved', async ([, env, mark], t) => {
  const at = place(t, { env });
  // A chat stays until everything is read; what a process wrote last may come after its end.
  const chat = runInTerminal(t, ['--demo', 'chat', '-m', 'gemini-3.1-flash-image', 'a fox'], { at });
  const output = await chat.until(/saved a-fox\.png [^\n]*\n/);
  chat.type('/exit\r');
  expect((await chat.ended).exitCode).toBe(0);
  expect(output).toContain(mark);
  expect(picturesIn(output).map((bytes) => bytes.equals(readFileSync(join(at.cwd, 'a-fox.png'))))).toEqual([true]);
});

test('--pictures never keeps it from a terminal that could', async (t) => {
  const at = place(t, { env: { TERM: 'xterm-kitty', GMN_PICTURES: 'never' } });
  const { output } = await runInTerminal(t, ['--demo', 'image', 'a fox'], { at }).ended;
  expect(output).not.toMatch(BINARY);
});

test('a chat goes on with pictures, and each turn edits those before', async (t) => {
  const at = place(t, { gemini: await demo(t) });
  await callGmnIn(t, at, ['image', 'a first one', '--session-name', 'foxes']);
  const stdin = 'a fox\nmake it winter\n/exit\n';
  const chat = await callGmnIn(t, at, ['chat', '-r', 'foxes'], stdin);
  expect(chat.stderr).toContain('As before in this session: the model gemini-3.1-flash-image.');
  expect(chat.exitCode).toBe(0);
  expect(chat.stdout).not.toMatch(BINARY);
  const [first, second] = ['a-fox.png', 'make-it-winter.png'].map((name) =>
    decodePng(readFileSync(join(at.cwd, name))),
  );
  expect(first?.rows.equals(second?.rows ?? Buffer.alloc(0))).toBe(false);
});

test('a prompt that merely begins like the command is a prompt', async (t) => {
  for (const args of [['-p', 'image of a cat'], ['--', 'image', 'of', 'a', 'cat'], ['image of a cat']])
    expect(await callGmn(t, ['--demo', ...args])).toMatchObject({ stdout: 'demo: image of a cat\n' });
});
