import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { watchRoots } from '../../src/engine/sandbox-watch.ts';
import { posixTest } from '../support/posix.ts';

function rootWith(t: TestContext, names: readonly string[]) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-watch-')));
  t.onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (...made: readonly string[]): void => {
    for (const name of made) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), '');
    }
  };
  write(...names);
  return { root, write };
}

test.for([
  ['a repository', ['.git/config'], '.git'],
  ['what an editor runs', ['.vscode/tasks.json'], '.vscode'],
  ['what a shell runs', ['.envrc'], '.envrc'],
  ['instructions', ['AGENTS.md'], 'AGENTS.md'],
  ['a part of what was there', ['.github/workflows/x.yml'], '.github/workflows'],
  ['a repository further down', ['a/b/.git'], join('a', 'b', '.git')],
  ['one without that name', ['a/HEAD', 'a/objects/x', 'a/refs/x'], 'a'],
] as const)('%s that is new is told once', ([, names, told], t) => {
  const { root, write } = rootWith(t, ['.mcp.json', 'sub/.git/config', '.github/x']);
  const report = watchRoots([root]);
  expect(report()).toBeUndefined();
  write(...names, 'src/main.c', '.venv/bin/x', 'node_modules/x/.git/config');
  expect(report()).toContain(`is new: ${told}. Look at it`);
  expect(report()).toBeUndefined();
});

posixTest('a link that leads elsewhere is new', (t) => {
  const { root } = rootWith(t, ['one/x', 'two/x']);
  symlinkSync('one', join(root, '.vscode'));
  const report = watchRoots([root]);
  rmSync(join(root, '.vscode'));
  expect(report()).toBeUndefined();
  symlinkSync('two', join(root, '.vscode'));
  expect(report()).toContain('.vscode');
});

test('names of several roots are whole, and not too many are shown', (t) => {
  const [one, other] = [rootWith(t, []), rootWith(t, [])];
  const report = watchRoots([one.root, other.root]);
  for (let index = 0; index < 12; index += 1) other.write(`${index}/.git/config`);
  expect(report()).toMatch(/and 2 others\. Look/);
});
