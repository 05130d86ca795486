import { linkSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { toSlashes } from '../../../src/core/text/path.ts';
import { FUZZ_TIMEOUT, fuzz, isLong } from '../../support/fuzz.ts';
import { CANARY, generatedPayload, payloadTable, plantScene } from '../payload-scene.ts';
import { type Place, place, placeAt, snapshot, temporary } from '../place.ts';

interface Scene {
  readonly top: string;
  readonly root: string;
  readonly place: Place;
}

async function scene(handleMode: 'descriptor' | 'path'): Promise<Scene> {
  const top = temporary();
  const root = plantScene(top);
  return { top, root, place: await placeAt(root, { handleMode }) };
}

const TOOLS: readonly ((path: string) => readonly [name: string, args: JsonObject])[] = [
  (path) => ['list_directory', { path }],
  (path) => ['read_file', { path }],
  (path) => ['write_file', { path, content: 'pwned' }],
  (path) => ['edit_file', { path, old_string: CANARY, new_string: 'pwned' }],
  (path) => ['edit_file', { path, old_string: '', new_string: 'pwned' }],
  (path) => ['glob', { path, pattern: '**/*' }],
  (path) => ['glob', { pattern: path === '' ? '*' : path }],
  (path) => ['search_file_content', { path, pattern: 'canary' }],
  (path) => ['search_file_content', { pattern: 'canary', include_pattern: path }],
];

/** What a tool gave, in a form in which the canary can be seen. */
async function everything(place: Place, path: string, tools = TOOLS): Promise<string> {
  const texts: string[] = [];
  for (const call of tools) {
    const [name, args] = call(path);
    const { response, media = [] } = await place.call(name, args);
    const shown = media.map(({ inlineData }) => Buffer.from(inlineData.data, 'base64').toString('latin1'));
    // What the model wrote itself comes back in messages; it is no news to it.
    texts.push([JSON.stringify(response), ...shown].join('\n').replaceAll(JSON.stringify(path).slice(1, -1), ''));
    const preview = await place.tools.get(name)?.preview?.(args, new AbortController().signal);
    texts.push(JSON.stringify(preview ?? null).replaceAll(JSON.stringify(path).slice(1, -1), ''));
  }
  return texts.join('\n');
}

function outsideOf({ top, root }: Scene): Readonly<Record<string, string>> {
  const all = Object.entries(snapshot(top)).filter(([name]) => !name.startsWith(`${root.slice(top.length)}/`));
  return Object.fromEntries(all);
}

test.each(['descriptor', 'path'] as const)(
  'no path leads out of the workspace, held by %s: neither a byte from there nor a change',
  async (handleMode) => {
    const here = await scene(handleMode);
    const before = outsideOf(here);
    const payloads = [...new Set(payloadTable(here.top, here.root))];
    expect(payloads.length).toBeGreaterThan(140);
    // The paths lead to the same checks however the workspace is held.
    const tried = handleMode === 'descriptor' || isLong ? payloads : payloads.filter((_, index) => index % 3 === 0);
    for (const path of tried) {
      expect(await everything(here.place, path), `payload ${JSON.stringify(path)}`).not.toContain(CANARY);
    }
    expect(outsideOf(here)).toEqual(before);
  },
  110_000,
);

test(
  'no generated path leads out of the workspace either',
  async () => {
    const here = await scene('descriptor');
    const before = outsideOf(here);
    const path = generatedPayload(here.top, here.root);
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(path, async (payload) => {
        seen.add(payload);
        expect(await everything(here.place, payload, TOOLS.slice(0, -1))).not.toContain(CANARY);
      }),
      fuzz(50, 4000),
    );
    expect(seen.size).toBeGreaterThan(40);
    expect(outsideOf(here)).toEqual(before);
  },
  FUZZ_TIMEOUT,
);

test('a file of another workspace directory can be used, its neighbours cannot', async () => {
  const top = temporary({ 'a/x.txt': 'a\n', 'b/y.txt': 'b\n', 'bc/z.txt': CANARY });
  const here = await placeAt(join(top, 'a'), { roots: [join(top, 'a'), join(top, 'b')] });
  expect(await here.output('read_file', { path: join(top, 'b/y.txt') })).toBe('b');
  expect(await here.output('glob', { pattern: '*', path: join(top, 'b') })).toEqual({
    files: [toSlashes(join(top, 'b/y.txt'))],
  });
  expect(await here.error('read_file', { path: join(top, 'bc/z.txt') })).toContain('outside the workspace');
});

test('a link that stays inside is followed, and read by the name of its target', async () => {
  const here = await place({ 'real/a.txt': 'text\n' });
  symlinkSync('real', join(here.root, 'link'));
  symlinkSync('../real/a.txt', join(here.root, 'real/again'));
  expect(await here.output('read_file', { path: 'link/a.txt' })).toBe('text');
  expect(await here.output('read_file', { path: 'real/again' })).toBe('text');
  expect(await here.output('write_file', { path: 'link/new.txt', content: 'x' })).toBe('Created.');
  expect(await here.output('read_file', { path: 'real/new.txt' })).toBe('x');
});

test('an outside file that is hard-linked into the workspace is replaced there, not changed', async () => {
  const top = temporary({ 'outside.txt': 'outside\n', 'app/x.txt': '' });
  linkSync(join(top, 'outside.txt'), join(top, 'app/hard.txt'));
  const here = await placeAt(join(top, 'app'));
  await here.output('read_file', { path: 'hard.txt' });
  await here.output('write_file', { path: 'hard.txt', content: 'changed\n' });
  expect(readFileSync(join(top, 'outside.txt'), 'utf8')).toBe('outside\n');
  expect(dirname(join(top, 'app/hard.txt'))).toBe(here.root);
});
