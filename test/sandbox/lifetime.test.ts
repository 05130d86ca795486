import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { ConfinedStart } from '../../src/core/confine.ts';
import { spawnConfined } from '../../src/platform/process/confine.ts';
import { runShell } from '../../src/platform/process/shell.ts';
import { chooseShell } from '../../src/platform/process/shell-choice.ts';
import {
  ENGINE,
  ENV,
  GMN,
  HOME,
  OUTSIDE,
  openOwnSandbox,
  PLACE,
  runBare,
  runConfined,
  SECRET,
  WORK,
  writeSecrets,
} from './scene.ts';

beforeAll(writeSecrets);

const NEVER = new AbortController().signal;

/** As a tool of a run starts it. */
function startIn(confine: Parameters<typeof runShell>[0]['confine'], command: string, cwd = WORK) {
  const shell = chooseShell('/bin/sh', ENV);
  return runShell({ shell, command, cwd, env: ENV, confine, timeoutMs: 600_000, maxChars: 100_000 }, NEVER);
}

/** Numbers of processes that have this text among their arguments; those of a sandbox are seen from outside. */
function findProcesses(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isSo() && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 20));
}

function listTree(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

test('a killed gmn takes along what was started in the sandbox, even what left its group and its environment', async () => {
  const number = `${process.pid}.25`;
  const command = `sleep ${number} & env -i setsid sleep ${number} & setsid sh -c "trap '' TERM; sleep ${number}" & wait`;
  // Without the sandbox such a process stays.
  await runBare(`env -i setsid sleep ${number} > /dev/null 2>&1 & sleep 0.1`);
  expect(findProcesses(number)).toHaveLength(1);
  for (const pid of findProcesses(number)) process.kill(pid, 'SIGKILL');
  await waitUntil(() => findProcesses(number).length === 0);
  const child = spawn(process.execPath, [GMN, 'sandbox', '--engine', ENGINE, '--', 'sh', '-c', command], {
    cwd: WORK,
    env: ENV,
    stdio: 'ignore',
  });
  await waitUntil(() => findProcesses(number).length >= 3);
  expect(findProcesses(number).length).toBeGreaterThanOrEqual(3);
  child.kill('SIGKILL');
  await waitUntil(() => findProcesses(number).length === 0);
  expect(findProcesses(number)).toEqual([]);
});

test('a command that is stopped, and one that ends, leave nothing running', async () => {
  const sandbox = await openOwnSandbox();
  const number = `${process.pid}.5`;
  const stop = new AbortController();
  const shell = chooseShell('/bin/sh', ENV);
  const run = { shell, cwd: WORK, env: ENV, confine: sandbox.confine, timeoutMs: 100_000, maxChars: 1000 };
  const stopped = runShell({ ...run, command: `env -i setsid sleep ${number} & sleep ${number}` }, stop.signal);
  await waitUntil(() => findProcesses(number).length >= 2);
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  await startIn(sandbox.confine, `env -i setsid sleep ${number} & exit 0`);
  await waitUntil(() => findProcesses(number).length === 0);
  expect(findProcesses(number)).toEqual([]);
  await sandbox.close();
});

test('200 starts at once all work, and none is less confined', async () => {
  const sandbox = await openOwnSandbox();
  const directory = join(WORK, 'many');
  mkdirSync(directory);
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      startIn(
        sandbox.confine,
        `echo ${index} > many/${index}; echo x > "${OUTSIDE}/many-${index}" && echo ESCAPED; cat ~/.ssh/id_ed25519`,
      ),
    ),
  );
  expect(readdirSync(directory)).toHaveLength(200);
  expect(results.filter(({ head }) => head.includes('ESCAPED') || head.includes(SECRET))).toEqual([]);
  expect(readdirSync(OUTSIDE).filter((name) => name.startsWith('many-'))).toEqual([]);
  await sandbox.close();
}, 600_000);

test('nothing is left over: no file in the workspace or beside it, no mount', async () => {
  rmSync(join(WORK, '.git'), { recursive: true });
  await runConfined('true');
  const before = [
    listTree(WORK),
    listTree(OUTSIDE),
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readdirSync(join(PLACE, 'tmp')).filter((name) => name.startsWith('gmn-sandbox')),
  ];
  for (const flags of [[], ['--net', 'a.example'], ['--net', 'all']])
    await runConfined('touch ~/x /tmp/x; mkdir -p ~/.cargo/x', ...flags);
  const after = [
    listTree(WORK),
    listTree(OUTSIDE),
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readdirSync(join(PLACE, 'tmp')).filter((name) => name.startsWith('gmn-sandbox')),
  ];
  expect(after).toEqual(before);
  writeSecrets();
});

/** Runs what was confined before something was swapped: the moment that an attacker has to hit. */
function startLate(start: ConfinedStart): Promise<{ readonly status: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawnConfined(start, ['ignore', 'pipe', 'pipe'], {});
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('close', (status) => resolve({ status, output }));
  });
}

/** Each puts something else in the place of a directory, and says how to put it back. */
const SWAPS: Readonly<Record<string, (directory: string, other: string) => () => void>> = {
  'a link by its whole path': (directory, other) => swapForLink(directory, other),
  'a link by a relative path': (directory, other) => swapForLink(directory, relative(dirname(directory), other)),
  'another directory': (directory, other) => {
    renameSync(directory, `${directory}.away`);
    renameSync(other, directory);
    return () => {
      renameSync(directory, other);
      renameSync(`${directory}.away`, directory);
    };
  },
};

function swapForLink(directory: string, target: string): () => void {
  renameSync(directory, `${directory}.away`);
  symlinkSync(target, directory);
  return () => {
    unlinkSync(directory);
    renameSync(`${directory}.away`, directory);
  };
}

/** With nothing in it that is protected, and would be missed. */
const PLAIN = join(PLACE, 'plain');

const TARGETS = { 'the workspace': PLAIN, 'what is protected in it': join(WORK, '.git') };

for (const [what, directory] of Object.entries(TARGETS)) {
  test.for(Object.entries(SWAPS))(`${what} swapped during the start gives away nothing: %s`, async ([, swap]) => {
    mkdirSync(PLAIN, { recursive: true });
    const sandbox = await openOwnSandbox([directory === PLAIN ? PLAIN : WORK]);
    for (const other of [join(HOME, '.ssh'), OUTSIDE]) {
      const command = `cat "${directory}"/id_*; echo x > "${directory}/planted"; echo x > "${other}/planted"; echo ran`;
      const start = sandbox.confine({ command: '/bin/sh', args: ['-c', command], cwd: '/', env: ENV });
      const putBack = swap(directory, other);
      const { status, output } = await startLate(start);
      putBack();
      expect(output).not.toContain(SECRET);
      expect({ status, hasRun: output.includes('ran') }, output).toEqual({ status: status || 'not 0', hasRun: false });
      expect(readdirSync(other)).not.toContain('planted');
    }
    await sandbox.close();
  });
}

test('nothing is swapped: the same way of starting works', async () => {
  const sandbox = await openOwnSandbox();
  const start = sandbox.confine({ command: '/bin/sh', args: ['-c', 'echo ran'], cwd: WORK, env: ENV });
  expect(await startLate(start)).toEqual({ status: 0, output: 'ran\n' });
  await sandbox.close();
});
