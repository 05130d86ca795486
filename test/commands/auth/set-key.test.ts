import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleProgram, type Home, home } from '../../auth/support/home.ts';

let program: Awaited<ReturnType<typeof bundleProgram>>;
beforeAll(async () => {
  program = await bundleProgram('set-key-process');
}, 60_000);
afterAll(() => program.remove());

const KEY = 'AIza-canary-key-0123456789';

function stored(place: Home): string | undefined {
  const path = join(place.gmn, 'key.json');
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

async function pipe(place: Home, input: string, args: readonly string[] = []) {
  const child = spawn(process.execPath, [program.path, ...args], { env: place.env, cwd: place.root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  child.stdin.end(input);
  const exitCode = await new Promise((resolve) => child.on('close', resolve));
  return { exitCode, output };
}

test.for([[[]], [['--stdin']]])('a key that is piped in is stored and not shown (%j)', async ([args], t) => {
  const place = home(t);
  expect(await pipe(place, `${KEY}\n`, args)).toEqual({
    exitCode: 0,
    output: `Stored the API key in ${place.gmn}/key.json, readable by you only.\n`,
  });
  expect(stored(place)).toBe(`{"version":1,"place":"file","key":"${KEY}"}\n`);
});

test.for([
  ['', 'no key was given'],
  ['canary one\ncanary two\n', 'that is not an API key: it has spaces or line breaks in it'],
  ['x'.repeat(20_000), 'that is too long for an API key'],
])('what is no key is refused without being shown', async ([input = '', message], t) => {
  const place = home(t);
  const { exitCode, output } = await pipe(place, input);
  expect([exitCode, output.split('\n')[0]]).toEqual([1, `Error: ${message}`]);
  expect(output).not.toMatch(/canary|xxx/);
  expect(stored(place)).toBeUndefined();
});

test('what is too long is refused at once, though more could come', async (t) => {
  const place = home(t);
  const child = spawn(process.execPath, [program.path], { env: place.env, cwd: place.root });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.on('error', () => {});
  // The pipe stays open: whoever writes to it has not finished.
  child.stdin.write('x'.repeat(20_000));
  expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(1);
  child.stdin.destroy();
});

/** Types at the prompt once it is there; resolves with all that the terminal showed. */
function type(place: Home, keys: string): Promise<{ readonly exitCode: number; readonly output: string }> {
  const terminal = spawnTerminal(process.execPath, [program.path], {
    env: { ...place.env },
    cwd: place.root,
    cols: 200,
  });
  let output = '';
  let isTyped = false;
  terminal.onData((data) => {
    output += data;
    if (isTyped || !output.includes('API key (not shown): ')) return;
    isTyped = true;
    terminal.write(keys);
  });
  return new Promise((resolve) => terminal.onExit(({ exitCode }) => resolve({ exitCode, output })));
}

test('on a terminal the key is asked for and typed unseen; pasting and correcting work', async (t) => {
  const place = home(t);
  const { exitCode, output } = await type(place, `wrong\x15\x1b[200~${KEY}x\x1b[201~\x7f\r`);
  expect([exitCode, output]).toEqual([
    0,
    `API key (not shown): \r\nStored the API key in ${place.gmn}/key.json, readable by you only.\r\n`,
  ]);
  expect(stored(place)).toContain(`"${KEY}"`);
});

test.for([
  ['Ctrl-C', '\x03', 130],
  ['Ctrl-D', '\x04', 1],
])('%s at the prompt stores nothing', async ([, keys, expected], t) => {
  const place = home(t);
  const { exitCode } = await type(place, `${KEY}${keys}`);
  expect([exitCode, stored(place)]).toEqual([expected, undefined]);
});
