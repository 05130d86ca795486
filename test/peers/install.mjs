import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * Installs the packages of a folder beside this file, by the lock file that they share, into a cache outside the tree, once,
 * and returns that directory. Throws if they cannot be had.
 */
export function installPeers(folder) {
  const lock = readFileSync(join(here, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const base = process.env.XDG_CACHE_HOME || (homedir() ? join(homedir(), '.cache') : tmpdir());
  const done = join(base, `gmn-${folder}-${hash}`);
  if (existsSync(done)) return done;
  mkdirSync(base, { recursive: true });
  const staging = mkdtempSync(`${done}.`);
  try {
    cpSync(here, staging, { recursive: true, filter: (path) => basename(path) !== 'node_modules' });
    const args = ['ci', '--workspace', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
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

/** The same for a suite that is nothing without them: says that `what` cannot be installed, and ends the process. */
export function requirePeers(folder, what, { isSkipAllowed }) {
  try {
    return installPeers(folder);
  } catch (thrown) {
    console.log(`skipped: ${what} cannot be installed (${thrown.message})`);
    process.exit(isSkipAllowed ? 0 : 1);
  }
}

export function peerVersion(name) {
  return JSON.parse(readFileSync(join(here, 'package-lock.json'), 'utf8')).packages[`node_modules/${name}`].version;
}
