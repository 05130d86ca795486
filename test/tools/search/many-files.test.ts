import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../../support/fuzz.ts';
import { posixTest } from '../../support/posix.ts';
import { type Place, place, placeAt, ticksDuring } from '../place.ts';

/** A hundred thousand in a long run: see test/support/fuzz.ts. */
const COUNT = isLong ? 100_000 : 10_000;
let root = '';
let here: Place;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-tools-')));
  for (let index = 0; index < COUNT; index += 1) {
    const directory = join(root, `d${Math.floor(index / 1000)}`);
    if (index % 1000 === 0) mkdirSync(directory);
    writeFileSync(join(directory, `f${index % 1000}.txt`), index === COUNT - 1 ? 'needle\n' : 'hay\n');
  }
  here = await placeAt(root);
}, 120_000);

afterAll(() => rmSync(root, { recursive: true, force: true }), 60_000);

test('among many thousands of files a line is found, while the event loop runs', async () => {
  const { result, ticks } = await ticksDuring(here.call('search_file_content', { pattern: 'needle' }));
  expect(result.response.output).toEqual({
    matches: [{ file: `d${COUNT / 1000 - 1}/f999.txt`, lines: ['1: needle'] }],
  });
  expect(ticks).toBeGreaterThan(0);
}, 60_000);

test('among many thousands of files a name is found, while the event loop runs', async () => {
  const { result, ticks } = await ticksDuring(here.call('glob', { pattern: '**/f999.txt' }));
  expect((result.response.output as { files: unknown[] }).files).toHaveLength(COUNT / 1000);
  expect(ticks).toBeGreaterThan(0);
}, 60_000);

test.each([
  ['search_file_content', { pattern: 'nowhere' }],
  ['glob', { pattern: 'nowhere' }],
] as const)('%s among many thousands of files ends at once when it is aborted', async (name, args) => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  const call = here.call(name, args, stop.signal);
  setImmediate(() => stop.abort(reason));
  await expect(call).rejects.toBe(reason);
});

posixTest('devices are refused by every tool, by whatever way they are named', async () => {
  const { root: own, call } = await place({});
  for (const name of ['zero', 'tty', 'full', 'random']) symlinkSync(`/dev/${name}`, join(own, name));
  const devices = await placeAt('/dev');
  for (const [name, args] of [
    ['read_file', {}],
    ['write_file', { content: 'x' }],
    ['edit_file', { old_string: '', new_string: 'x' }],
    ['search_file_content', { pattern: 'x' }],
  ] as const) {
    for (const path of ['zero', 'tty', 'full', 'random']) {
      expect(await call(name, { path, ...args })).toMatchObject({ ok: false });
      expect(await devices.call(name, { path, ...args })).toMatchObject({ ok: false });
    }
  }
});
