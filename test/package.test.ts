import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const json = (name: string) => JSON.parse(readFileSync(`${ROOT}/${name}`, 'utf8'));

test('nothing runs when gmn is installed, and nothing comes along but what is bundled', () => {
  const { scripts, dependencies, optionalDependencies, peerDependencies, devDependencies } = json('package.json');
  expect(Object.keys(scripts).filter((name) => /install|^prepare$|^(?:pre|post)uninstall$/.test(name))).toEqual([]);
  expect([dependencies, peerDependencies, Object.keys(optionalDependencies)]).toEqual([
    undefined,
    undefined,
    ['@napi-rs/keyring'],
  ]);
  const versions = Object.values<string>({ ...devDependencies, ...optionalDependencies });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

type Packages = Record<string, { readonly resolved?: string; readonly optionalDependencies?: Record<string, string> }>;

test('every lock file has the packages of all systems, and no address', () => {
  const files = ['.', 'scripts', 'test']
    .flatMap((folder) =>
      readdirSync(`${ROOT}/${folder}`, { recursive: folder !== '.' }).map((name) => `${folder}/${name}`),
    )
    .filter((name) => /(?:^|[\\/])package-lock\.json$/.test(name) && !name.includes('node_modules'));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    const packages: Packages = json(file).packages;
    const places = Object.keys(packages);
    // `npm ci` refuses a lock file that lacks one, on every system.
    const missing = Object.values(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !places.some((place) => place.endsWith(`node_modules/${name}`)));
    expect([file, missing]).toEqual([file, []]);
    expect([file, places.filter((place) => packages[place]?.resolved !== undefined)]).toEqual([file, []]);
  }
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
