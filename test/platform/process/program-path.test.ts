import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { helperEnvironment, programEnvironment } from '../../../src/platform/process/environment.ts';
import { findHelper, listHelperDirectories } from '../../../src/platform/process/program-path.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

/** A workspace `work` beside other directories; in each is a program `tool` that nobody runs. */
function setUp() {
  const root = temporary();
  for (const directory of ['home/bin', 'work/bin', 'out', 'working', 'linked']) {
    mkdirSync(join(root, directory), { recursive: true });
    if (directory !== 'linked') writeFileSync(join(root, directory, 'tool'), '', { mode: 0o755 });
  }
  symlinkSync(join(root, 'work/bin'), join(root, 'link'));
  symlinkSync(join(root, 'work'), join(root, 'elsewhere'));
  symlinkSync(join(root, 'work/bin/tool'), join(root, 'linked', 'tool'));
  return { root, work: join(root, 'work'), home: join(root, 'home') };
}

posixTest(
  'whatever is on PATH, a helper is only found in absolute directories outside the workspace, in their order',
  () => {
    const { root, work, home } = setUp();
    const inside = ['', '.', 'bin', '..', '~/bin', work, `${work}/`, `${work}/bin/..`, `${work}/nowhere`];
    const leading = [join(root, 'link'), join(root, 'elsewhere/bin'), `${root}/out/../work/bin`];
    const outside = [join(root, 'out'), join(root, 'working'), join(home, 'bin'), join(root, 'linked'), '/nowhere'];
    const entries = fc.array(fc.constantFrom(...inside, ...leading, ...outside));
    fc.assert(
      fc.property(entries, fc.constantFrom(work, join(root, 'elsewhere')), (path, cwd) => {
        const env = { PATH: path.join(delimiter), HOME: home };
        const kept = path.filter((directory) => outside.includes(directory));
        const searched = kept.length === 0 ? ['/usr/local/bin', '/usr/bin', '/bin'] : kept;
        expect(listHelperDirectories(env, [cwd])).toEqual(searched);
        expect(helperEnvironment(env, [cwd]).PATH).toBe(searched.join(delimiter));
        // The tool in `linked` is one of the workspace.
        const first = kept.find((directory) => !/nowhere|linked/.test(directory));
        expect(findHelper('tool', env, [cwd])).toBe(first && join(first, 'tool'));
        expect(findHelper('bin/tool', env, [cwd])).toBe(undefined);
        expect(findHelper(join(work, 'bin/tool'), env, [cwd])).toBe(join(work, 'bin/tool'));
      }),
    );
  },
);

posixTest('in a home directory, and above it, what is on PATH is the user’s own', () => {
  const { root, home } = setUp();
  const env = { PATH: ['.', '', join(home, 'bin')].join(delimiter), HOME: home };
  for (const cwd of [home, root, '/']) expect(findHelper('tool', env, [cwd])).toBe(join(home, 'bin/tool'));
  expect(findHelper('tool', { ...env, HOME: '/nowhere' }, [home])).toBe(undefined);
});

posixTest('the PATH of an MCP server has no directory that depends on where gmn is started', () => {
  expect(programEnvironment({ PATH: ':.:bin:/a:/b/../c' }, {})).toEqual({ PATH: '/a:/b/../c' });
  // Not empty, which would be the current directory.
  expect(programEnvironment({ PATH: ':.' }, { OWN: 'x' })).toEqual({ OWN: 'x' });
  expect(programEnvironment({ PATH: '.' }, { PATH: './mine' })).toEqual({ PATH: './mine' });
});

posixTest('docs/configuration.md names every variable that a helper gets', () => {
  // Asked for whatever it might want to pass on.
  const all = new Proxy<Record<string, string>>({}, { get: () => '/x', ownKeys: () => ['LC_ALL'] });
  const given = Object.keys(helperEnvironment(all, [])).filter((name) => name !== 'LC_ALL');
  const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  const written = new Set(page.match(/\b[A-Z][A-Z_]+\b/g));
  expect(given.filter((name) => !written.has(name))).toEqual([]);
  expect(given.length).toBeGreaterThan(30);
});
