/**
 * Attempts to get out of a sandbox: npm run test:sandbox. Every engine of this machine is tried, as the user who runs this and, if that is root,
 * as an ordinary user, too. Installs nothing; says aloud what cannot be tried here.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const gmn = join(root, 'bin/gmn.js');
const isRoot = process.getuid?.() === 0;
/** Ids that belong to nobody on an ordinary machine: no account has to be made, and none is left behind. */
const ORDINARY = { uid: 54_321, gid: 54_321 };
const ENGINES = process.platform === 'darwin' ? ['seatbelt'] : ['bwrap', 'unshare'];

function say(text) {
  process.stdout.write(`${text}\n`);
}

if (process.platform === 'win32') {
  say('SKIPPED: there is no sandbox for Windows.');
  process.exit(0);
}
if (!existsSync(join(root, 'dist'))) {
  say('Build gmn first: npm run build');
  process.exit(1);
}

const users = isRoot
  ? [
      { name: 'root', uid: 0, gid: 0 },
      { name: 'an ordinary user', ...ORDINARY },
    ]
  : [{ name: 'this user', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }];
if (!isRoot) say('SKIPPED: not run as root, so only this user is tried, and no set-user-id program can be made.');

let tried = 0;
let failed = 0;
for (const user of users) {
  for (const engine of ENGINES) {
    const place = createPlace(user);
    const env = {
      ...{ PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', HOME: join(place, 'home'), TMPDIR: join(place, 'tmp') },
      ...{ XDG_RUNTIME_DIR: join(place, 'run'), GMN_SANDBOX_TEST: place, GMN_SANDBOX_ENGINE: engine },
    };
    const as = isRoot ? { uid: user.uid, gid: user.gid } : {};
    const start = { env, cwd: join(place, 'work'), ...as };
    const probe = spawnSync(process.execPath, [gmn, 'sandbox', '--engine', engine, '--', 'true'], {
      ...start,
      encoding: 'utf8',
    });
    if (probe.status !== 0) {
      say(`SKIPPED: ${engine} as ${user.name}: ${probe.stderr.split('\n')[0]}`);
    } else {
      say(`\n${engine} as ${user.name}`);
      tried += 1;
      const vitest = join(root, 'node_modules/vitest/vitest.mjs');
      // The loader writes no file beside the configuration, where another user may not.
      const config = ['--configLoader', 'runner', '--config', join(root, 'test/sandbox/vitest.config.mts')];
      const words = [vitest, 'run', ...config, ...process.argv.slice(2)];
      const { status } = spawnSync(process.execPath, words, { ...start, cwd: root, stdio: 'inherit' });
      if (status !== 0) failed += 1;
    }
    rmSync(place, { recursive: true, force: true });
  }
}
say(
  `\n${tried} of ${users.length * ENGINES.length} tried, ${failed} failed${tried === 0 ? ': SKIPPED, no engine works here (gmn doctor)' : ''}`,
);
process.exit(failed === 0 ? 0 : 1);

/** Not below /tmp or a home, which are hidden as a whole: that something is outside must be what counts. */
function createPlace({ uid, gid }) {
  const place = mkdtempSync(isRoot ? '/opt/gmn-sandbox-' : join(tmpdir(), 'gmn-sandbox-'));
  chmodSync(place, 0o755);
  const own = (path) => {
    if (isRoot) chownSync(path, uid, gid);
    return path;
  };
  for (const name of ['home', 'tmp', 'run', 'work', 'outside']) {
    mkdirSync(join(place, name), { mode: 0o700 });
    own(join(place, name));
  }
  own(place);
  if (isRoot) {
    // A program that runs as somebody else, whoever starts it.
    const program = join(place, 'whoami');
    const owner = uid === 0 ? ORDINARY : { uid: 0, gid: 0 };
    copyFileSync('/usr/bin/id', program);
    chownSync(program, owner.uid, owner.gid);
    chmodSync(program, 0o4755);
  }
  return place;
}
