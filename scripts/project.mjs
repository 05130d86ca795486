import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Shows the command's output; exits with its exit code if it fails. */
export function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    ...options,
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** npm is a script on Windows, so its own JavaScript is run if it is known. */
export function npm(args) {
  const script = process.env.npm_execpath;
  if (script) run(process.execPath, [script, ...args]);
  else run('npm', args, { shell: process.platform === 'win32' });
}

/** Installs what the lock file names, unless that has been done since it last changed. */
export function ensureInstalled() {
  const marker = join(root, 'node_modules', '.package-lock.json');
  const lock = join(root, 'package-lock.json');
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(lock).mtimeMs) return;
  npm(['ci', '--no-audit', '--no-fund']);
}

export function tool(name, args) {
  run(process.execPath, [join(root, 'node_modules', ...name.split('/')), ...args]);
}
