import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { place } from '../support/gmn.ts';
import { isWindows } from '../support/posix.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_BYTES = 1_500_000;

/** npm as somebody who installs has it: nothing of ours in its settings, and no network. */
function npm(args: readonly string[], cwd: string): string {
  const env = { PATH: process.env.PATH, HOME: cwd, npm_config_cache: join(cwd, 'cache'), npm_config_offline: 'true' };
  return execFileSync('npm', [...args, '--no-audit', '--no-fund'], { cwd, env, encoding: 'utf8', stdio: 'pipe' });
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

// npm is a script on Windows, which no program can start by its name.
describe.skipIf(isWindows)('the package', { timeout: 120_000 }, () => {
  let root = '';
  let packed: Packed = { filename: '', size: 0, files: [] };

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'gmn-package-'));
    // The build is there, and must not be made anew while other tests use it.
    [packed = packed] = JSON.parse(npm(['pack', PROJECT, '--ignore-scripts', '--json'], root));
    return () => rmSync(root, { recursive: true, force: true });
  }, 120_000);

  test('is small, and has the program, its notices and documents, and no sources', () => {
    expect(packed.size).toBeLessThan(MAX_BYTES);
    const paths = packed.files.map(({ path }) => path);
    const others = paths.filter(
      (path) =>
        !/^dist\/(?:[\w-]+\.js|(?:text|search)-worker-\w+\.cjs)$|^dist\/(?:help|short-help|completion)\//.test(path),
    );
    expect(others.toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin/gmn.js',
      'dist/THIRD_PARTY_NOTICES.txt',
      'dist/chunks.mjs',
      'dist/demo.d.mts',
      'dist/demo.mjs',
      'dist/gmn.1',
      'dist/gmn.d.mts',
      'dist/gmn.mjs',
      'dist/help.json',
      'docs/schemas/batch.schema.json',
      'docs/schemas/decide.schema.json',
      'docs/schemas/help.schema.json',
      'docs/schemas/json.schema.json',
      'docs/schemas/process-input.schema.json',
      'docs/schemas/session-export.schema.json',
      'docs/schemas/stream-json.schema.json',
      'package.json',
    ]);
  });

  test('is installed offline into an empty place as one package without scripts, and answers', (t) => {
    const prefix = join(root, 'prefix');
    expect(npm(['install', '--global', '--prefix', prefix, join(root, packed.filename)], root)).toContain(
      'added 1 package',
    );
    const modules = join(prefix, 'lib', 'node_modules');
    expect(readdirSync(modules)).toEqual(['gmn']);
    const manifest = JSON.parse(readFileSync(join(modules, 'gmn', 'package.json'), 'utf8'));
    expect(manifest).not.toHaveProperty('dependencies');
    expect(Object.keys(manifest.scripts).filter((name) => /install/.test(name))).toEqual([]);
    const { cwd, env } = place(t);
    const ran = spawnSync(join(prefix, 'bin', 'gmn'), ['--demo', 'Hello'], { cwd, env, encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 0, stdout: 'Hello! How can I help you today?\n', stderr: '' });
    expect(readFileSync(join(prefix, 'share', 'man', 'man1', 'gmn.1'), 'utf8')).toMatch(/^\.TH GMN 1 /);
  });

  test('has the licence of every library that is in it', () => {
    const notices = readFileSync(join(PROJECT, 'dist', 'THIRD_PARTY_NOTICES.txt'), 'utf8');
    const sources: Readonly<Record<string, readonly string[]>> = JSON.parse(
      readFileSync(join(PROJECT, 'dist', 'chunks.json'), 'utf8'),
    );
    const names = Object.values(sources).flatMap((files) =>
      files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
    );
    // The build takes the prices over: no chunk names that package.
    names.push('@pydantic/genai-prices');
    const sections = notices.split(/^-{80}$/m).map((text) => text.trim());
    for (const name of new Set(names)) {
      const section = sections.find((text) => new RegExp(`^${name} \\d`, 'm').test(text));
      expect(section, name).toMatch(
        /Permission is hereby granted|Permission to use, copy, modify|Redistribution and use|Apache License/,
      );
    }
    expect(sections.length).toBe(new Set(names).size);
  });
});
