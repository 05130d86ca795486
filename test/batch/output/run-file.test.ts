import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { checkSameRun, resolveRunPaths, tryParseRunFile } from '../../../src/batch/output/run-file.ts';
import { formatPlan, type Plan, tryParsePlan } from '../../../src/batch/remote/plan.ts';
import { openPlan } from '../../../src/batch/remote/plan-store.ts';
import { tryParseOutputLine } from '../../../src/batch/rows/result.ts';
import { jsonRow } from '../../../src/batch/rows/row.ts';
import { AppError } from '../../../src/core/error.ts';
import { posixTest } from '../../support/posix.ts';

/** A working directory, and a directory of the user outside of it. */
function openFolders() {
  const root = mkdtempSync(join(tmpdir(), 'gmn-run-file-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [cwd, home] = ['work', 'home'].map((name) => join(root, name)) as [string, string];
  for (const path of [cwd, home]) mkdirSync(path);
  writeFileSync(join(home, 'file'), 'mine\n');
  return { cwd, home };
}

const ENDINGS = ['.run.json', '.failed.jsonl', '.lock', '.old', '.old.failed.jsonl', '.batch'];

posixTest.for(ENDINGS)('<output>%s may be no link, not even to nowhere or into the same directory', (ending) => {
  const { cwd, home } = openFolders();
  writeFileSync(join(cwd, 'other'), '');
  for (const target of [join(home, 'file'), home, join(home, 'new'), 'other']) {
    symlinkSync(target, join(cwd, `out.jsonl${ending}`));
    expect(() => resolveRunPaths('out.jsonl', cwd)).toThrow(`out.jsonl${ending} is a link`);
    rmSync(join(cwd, `out.jsonl${ending}`));
  }
});

posixTest('an output that is a link is followed inside its directory only', () => {
  const { cwd, home } = openFolders();
  writeFileSync(join(cwd, 'real.jsonl'), '');
  symlinkSync('real.jsonl', join(cwd, 'in'));
  symlinkSync(join(home, 'file'), join(cwd, 'out'));
  symlinkSync(join(home, 'new'), join(cwd, 'nowhere'));
  symlinkSync(home, join(cwd, 'away'));
  expect(resolveRunPaths('in', cwd).run).toBe(join(cwd, 'real.jsonl.run.json'));
  expect(() => resolveRunPaths('out', cwd)).toThrow('cannot write out: it is a link to');
  expect(() => resolveRunPaths('nowhere', cwd)).toThrow('nowhere: it is a link that leads nowhere');
  expect(() => resolveRunPaths('away/out.jsonl', cwd)).toThrow('outside of the working directory');
});

test('a file and a directory are not taken for each other', () => {
  const { cwd } = openFolders();
  mkdirSync(join(cwd, 'a.failed.jsonl'));
  writeFileSync(join(cwd, 'b.batch'), '');
  mkdirSync(join(cwd, 'c'));
  expect(() => resolveRunPaths('a', cwd)).toThrow('a.failed.jsonl is not a regular file');
  expect(() => resolveRunPaths('b', cwd)).toThrow('b.batch is not a directory');
  expect(() => resolveRunPaths('c', cwd)).toThrow('c is a directory');
});

const PLAN: Plan = {
  runId: '0123abcd',
  token: '6a1f4d0e-2f5e-4f0e-9a51-0d4f2d3c7b11',
  isComplete: true,
  lastNumber: 7,
  settings: { schema: { type: 'object' } },
  shards: [
    { number: 3, model: 'models/m', rows: 2, bytes: 9, attempt: 1, state: 'planned', cost: 0.5 },
    {
      ...{ number: 7, model: 'm-1.5', rows: 1, bytes: 5, attempt: 2, state: 'created' },
      ...{ file: 'files/gmn-0a', intentAt: 1.5, job: 'batches/x_1-y' },
    },
  ],
};

/** What a field of a file is replaced by: most of it leads somewhere, or is no number that can be counted with. */
const HOSTILE = fc.oneof(
  fc.constantFrom(
    '../../x',
    '/etc/passwd',
    'files/../x',
    'batches/a/b',
    'batches/',
    '0123ABCD',
    '..',
    '\u001b]0;x\u0007',
    '',
  ),
  fc.constantFrom(
    -1,
    0,
    1.5,
    2 ** 53,
    1e300,
    null,
    true,
    [],
    {},
    ['x'],
    { schema: 'x' },
    { __proto__: null, number: 1 },
  ),
  fc.constantFrom(...[100, 20_000].map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`))),
  fc.jsonValue(),
);

/** The document with the value at one of its fields replaced, or the field removed. */
function replaceField(document: object, field: string, value: unknown): object {
  const [first = '', ...rest] = field.split('.');
  const copy = Object.assign(Array.isArray(document) ? [] : {}, document) as Record<string, unknown>;
  copy[first] = rest.length === 0 ? value : replaceField(Object(copy[first]), rest.join('.'), value);
  return copy;
}

/** `JSON.stringify` overflows the stack of values that `JSON.parse` accepts. */
function stringify(value: unknown): string {
  if (Array.isArray(value)) {
    let depth = 0;
    let inner: unknown = value;
    for (; Array.isArray(inner) && inner.length === 1; depth += 1) [inner] = inner;
    return `${'['.repeat(depth)}${Array.isArray(inner) ? `[${inner.map(stringify).join(',')}]` : stringify(inner)}${']'.repeat(depth)}`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}:${stringify(item)}`)
    .join(',')}}`;
}

test('a plan that gmn has written is read as it was', () => {
  expect(tryParsePlan(formatPlan(PLAN))).toEqual(PLAN);
  expect(tryParsePlan(formatPlan({ ...PLAN, shards: [], settings: {} }))).toMatchObject({ shards: [], settings: {} });
});

test('whatever a plan says, it names nothing but its shards, jobs and uploaded files', () => {
  const document = JSON.parse(formatPlan(PLAN));
  const shardFields = Object.keys(document.shards[1]).map((name) => `shards.1.${name}`);
  const fields = fc.constantFrom(
    ...Object.keys(document),
    'shards.0',
    'settings.schema',
    'shards.1.cost',
    ...shardFields,
  );
  fc.assert(
    fc.property(fields, HOSTILE, (field, value) => {
      const plan = tryParsePlan(stringify(replaceField(document, field, value)));
      if (plan === undefined) return;
      expect(plan.runId).toMatch(/^[\da-f]{8}$/);
      expect(new Set(plan.shards.map(({ number }) => number)).size).toBe(plan.shards.length);
      for (const { number, job = 'batches/a', file = 'files/a', cost = 0, model, state } of plan.shards) {
        expect(Number.isSafeInteger(number) && number > 0 && number <= plan.lastNumber && cost >= 0).toBe(true);
        expect([job, file, model]).toEqual([
          expect.stringMatching(/^batches\/[\w-]+$/),
          expect.stringMatching(/^files\/[\w-]+$/),
          expect.stringMatching(/^[\w/.@:-]+$/),
        ]);
        expect(PLAN_STATES).toContain(state);
      }
      expect(tryParsePlan(formatPlan(plan))).toEqual(plan);
    }),
  );
  expect(tryParsePlan(stringify(replaceField(document, 'shards.1.number', 3)))).toBeUndefined();
});

const PLAN_STATES = ['planned', 'uploaded', 'creating', 'created', 'cancelled', 'collected'];

test('whatever a run file says, it is compared or refused, and never a crash', () => {
  const input = { name: 'in.jsonl', firstRow: 'x' };
  const document = {
    format: 'gmn-batch',
    version: 1,
    runId: '0123abcd',
    createdAt: '',
    settings: { '-m': 'a' },
    input,
  };
  const fields = fc.constantFrom(...Object.keys(document), 'settings.-m', 'settings.__proto__', 'input.name');
  const paths = resolveRunPaths('out.jsonl', tmpdir());
  expect(tryParseRunFile(stringify(document))).toEqual({
    runId: '0123abcd',
    createdAt: '',
    settings: { '-m': 'a' },
    input,
  });
  fc.assert(
    fc.property(fields, HOSTILE, (field, value) => {
      const before = tryParseRunFile(stringify(replaceField(document, field, value)));
      if (before === undefined) return;
      expect(before.runId).toMatch(/^[\da-f]{8}$/);
      try {
        checkSameRun(before, { settings: { '-m': 'a' }, input }, paths);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(AppError);
      }
    }),
    { examples: [['settings', { toString: '' }]] },
  );
});

test('any line of an output, and any row, is read or refused, and never a crash', () => {
  const id = fc.oneof(fc.string(), fc.constantFrom('\\x', '\\u12', '\\"', '\\'));
  const line = fc.oneof(
    fc.string(),
    id.map((text) => `{"id":"${text}","index":0,"ok":true}`),
    HOSTILE.map((value) => `{"id":${stringify(value)},"ok":true,"prompt":"x","a":${stringify(value)}}`),
  );
  fc.assert(
    fc.property(line, (text) => {
      expect(['string', 'undefined']).toContain(typeof tryParseOutputLine(text)?.id);
      expect(typeof jsonRow({ index: 0, lineNumber: 1, text }).id).toBe('string');
    }),
  );
});

const FRESH = { runId: '0123abcd', settings: {} };

test('only what gmn has made is removed from the directory of the plan', async () => {
  const { cwd } = openFolders();
  const path = join(cwd, 'out.jsonl.batch');
  mkdirSync(path);
  // A process was killed while it wrote its first plan.
  writeFileSync(join(path, '.plan.json.12.k3.tmp'), '{');
  const store = await openPlan({ path, tokens: `${path}.tokens` }, FRESH);
  const others = ['.env', '000001.txt', 'a.jsonl', 'plan.json.bak', 'plan.jsonl'];
  for (const name of [...others, '000009.jsonl', '000009.rows.jsonl']) writeFileSync(join(path, name), 'mine');
  await store.prune();
  expect(readdirSync(path).sort()).toEqual([...others, 'plan.json'].sort());
  await store.remove();
  expect(readdirSync(path).sort()).toEqual(others);
  await expect(openPlan({ path, tokens: `${path}.tokens` }, FRESH)).rejects.toThrow('it has files, and no plan.json');
});

posixTest('a directory that is swapped for a link while it is open leads nowhere', async () => {
  const { cwd, home } = openFolders();
  const path = join(cwd, 'out.jsonl.batch');
  const store = await openPlan({ path, tokens: `${path}.tokens` }, FRESH);
  rmSync(path, { recursive: true });
  writeFileSync(join(home, 'plan.json'), 'mine');
  symlinkSync(home, path);
  await store.update((plan) => plan).catch(() => {});
  await store.drop(1).catch(() => {});
  await store.remove().catch(() => {});
  expect([readdirSync(home), readFileSync(join(home, 'plan.json'), 'utf8')]).toEqual([['file', 'plan.json'], 'mine']);
  expect(existsSync(path)).toBe(true);
  await expect(openPlan({ path, tokens: `${path}.tokens` })).rejects.toThrow('it is a link');
});

test.for([
  ['a plan that is a link', 'link'],
  ['a directory for a plan', 'directory'],
  ['a plan of somebody else', '{"shards":[]}'],
] as const)('%s is not believed', async ([, content]) => {
  const { cwd, home } = openFolders();
  const path = join(cwd, 'out.jsonl.batch');
  mkdirSync(path);
  writeFileSync(join(home, 'plan.json'), formatPlan(PLAN));
  const plan = join(path, 'plan.json');
  if (content === 'link') symlinkSync(join(home, 'plan.json'), plan);
  else if (content === 'directory') mkdirSync(plan);
  else writeFileSync(plan, content);
  await expect(openPlan({ path, tokens: `${path}.tokens` }, FRESH)).rejects.toMatchObject({
    fault: 'usage',
    message: expect.stringContaining('plan.json cannot be read'),
    hint: expect.stringContaining('remove the directory'),
  });
});

test('a plan that was made elsewhere is not believed, though gmn could have written it', async () => {
  const { cwd } = openFolders();
  const path = join(cwd, 'out.jsonl.batch');
  const place = { path, tokens: join(cwd, 'tokens') };
  await (await openPlan(place, FRESH)).close();
  const again = await openPlan(place);
  expect(again?.plan.runId).toBe(FRESH.runId);
  await again?.close();
  const elsewhere = { path, tokens: join(cwd, 'of-another-home') };
  for (const open of [() => openPlan(elsewhere), () => openPlan(elsewhere, FRESH)]) {
    await expect(open()).rejects.toMatchObject({ fault: 'usage', hint: expect.stringContaining('copy that, too') });
  }
  await (await openPlan(place, FRESH)).remove();
  expect(readdirSync(place.tokens)).toEqual([]);
});
