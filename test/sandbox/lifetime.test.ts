import { spawn } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
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

const ROUNDS = 40;
const NEVER = new AbortController().signal;

/** As a tool of a run starts it. */
function startIn(confine: Parameters<typeof runShell>[0]['confine'], command: string, cwd = WORK) {
  const shell = chooseShell('/bin/sh', ENV);
  return runShell({ shell, command, cwd, env: ENV, confine, timeoutMs: 100_000, maxChars: 100_000 }, NEVER);
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
});

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

/** Puts a link to what is outside in the place of a directory, and the directory back, as fast as it can. */
function swap(directory: string, target: string, rounds: number): void {
  for (let round = 0; round < rounds; round += 1) {
    renameSync(directory, `${directory}.away`);
    symlinkSync(target, directory);
    unlinkSync(directory);
    renameSync(`${directory}.away`, directory);
  }
}

test('a workspace that is swapped for a link during the start gives away nothing outside', async () => {
  const place = join(PLACE, 'swapped');
  mkdirSync(place);
  writeFileSync(join(place, 'a.txt'), 'a');
  const sandbox = await openOwnSandbox([place]);
  let hasBegun = 0;
  let refused = 0;
  const targets = ['../home/.ssh', join(HOME, '.ssh'), '../outside', OUTSIDE];
  for (let round = 0; round < ROUNDS; round += 1) {
    // In between, the event loop runs: starts, mounts and swaps take turns.
    const swapping = (async () => {
      for (let step = 0; step < 40; step += 1) {
        swap(place, targets[round % targets.length] ?? OUTSIDE, 20);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const command = `cat "${place}"/id_*; echo x > "${place}/planted"; echo x > "${OUTSIDE}/planted"`;
    const [result] = await Promise.all([startIn(sandbox.confine, command, place).catch(() => undefined), swapping]);
    if (result === undefined || result.exitCode === 126) refused += 1;
    else hasBegun += 1;
    expect(result?.head ?? '').not.toContain(SECRET);
    for (const directory of [OUTSIDE, join(HOME, '.ssh')]) expect(readdirSync(directory)).not.toContain('planted');
  }
  // Some of them hit the moment, and some did not.
  expect(hasBegun + refused).toBe(ROUNDS);
  await sandbox.close();
});

test('a command in the background that swaps what is protected gives the next one nothing', async () => {
  const sandbox = await openOwnSandbox();
  const background = startIn(
    sandbox.confine,
    `end=$(($(date +%s) + 5)); while [ "$(date +%s)" -lt "$end" ]; do
       mkdir -p .husky; rmdir .husky; ln -s ../home/.ssh .husky; rm .husky; ln -s "${OUTSIDE}" .husky; rm -f .husky; done 2>/dev/null`,
  );
  for (let round = 0; round < 20; round += 1) {
    const result = await startIn(sandbox.confine, 'cat .husky/* ; echo x > .husky/planted').catch(() => undefined);
    expect(result?.head ?? '').not.toContain(SECRET);
    expect(readdirSync(OUTSIDE)).not.toContain('planted');
  }
  await background;
  await sandbox.close();
  rmSync(join(WORK, '.husky'), { recursive: true, force: true });
});
