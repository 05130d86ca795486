import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const json = (name: string) => JSON.parse(readFileSync(`${ROOT}/${name}`, 'utf8'));

test('nothing runs when the package is installed, and nothing comes along but what is bundled', () => {
  const { scripts, dependencies, optionalDependencies, peerDependencies, devDependencies } = json('package.json');
  // npm runs `prepare` for a clone and a git address, never for a package from the registry.
  expect(Object.keys(scripts).filter((name) => /install/.test(name))).toEqual([]);
  expect([dependencies, peerDependencies, Object.keys(optionalDependencies)]).toEqual([
    undefined,
    undefined,
    ['@napi-rs/keyring'],
  ]);
  const versions = Object.values<string>({ ...devDependencies, ...optionalDependencies });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

test('the reason why every library is a devDependency stands where people look for it', () => {
  expect(json('package.json')['//']).toMatch(/bundled into dist\//);
  for (const page of ['README.md', 'docs/CONTRIBUTING.md']) {
    const text = readFileSync(`${ROOT}/${page}`, 'utf8');
    expect([page, /`devDependencies`[^.]*bundled/.test(text.replaceAll('\n', ' '))]).toEqual([page, true]);
  }
});

test('the page about libraries has each of them, in its version', () => {
  const page = readFileSync(`${ROOT}/docs/dev/decisions/0001-libraries-and-versions.md`, 'utf8');
  const { devDependencies, optionalDependencies } = json('package.json');
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const stated = new Map(
    rows.flatMap((row) => {
      const [names = [], versions = []] = row
        .slice(2)
        .split(' | ')
        .map((cell) => cell.split(', '));
      return names.map((name, index) => [name, versions[index]] as const);
    }),
  );
  const wrong = Object.entries<string>({ ...devDependencies, ...optionalDependencies })
    .filter(([name]) => !name.startsWith('@types/'))
    .filter(([name, version]) => !`${version}.`.startsWith(`${stated.get(name)}.`));
  expect(wrong).toEqual([]);
});

test('a build in a fresh clone installs the libraries; npm i -g . there says what to run first', (t) => {
  const { scripts } = json('package.json');
  for (const name of ['build', 'build:binary', 'prepare']) expect(scripts[name]).toMatch(/--import .*installed\.mjs /);
  const clone = mkdtempSync(join(tmpdir(), 'gmn-clone-'));
  t.onTestFinished(() => rmSync(clone, { recursive: true }));
  for (const name of ['installed.mjs', 'project.mjs']) cpSync(`${ROOT}/scripts/${name}`, `${clone}/scripts/${name}`);
  writeFileSync(`${clone}/package-lock.json`, '{}');
  writeFileSync(`${clone}/npm.mjs`, 'console.log("npm", ...process.argv.slice(2));');
  const load = (event: string) =>
    spawnSync(process.execPath, ['--import', './scripts/installed.mjs', '-e', 'console.log("built")'], {
      cwd: clone,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, npm_lifecycle_event: event, npm_execpath: `${clone}/npm.mjs` },
    });
  expect(load('prepare')).toMatchObject({
    status: 1,
    stdout: '',
    stderr: 'gmn is not built yet, and its libraries are not installed. Run first: npm run build\n',
  });
  expect(load('build')).toMatchObject({ status: 0, stdout: 'npm ci --no-audit --no-fund\nbuilt\n' });
});

test('what is there for developers only stays out of the package', () => {
  expect(json('package.json').files).toEqual(expect.arrayContaining(['!dist/chunks.json', '!dist/*.map']));
});

type Packages = Record<
  string,
  { readonly resolved?: string; readonly link?: boolean; readonly optionalDependencies?: Record<string, string> }
>;

test('every lock file has the packages of all systems, and no address', () => {
  const files = ['.', 'scripts', 'test']
    .flatMap((folder) =>
      readdirSync(`${ROOT}/${folder}`, { recursive: folder !== '.' }).map((name) => `${folder}/${name}`),
    )
    .filter((name) => /(?:^|[\\/])package-lock\.json$/.test(name) && !name.includes('node_modules'));
  expect(files).toHaveLength(2);
  for (const file of files) {
    const packages: Packages = json(file).packages;
    const places = Object.keys(packages);
    // `npm ci` refuses a lock file that lacks one, on every system.
    const missing = Object.values(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !places.some((place) => place.endsWith(`node_modules/${name}`)));
    expect([file, missing]).toEqual([file, []]);
    expect([
      file,
      places.filter((place) => packages[place]?.link !== true && packages[place]?.resolved !== undefined),
    ]).toEqual([file, []]);
  }
});

test('the workflows install by the lock file, and name every action by its commit', () => {
  const lines = readdirSync(`${ROOT}/.github/workflows`).flatMap((name) =>
    readFileSync(`${ROOT}/.github/workflows/${name}`, 'utf8').split('\n'),
  );
  const actions = lines.filter((line) => /\buses:/.test(line));
  expect(actions.length).toBeGreaterThan(5);
  expect(actions.filter((line) => !/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  expect(lines.filter((line) => /npm (?:i|install)\b/.test(line))).toEqual([]);
});

describe('the page of the package', () => {
  const page = (...args: readonly string[]) =>
    spawnSync(process.execPath, [`${ROOT}/scripts/package-page.mjs`, ...args], { encoding: 'utf8' });
  const HOME = 'https://github.com/someone/gmn';

  test('links to the repository at its tag, and to nothing beside itself', () => {
    const { stdout, status } = page(HOME, 'v1.2.3');
    const readme = readFileSync(`${ROOT}/README.md`, 'utf8');
    expect([status, stdout.split('\n').length]).toEqual([0, readme.split('\n').length]);
    const targets = [...stdout.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, to]) => to ?? '',
    );
    expect(targets.filter((to) => !/^(?:https:|#)/.test(to))).toEqual([]);
    const own = targets.filter((to) => to.startsWith(HOME));
    expect(own.length).toBeGreaterThan(30);
    for (const to of own) {
      const [, kind, path = ''] = /^\/(blob|raw)\/v1\.2\.3\/([^#]+)/.exec(to.slice(HOME.length)) ?? [];
      expect([to, existsSync(`${ROOT}/${path}`), kind === 'raw']).toEqual([to, true, path.endsWith('.svg')]);
    }
    // Nothing else is changed.
    expect(stdout.replaceAll(/https:\/\/github\.com\/someone\/gmn\/(?:blob|raw)\/v1\.2\.3\//g, '')).toBe(readme);
  });

  test.for([[], ['gmn', 'v1'], [HOME], [HOME, '"v1"']])('is not made for %j', (args) => {
    expect(page(...args)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('Usage:') });
  });
});

test('the program is ASCII, as it is read', () => {
  const files = readdirSync(`${ROOT}/dist`).filter((name) => name.endsWith('.js'));
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((name) => readFileSync(`${ROOT}/dist/${name}`).some((byte) => byte > 0x7f))).toEqual([]);
});

test('the optional dependency, and all that it brings, runs nothing either, and has its digest in the lock file', () => {
  const { packages } = json('package-lock.json');
  const shipped = Object.entries<Record<string, unknown>>(packages).filter(
    ([path, { dev }]) => path !== '' && dev !== true,
  );
  expect(shipped.map(([path]) => path).filter((path) => !path.startsWith('node_modules/@napi-rs/keyring'))).toEqual([]);
  expect(shipped.length).toBeLessThanOrEqual(30);
  expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  const all = Object.entries<Record<string, unknown>>(packages).filter(([path]) => path !== '');
  expect(all.filter(([, { integrity }]) => !/^sha512-/.test(String(integrity))).map(([path]) => path)).toEqual([]);
});
