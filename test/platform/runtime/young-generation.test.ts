import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { answer, loopback } from '../../api/loopback.ts';
import { bundledProgram } from '../../support/asking.ts';

const MEBIBYTE = 1024 * 1024;

// Where it grows it comes to 32 MiB, where it does not to 2: how busy the machine is changes neither.
test('after a long answer the young generation stays small, after a short one it may grow', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-young-'));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const program = await bundledProgram(directory, 'receiving-program');
  const sizes = [MEBIBYTE - 1, MEBIBYTE];
  const server = await loopback(
    t,
    sizes.map((size) => answer(200, 'x'.repeat(size))),
  );
  const growth: unknown[] = [];
  for (const _ of sizes) {
    const child = spawn(process.execPath, [program, server.url.href], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    const { received, youngBytes } = JSON.parse(stdout);
    growth.push({ exitCode, stderr, received, isLarge: youngBytes > 16 * MEBIBYTE });
  }
  expect(growth).toEqual([
    { exitCode: 0, stderr: '', received: sizes[0], isLarge: true },
    { exitCode: 0, stderr: '', received: sizes[1], isLarge: false },
  ]);
});
