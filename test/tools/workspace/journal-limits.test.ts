import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type UndoStore, undoStore } from '../../../src/tools/workspace/journal.ts';
import { openWorkspace, type Workspace } from '../../../src/tools/workspace/workspace.ts';
import { FUZZ_TIMEOUT, fuzz } from '../../support/fuzz.ts';
import { placeAt, snapshot, temporary } from '../place.ts';

const DAY_MS = 86_400_000;

/** A clock that is set by hand. */
function watch(start = 100 * DAY_MS) {
  const clock = { time: start, now: () => clock.time, sleep: async () => {} };
  return clock;
}

function bytesIn(directory: string): number {
  const blobs = join(directory, 'blobs');
  return readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0);
}

async function rewrite(workspace: Workspace, path: string, text: string): Promise<void> {
  const { place, file } = await workspace.open(path);
  const bytes = await file.read(0, file.size);
  await file.close();
  workspace.remember(place, bytes, { first: 1, last: 0, total: 0 });
  await workspace.write(path, new TextEncoder().encode(text));
}

/** Takes back all runs that are kept, the newest first, and says which. */
async function takeBackAll(store: UndoStore, workspace: Workspace): Promise<readonly string[]> {
  const runs: string[] = [];
  for (;;) {
    const changes = await store.listChanges();
    const last = changes.at(-1);
    if (last === undefined) return runs;
    runs.push(last.run);
    for (const path of new Set(changes.filter(({ run }) => run === last.run).map((change) => change.path))) {
      const [first, ...others] = changes.filter((change) => change.run === last.run && change.path === path);
      await store.undo([first!, ...others], workspace);
    }
  }
}

test(
  'whatever runs were made, those that are kept are the newest, within the limits, and taken back to the byte',
  async () => {
    const step = fc.record({ file: fc.nat(3), size: fc.integer({ min: 1, max: 400 }) });
    const run = fc.record({ days: fc.nat(20), steps: fc.array(step, { minLength: 1, maxLength: 4 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 8 }), async (runs) => {
        const root = temporary({ f0: '0', f1: '1', f2: '2', f3: '3' });
        const directory = join(temporary(), 'undo');
        const clock = watch();
        const store = undoStore(directory, clock, 1000);
        const before: Readonly<Record<string, string>>[] = [];
        const times: number[] = [];
        for (const [index, { days, steps }] of runs.entries()) {
          clock.time += days * DAY_MS;
          times.push(clock.time);
          before.push(snapshot(root));
          const workspace = await openWorkspace({ roots: [root], journal: store.createJournal(`run${index}`, [root]) });
          for (const { file, size } of steps) await rewrite(workspace, `f${file}`, `${index} `.repeat(size));
        }
        // What the last run kept is there whole, so only runs before it count.
        const changes = await store.listChanges();
        const kept = [...new Set(changes.map((change) => change.run))];
        expect(kept).toEqual(runs.map((_, index) => `run${index}`).slice(-kept.length));
        for (const name of kept.slice(0, -1)) {
          expect(clock.time - times[Number(name.slice(3))]!).toBeLessThanOrEqual(30 * DAY_MS);
        }
        const { workspace } = await placeAt(root);
        expect(await takeBackAll(store, workspace)).toEqual(kept.toReversed());
        expect(snapshot(root)).toEqual(before[runs.length - kept.length]);
      }),
      fuzz(10, 1000),
    );
  },
  FUZZ_TIMEOUT,
);

test('what is kept stays within the limit, and what nobody needs any more goes', async () => {
  const root = temporary({ 'a.txt': 'x'.repeat(400) });
  const directory = join(temporary(), 'undo');
  const store = undoStore(directory, watch(), 1000);
  for (let index = 0; index < 20; index += 1) {
    const workspace = await openWorkspace({ roots: [root], journal: store.createJournal(`run${index}`) });
    await rewrite(workspace, 'a.txt', `${index}`.padEnd(400, '.'));
  }
  expect((await store.listChanges()).map(({ run }) => run)).toEqual(['run18', 'run19']);
  expect(bytesIn(directory)).toBe(800);
  expect(readFileSync(join(directory, 'changes.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
  expect(readdirSync(directory).sort()).toEqual(['blobs', 'changes.jsonl']);
  const { workspace } = await placeAt(root);
  await takeBackAll(store, workspace);
  const next = await openWorkspace({ roots: [root], journal: store.createJournal('next') });
  await next.write('b.txt', new Uint8Array([1]));
  expect(readdirSync(join(directory, 'blobs'))).toEqual([]);
  expect((await store.listChanges()).map(({ run }) => run)).toEqual(['next']);
});

test('the newest run is kept however large it is', async () => {
  const root = temporary({ 'a.txt': 'x'.repeat(4000), 'b.txt': 'y'.repeat(4000) });
  const store = undoStore(join(temporary(), 'undo'), watch(), 1000);
  const before = snapshot(root);
  const workspace = await openWorkspace({ roots: [root], journal: store.createJournal('run') });
  for (const name of ['a.txt', 'b.txt']) await rewrite(workspace, name, 'short');
  await takeBackAll(store, workspace);
  expect(snapshot(root)).toEqual(before);
});

test('nothing is forgotten in a journal that a newer gmn has written to', async () => {
  const root = temporary({ 'a.txt': 'x'.repeat(4000) });
  const directory = join(temporary(), 'undo');
  mkdirSync(join(directory, 'blobs'), { recursive: true });
  writeFileSync(join(directory, 'blobs', 'theirs'), 'x');
  appendFileSync(join(directory, 'changes.jsonl'), '{"v":2,"of":"theirs"}\n');
  const workspace = await openWorkspace({
    roots: [root],
    journal: undoStore(directory, watch(), 10).createJournal('run'),
  });
  await rewrite(workspace, 'a.txt', 'short');
  expect(readFileSync(join(directory, 'changes.jsonl'), 'utf8')).toMatch(/^\{"v":2,"of":"theirs"\}\n/);
  expect(readdirSync(join(directory, 'blobs'))).toContain('theirs');
});

test('runs at the same time lose no line of each other', async () => {
  const root = temporary();
  const store = undoStore(join(temporary(), 'undo'), { now: Date.now, sleep: (ms) => pause(ms) }, 10);
  const runs = Array.from({ length: 12 }, async (_, index) => {
    const workspace = await openWorkspace({ roots: [root], journal: store.createJournal(`run${index}`) });
    for (const name of ['a', 'b']) await workspace.write(`${index}${name}`, new Uint8Array([index]));
  });
  await Promise.all(runs);
  expect(await store.listChanges()).toHaveLength(24);
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
