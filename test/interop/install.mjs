import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * Installs the programs of a folder's lock file, this one's unless given, into a cache outside the tree, once, and returns
 * that directory. Throws if they cannot be had.
 */
export function installPeers(folder = here) {
  const lock = readFileSync(join(folder, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const base = process.env.XDG_CACHE_HOME || (homedir() ? join(homedir(), '.cache') : tmpdir());
  const done = join(base, `gmn-interop-${hash}`);
  if (existsSync(done)) return done;
  mkdirSync(base, { recursive: true });
  const staging = mkdtempSync(`${done}.`);
  try {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(folder, name), join(staging, name));
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
    const npm = process.env.npm_execpath;
    const result = npm
      ? spawnSync(process.execPath, [npm, ...args], { cwd: staging, encoding: 'utf8' })
      : spawnSync('npm', args, { cwd: staging, encoding: 'utf8', shell: process.platform === 'win32' });
    if (result.status !== 0) throw new Error(`npm ci failed: ${(result.stderr || String(result.error)).trim()}`);
    renameSync(staging, done);
  } catch (thrown) {
    rmSync(staging, { recursive: true, force: true });
    if (!existsSync(done)) throw thrown;
  }
  return done;
}
