import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Finding, toExitCode } from '../../../src/commands/doctor/finding.ts';
import { checkInstallation, checkProgram, OLDEST_NODE } from '../../../src/commands/doctor/machine.ts';
import { place as placeFiles } from '../../config/place.ts';
import { place } from '../../support/gmn.ts';

test('the page about it has every check', () => {
  const folder = new URL('../../../src/commands/doctor/', import.meta.url);
  const source = readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('');
  const checks = new Set([...source.matchAll(/(?:check: |Finding\(\s*)'([a-z-]+)'/g)].map(([, check = '']) => check));
  const page = readFileSync(new URL('../../../docs/doctor.md', import.meta.url), 'utf8');
  expect(checks.size).toBeGreaterThan(15);
  expect([...checks].filter((check) => !page.includes(`\`${check}\``))).toEqual([]);
});

const RUNTIME = { node: '22.1.0', builtIn: undefined, platform: 'linux', arch: 'x64', program: undefined };

test('for an executable, neither Node nor a code cache is checked', (t) => {
  const { cwd } = place(t);
  const app = { version: '1', env: {}, cwd } as unknown as Parameters<typeof checkProgram>[0];
  const findings = checkProgram(app, { ...RUNTIME, node: '1.0.0', builtIn: 'Bun 1.4.4', program: '/opt/gmn' });
  expect(findings.slice(0, 4)).toEqual([
    { check: 'node', state: 'ok', text: 'not needed: Bun 1.4.4 is built in, on linux x64' },
    { check: 'gmn', state: 'ok', text: '1 in /opt/gmn, not on PATH' },
    {
      check: 'installed',
      state: 'ok',
      text: 'an executable',
      remedies: [{ words: 'To update, put a newer one where it is: npm run build:binary in a clone' }],
    },
    { check: 'code-cache', state: 'ok', text: 'not needed: gmn is compiled already' },
  ]);
});

test.for([
  [
    'work/gmn/.git',
    'work/gmn',
    'from a clone, <root>/work/gmn',
    ['git -C <root>/work/gmn pull', 'npm --prefix <root>/work/gmn run build'],
  ],
  ['npm/lib/x', 'npm/lib/node_modules/gmn', 'a package, for all projects', ['npm i -g <package>']],
  [
    'app/package.json',
    'app/node_modules/gmn',
    'a package of the project <root>/app',
    ['npm --prefix <root>/app i <package>'],
  ],
  ['copy/x', 'copy/gmn', 'from <root>/copy/gmn', [undefined]],
] as const)('with %s, gmn in %s is %s', ([file, root, text, commands], t) => {
  const here = placeFiles(t, { [file]: '' });
  const plain = (words: string | undefined) => words?.replaceAll(here.path('.'), '<root>').replaceAll('\\', '/');
  const { text: found, remedies = [] } = checkInstallation({
    builtIn: undefined,
    program: here.path(`${root}/bin/gmn.js`),
  });
  expect([plain(found), remedies.map(({ command }) => plain(command))]).toEqual([text, commands]);
});

test('Node below the oldest that package.json names is a failure', (t) => {
  const { engines } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(engines.node).toBe(`>=${OLDEST_NODE}`);
  const { cwd } = place(t);
  const app = { version: '1', env: {}, cwd } as unknown as Parameters<typeof checkProgram>[0];
  const stateOn = (node: string) => checkProgram(app, { ...RUNTIME, node })[0]?.state;
  expect(['20.18.0', '20.9.9', '20.18.1', '20.20.0', '22.1.0'].map(stateOn)).toEqual([
    ...['failure', 'failure', 'ok', 'ok', 'ok'],
  ]);
});

test('the exit code is that of what stops a run first', () => {
  const failures = (...faults: readonly NonNullable<Finding['fault']>[]): readonly Finding[] =>
    faults.map((fault) => ({ check: 'x', state: 'failure', text: '', fault }));
  expect(toExitCode([])).toBe(0);
  expect(toExitCode([{ check: 'x', state: 'warning', text: '' }])).toBe(0);
  expect(toExitCode(failures('usage'))).toBe(1);
  expect(toExitCode(failures('mcp', 'api'))).toBe(3);
  expect(toExitCode(failures('mcp', 'auth', 'usage'))).toBe(2);
  expect(toExitCode(failures('mcp', 'auth', 'config'))).toBe(4);
});
