import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { isLong } from '../support/fuzz.ts';
import { posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { contentsOf, files, onlyFile, place, prompt, reply, START, saved, talk } from './support.ts';

/** A program of its own that talks to a session of a home until the disk there is full, and then some. */
const FULL = `
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { sessionStore } from '../../src/session/store.ts';
const [home] = process.argv.slice(2);
const said = [];
const clock = { now: () => ${START}, sleep: async () => {} };
const store = sessionStore({ home, clock, version: '0', report: (message) => said.push(message) });
const session = await store.create({ cwd: '/', by: 'chat' });
const content = (role, text) => ({ role, parts: [{ text }] });
for (let turn = 0; turn < 20; turn += 1) {
  await session.append({ kind: 'prompt', content: content('user', 'x'.repeat(10_000)) });
}
const whole = readFileSync((await store.find('last')).file, 'utf8').endsWith('\\n');
rmSync(home + '/ballast');
await session.append({ kind: 'prompt', content: content('user', 'room again') });
await session.close();
const { records } = await store.read(await store.find('last'));
console.log(JSON.stringify({ said, whole, records: records.length, turns: session.turns }));
`;

test.runIf(process.platform === 'linux')(
  'on a full disk every record stays whole, one notice tells, and what was missed is written when there is room',
  (t) => {
    const home = temporary();
    const script = join(temporary(), 'full.mjs');
    buildSync({
      stdin: { contents: FULL, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
      outfile: script,
      bundle: true,
      platform: 'node',
      format: 'esm',
    });
    const mount = `mount -t tmpfs -o size=256k tmpfs ${home} && head -c 150000 /dev/zero > ${home}/ballast`;
    const disk = spawnSync('unshare', ['-rm', 'sh', '-c', mount], { encoding: 'utf8' });
    if (disk.status !== 0) t.skip(`no disk of our own here: ${disk.stderr.split('\n')[0]}`);
    const command = `${mount} && exec ${process.execPath} ${script} ${home}`;
    const run = spawnSync('unshare', ['-rm', 'sh', '-c', command], { encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(JSON.parse(run.stdout)).toEqual({
      said: ['this session is no longer being saved: the disk is full', 'this session is being saved again'],
      whole: true,
      records: 21,
      turns: 21,
    });
  },
);

posixTest('a session that may not be written is read, and gone on with in memory', async (t) => {
  if (process.getuid?.() === 0) t.skip('root may write everywhere');
  const { home, store, said } = place();
  await saved(store, ['one']);
  const file = onlyFile(home);
  chmodSync(file, 0o400);
  const before = readFileSync(file);
  const session = await store.resume(await store.find('last'), '/work');
  await talk(session, ['two']);
  await session.close();
  expect([session.contents.length, said]).toEqual([4, ['this session is no longer being saved: permission denied']]);
  expect(readFileSync(file)).toEqual(before);
});

/** Ten thousand in a long run: see test/support/fuzz.ts. */
const MANY = isLong ? 10_000 : 2000;

test('thousands of sessions are listed', async () => {
  const { home, store } = place();
  await saved(store, ['template']);
  const template = readFileSync(onlyFile(home), 'utf8');
  const { id } = await store.find('last');
  for (let index = 0; index < MANY; index += 1) {
    const other = `${String(index).padStart(8, '0')}-1111-4111-8111-111111111111`;
    writeFileSync(join(home, 'sessions', `20260101T000000Z-${other}.jsonl`), template.replace(id, other));
  }
  const list = await store.list();
  expect([list.length, list.every(({ turns }) => turns === 1)]).toEqual([MANY + 1, true]);
  expect((await store.find('00000777')).id).toBe('00000777-1111-4111-8111-111111111111');
}, 120_000);

test('of a session that is listed only the ends are read', async () => {
  const { home, store } = place();
  await saved(store, ['one']);
  const file = onlyFile(home);
  const [header = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(file, `${header}\n`);
  // More than a text can hold, and almost nothing on the disk.
  truncateSync(file, 3 * 2 ** 30);
  appendFileSync(file, `\n${lines.join('\n')}\n`);
  expect(await store.list()).toMatchObject([{ title: 'one', turns: 1, model: 'gemini-test' }]);
});

test('the last record is found however long it is', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(prompt('x'.repeat(300_000)));
  await session.append(reply('é'.repeat(700_000), 'gemini-long'));
  await session.close();
  expect(await store.list()).toMatchObject([{ turns: 1, model: 'gemini-long', title: `${'x'.repeat(99)}…` }]);
  expect((await contentsOf(home)).length).toBe(2);
});

test('the ten-thousandth turn adds as many bytes to the file as the tenth, and nothing else is written', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  const grown: number[] = [];
  await talk(session, ['turn']);
  const path = onlyFile(home);
  const lines = readFileSync(path, 'utf8').split('\n');
  const many: string[] = [];
  for (let seq = 3; seq <= 19_990; seq += 2) {
    many.push(
      (lines[1] ?? '').replace('"seq":1', `"seq":${seq}`),
      (lines[2] ?? '').replace('"seq":2', `"seq":${seq + 1}`),
    );
  }
  await session.close();
  writeFileSync(path, `${lines.slice(0, 3).join('\n')}\n${many.join('\n')}\n`);
  const long = await store.resume(await store.find('last'), '/work');
  for (let turn = 0; turn < 3; turn += 1) {
    const { size } = statSync(path);
    await talk(long, ['turn']);
    grown.push(statSync(path).size - size);
  }
  await long.close();
  expect(new Set(grown).size).toBe(1);
  expect(grown[0]).toBeLessThan(2 * ((lines[1] ?? '').length + (lines[2] ?? '').length));
  expect(files(home).length).toBe(1);
}, 60_000);
