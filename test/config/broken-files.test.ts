import { lstatSync, mkdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { fifo, isWindows } from '../support/posix.ts';
import { type Place, place } from './place.ts';

const GOOD =
  '{\n  "model": { "name": "good" },\n  "mcpServers": { "a": { "command": "a" } },\n  "unknown": { "kept": [1] }\n}\n';

const json = JSON.stringify;

type Outcome = 'read' | 'nothing' | 'broken' | 'absent';

interface Mutation {
  readonly content?: string | Uint8Array;
  readonly make?: (path: string) => void;
  readonly expected: Outcome;
}

/** Each way a settings file can be spoilt, and what the user's own then counts as. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  empty: { content: '', expected: 'nothing' },
  'a lone brace': { content: '{', expected: 'broken' },
  'cut in half': { content: GOOD.slice(0, GOOD.length / 2), expected: 'broken' },
  null: { content: 'null', expected: 'broken' },
  'a list': { content: '[]', expected: 'broken' },
  'a string': { content: '"x"', expected: 'broken' },
  'a number': { content: '7', expected: 'broken' },
  'a wrong type': { content: GOOD.replace('"good"', '7'), expected: 'broken' },
  'a wrong type on the way': { content: GOOD.replace('{ "name": "good" }', '[]'), expected: 'broken' },
  'duplicate keys': { content: GOOD.replace('"name"', '"name": "bad", "name"'), expected: 'read' },
  'a byte order mark': { content: `\uFEFF${GOOD}`, expected: 'read' },
  CRLF: { content: GOOD.replaceAll('\n', '\r\n'), expected: 'read' },
  'comments and a trailing comma': { content: `/* a */ ${GOOD.replace('] }', '], }, // b')}`, expected: 'read' },
  'NUL bytes': { content: GOOD.replace('"model"', '\0"model"'), expected: 'broken' },
  'invalid UTF-8': { content: Buffer.from(GOOD.replace('[1]', '["\xff"]'), 'latin1'), expected: 'read' },
  'invalid UTF-8 outside strings': { content: Buffer.from(`\xff${GOOD}`, 'latin1'), expected: 'broken' },
  '100 MB': { make: (path) => truncateSync(path, 100_000_000), content: '{', expected: 'broken' },
  'a directory': { make: (path) => mkdirSync(path), expected: 'broken' },
  ...(isWindows ? {} : { 'a FIFO': { make: fifo, expected: 'broken' } as const }),
  'a dangling link': { make: (path) => symlinkSync(`${path}.gone`, path), expected: 'absent' },
  __proto__: { content: GOOD.replace('{', '{ "__proto__": { "polluted": 1 },'), expected: 'read' },
  '__proto__ with comments': { content: GOOD.replace('{', '{ /**/ "__proto__": { "polluted": 1 },'), expected: 'read' },
  'nested too deeply': { content: `{"a": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`, expected: 'broken' },
  'nested too deeply, with comments': { content: `{"a": ${'['.repeat(200_000)} // x`, expected: 'broken' },
};

const ROWS = Object.entries(MUTATIONS).map(([name, mutation]) => ({ name, ...mutation }));

function spoil({ path, write }: Place, name: string, { content, make }: Mutation): void {
  rmSync(path(name), { recursive: true, force: true });
  mkdirSync(dirname(path(name)), { recursive: true });
  if (content !== undefined) write({ [name]: content });
  make?.(path(name));
}

/** Whatever is at a path, so that it can be compared. */
function look(path: string): unknown {
  const status = lstatSync(path);
  return { mode: status.mode, size: status.size, mtime: status.mtimeMs, inode: status.ino };
}

for (const file of ['home/.gemini/settings.json', 'home/.gmn/config.json', 'etc/settings.json']) {
  for (const { name, ...mutation } of ROWS) {
    test(`${file}, spoilt: ${name}`, async (t) => {
      const here = place(t);
      spoil(here, file, mutation);
      const before = look(here.path(file));
      if (mutation.expected === 'broken') {
        await expect(here.settings()).rejects.toMatchObject({
          fault: 'config',
          message: expect.stringContaining(here.path(file)),
        });
      } else expectOutcome(await here.settings(), mutation.expected);
      expect(look(here.path(file))).toEqual(before);
    });
  }
}

function expectOutcome({ model, document, notices }: Awaited<ReturnType<Place['settings']>>, expected: Outcome): void {
  expect({ model, notices }).toEqual({ model: expected === 'read' ? 'good' : undefined, notices: [] });
  if (expected === 'read') expect(Object.keys(document ?? {})).toEqual(['model', 'mcpServers', 'unknown']);
  expect(document?.polluted).toBeUndefined();
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}

for (const { name, expected, ...rest } of ROWS) {
  test(`settings of a trusted folder, spoilt: ${name}`, async (t) => {
    const here = place(t);
    const file = 'work/.gemini/settings.json';
    spoil(here, file, { expected, ...rest });
    const before = look(here.path(file));
    const { model, notices } = await here.settings({ GEMINI_CLI_TRUST_WORKSPACE: 'true' });
    expect(model).toBe(expected === 'read' ? 'good' : undefined);
    // Of a file that is read, that its server is not approved is said.
    const isSaid = expected === 'broken' || expected === 'read';
    expect(notices.map((notice) => notice.includes(here.path(file)))).toEqual(isSaid ? [true] : []);
    expect(look(here.path(file))).toEqual(before);
  });

  test(`settings of an untrusted folder, spoilt: ${name}`, async (t) => {
    const here = place(t);
    spoil(here, 'work/.gemini/settings.json', { expected, ...rest });
    const { document, notices } = await here.settings();
    expect({ document, count: notices.length }).toEqual({ document: {}, count: expected === 'absent' ? 0 : 1 });
  });

  for (const file of ['home/.gemini/trustedFolders.json', 'home/.gmn/trust.json']) {
    test(`${file}, spoilt: ${name}`, async (t) => {
      const here = place(t, { 'work/.gemini/settings.json': '{"model": {"name": "good"}}' });
      spoil(here, file, { expected, ...rest });
      const before = look(here.path(file));
      const { model, notices } = await here.settings();
      expect({ model, count: notices.length }).toEqual({ model: undefined, count: 1 });
      expect(look(here.path(file))).toEqual(before);
    });
  }

  test(`~/.gemini/.env, spoilt: ${name}`, async (t) => {
    const here = place(t);
    spoil(here, 'home/.gemini/.env', { expected, ...rest });
    const before = look(here.path('home/.gemini/.env'));
    const outcome = await here.settings().then(
      ({ document }) => json(document),
      ({ fault }) => fault,
    );
    expect(outcome).toBe(['100 MB', 'a directory', 'a FIFO'].includes(name) ? 'config' : '{}');
    expect(look(here.path('home/.gemini/.env'))).toEqual(before);
  });
}
