import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of the user's cache, outside the tree. */
export function cacheDirectory(name) {
  const directory = join(process.env.XDG_CACHE_HOME || join(homedir() || tmpdir(), '.cache'), name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Unpacks a package of npm's registry into a cache, once, and gives the path of one of its files. Throws if it cannot be had. */
export function fetchPackage(cache, spec, file) {
  const directory = join(cache, spec.replace('@', '-'));
  const wanted = join(directory, 'package', file);
  if (!existsSync(wanted)) {
    mkdirSync(directory, { recursive: true });
    requireSuccess(spawnSync('npm', ['pack', '--silent', spec], { cwd: directory, encoding: 'utf8' }));
    const archive = readdirSync(directory).find((name) => name.endsWith('.tgz'));
    requireSuccess(spawnSync('tar', ['xzf', archive], { cwd: directory, encoding: 'utf8' }));
  }
  return wanted;
}

export function requireSuccess({ status, error, stdout, stderr }) {
  if (status !== 0) throw error ?? new Error((stderr || stdout || `ended with ${status}`).trim());
  return stdout;
}
