import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import {
  addPermission,
  type KeptPermission,
  readPermissionsFile,
  removePermissions,
} from '../../src/config/permissions-file.ts';
import { type Permission, tryParsePermission } from '../../src/core/permission.ts';
import { bundledProgram } from '../support/asking.ts';
import { posixTest } from '../support/posix.ts';

const text = fc.string({ minLength: 1 });
const permission: fc.Arbitrary<Permission> = fc.oneof(
  fc.constant({ kind: 'edits' } as const),
  fc.record({ kind: fc.constant('tool' as const), tool: text }),
  fc.record(
    { kind: fc.constant('command' as const), command: text, directory: text, isBackground: fc.constant(true as const) },
    { requiredKeys: ['kind', 'command', 'directory'] },
  ),
  fc.record({ kind: fc.constant('prefix' as const), words: fc.array(text, { minLength: 1 }) }),
  fc.record({ kind: fc.constant('server' as const), server: text, fingerprint: text }),
  fc.record({ kind: fc.constant('server-tool' as const), server: text, fingerprint: text, tool: text }),
);
/** A full path as the system writes it. */
const PROJECT = resolve('/w');
const project = fc.constantFrom(PROJECT, join(PROJECT, '日本'), resolve('/__proto__'));
const kept = fc.record({ project, permission, time: fc.string() });

const app = { clock: { now: () => 0, sleep: async () => {} }, signal: new AbortController().signal };

function openPlace(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-permissions-'));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, '.gmn', 'permissions.json');
}

test('what was kept is read again, once each and by project, and what is removed is gone', async (t) => {
  const file = openPlace(t);
  expect(readPermissionsFile(file)).toEqual([]);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(kept, {
        maxLength: 4,
        selector: ({ project, permission: one }) => JSON.stringify([project, one]),
      }),
      async (all) => {
        rmSync(file, { force: true });
        for (const each of [...all, ...all]) await addPermission(file, each, app);
        const sort = (list: readonly KeptPermission[]) => list.map((each) => JSON.stringify(each)).sort();
        expect(sort(readPermissionsFile(file))).toEqual(sort(JSON.parse(JSON.stringify(all))));
        await removePermissions(file, all.slice(0, 1), app);
        expect(sort(readPermissionsFile(file))).toEqual(sort(JSON.parse(JSON.stringify(all.slice(1)))));
      },
    ),
    { numRuns: 30 },
  );
});

posixTest('the file is for its owner alone; one that others can write counts for nothing', async (t) => {
  const file = openPlace(t);
  await addPermission(file, { project: PROJECT, permission: { kind: 'edits' }, time: '' }, app);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  chmodSync(file, 0o666);
  expect(() => readPermissionsFile(file)).toThrow(/can be written by others/);
});

const PREFIX = { kind: 'prefix', words: ['ls'], time: '' };
const wrap = (entry: unknown, project = PROJECT) => ({ version: 1, projects: { [project]: [entry] } });

test.each([
  ['', 'it is not JSON'],
  ['{"version":1,"projects":{"/w":[', 'it is not JSON'],
  [[], 'it is not a list of permissions'],
  [{ version: 2, projects: {} }, 'it is not a list of permissions'],
  [{ version: 1, projects: {}, more: 1 }, 'it is not a list of permissions'],
  [wrap(PREFIX, 'w'), 'the entry "w" is not valid'],
  [wrap(PREFIX, '/w/../x'), 'the entry "/w/../x" is not valid'],
  [{ version: 1, projects: { [PROJECT]: {} } }, `the entry ${JSON.stringify(PROJECT)} is not valid`],
  ...[
    ...[null, 'ls', [], {}, { kind: 'all', time: '' }, { ...PREFIX, time: 1 }, { kind: 'prefix', words: ['ls'] }],
    ...[
      { ...PREFIX, words: [] },
      { ...PREFIX, words: [''] },
      { ...PREFIX, words: 'ls' },
      { ...PREFIX, words: [1] },
    ],
    ...[
      { ...PREFIX, more: 1 },
      { kind: 'tool', tool: '', time: '' },
      { kind: 'edits', tool: 'x', time: '' },
    ],
    ...[
      { kind: 'command', command: 'a', time: '' },
      { kind: 'server', server: 'a', time: '' },
      { kind: 'tool', time: '' },
    ],
    { kind: 'command', command: 'a', directory: '/', isBackground: false, time: '' },
  ].map((entry) => [wrap(entry), `a permission of ${JSON.stringify(PROJECT)} is not valid`] as const),
] as const)('a file with %j grants nothing, and stays as it is: %s', async (content, why) => {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-permissions-'));
  const file = join(directory, 'permissions.json');
  const written = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(file, written, { mode: 0o600 });
  expect(() => readPermissionsFile(file)).toThrow(`${file}: ${why}`);
  await expect(addPermission(file, { project: PROJECT, permission: { kind: 'edits' }, time: '' }, app)).rejects.toThrow(
    why,
  );
  expect(readFileSync(file, 'utf8')).toBe(written);
  rmSync(directory, { recursive: true });
});

test('a value that gmn could not have written is no permission', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const found = tryParsePermission(value as never);
      if (found !== undefined) expect(found).toEqual(value);
    }),
  );
});

posixTest('a file in the working directory grants nothing, and neither does a link that leads into it', async (t) => {
  const home = openPlace(t);
  const project = openPlace(t);
  await addPermission(project, { project: PROJECT, permission: { kind: 'edits' }, time: '' }, app);
  const root = join(project, '..', '..');
  expect(() => readPermissionsFile(project, [root])).toThrow(/it is in the working directory/);
  mkdirSync(join(home, '..'));
  symlinkSync(project, home);
  expect(() => readPermissionsFile(home, [root])).toThrow(/it is in the working directory/);
  expect(readPermissionsFile(project, [join(root, 'other')])).toHaveLength(1);
});

posixTest('processes that keep permissions at the same time lose none', async (t) => {
  const file = openPlace(t);
  const directory = join(file, '..', '..');
  const program = await bundledProgram(directory, 'permission-program');
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [program, file, name, '10'])));
  const found = readPermissionsFile(file).map(({ permission: each }) => each.kind === 'prefix' && each.words.join(' '));
  expect(found.sort()).toEqual(
    names.flatMap((name) => Array.from({ length: 10 }, (_, index) => `${name} ${index}`)).sort(),
  );
});
