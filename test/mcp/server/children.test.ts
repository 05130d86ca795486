import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate } from '../../support/gate.ts';
import { call, fakeGemini, reply, type Scripted } from '../../support/gemini.ts';
import { echo, serve, startServing } from './support.ts';

/** Writes its process id, then sleeps. */
const SLOW = call('run_shell_command', { command: 'echo $$ > pid; exec sleep 600' });

async function pidIn(file: string): Promise<number> {
  const said = () => existsSync(file) && readFileSync(file, 'utf8').trim();
  await expect.poll(said, { timeout: 10_000 }).toMatch(/^\d+$/);
  return Number(readFileSync(file, 'utf8'));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.skipIf(process.platform === 'win32')('cancelling a job ends the commands it runs', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, [reply(SLOW)]), flags: ['--allow-shell'] });
  const { job_id } = (await server.call('delegate', { prompt: 'x', mode: 'async' })).structuredContent;
  const pid = await pidIn(join(server.cwd, 'pid'));
  expect((await server.call('delegate_cancel', { job_id })).structuredContent.status).toBe('cancelled');
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
});

test.skipIf(process.platform === 'win32')('a client that leaves ends the commands of its calls', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, [reply(SLOW)]), flags: ['--allow-shell'] });
  void server.call('chat', { prompt: 'x' });
  const pid = await pidIn(join(server.cwd, 'pid'));
  expect(await server.end()).toBe(0);
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
});

test('of a thousand async submissions some are accepted and run, the rest refused, none lost', async (t) => {
  const { open, opened: held } = gate();
  const heldEcho: Scripted = async (response, request) => {
    await held;
    await echo(response, request);
  };
  const gemini = await fakeGemini(t, Array(104).fill(heldEcho));
  const server = await startServing(t, { gemini });
  const results = await Promise.all(
    Array.from({ length: 1000 }, (_, index) => server.call('delegate', { prompt: `${index}`, mode: 'async' })),
  );
  open();
  const taken = results.filter(({ isError }) => !isError).map(({ structuredContent }) => structuredContent.job_id);
  const refused = results.filter(({ isError }) => isError).map(({ structuredContent }) => structuredContent.code);
  expect([taken.length, new Set(taken).size]).toEqual([104, 104]);
  expect(new Set(refused)).toEqual(new Set(['OVERLOADED']));
  const outputs = await Promise.all(
    taken.map(async (job_id) => {
      const { structuredContent } = await server.call('delegate_status', { job_id, wait_ms: 60_000 });
      return structuredContent.output;
    }),
  );
  expect(outputs).toEqual(taken.map((_, index) => `echo: ${index}`));
}, 60_000);
