import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { answer, loopback } from '../api/loopback.ts';
import { bundledProgram } from '../support/asking.ts';

test('after a long answer the young generation stays as large as it is, after a short one it may grow', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-young-'));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const program = await bundledProgram(directory, 'receiving-program');
  const sizes = [1024 * 1024 - 1, 1024 * 1024];
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
    const { received, before, after } = JSON.parse(stdout);
    growth.push({ exitCode, stderr, received, grows: after > before });
  }
  expect(growth).toEqual([
    { exitCode: 0, stderr: '', received: sizes[0], grows: true },
    { exitCode: 0, stderr: '', received: sizes[1], grows: false },
  ]);
});
