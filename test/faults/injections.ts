import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Scene } from './scene.ts';

const hasNamespaces = process.platform === 'linux' && spawnSync('unshare', ['-rmn', 'true']).status === 0;

/** For `Variant.skip`. */
export function needsNamespaces(): string | undefined {
  return hasNamespaces ? undefined : 'unshare cannot make user, mount and network namespaces here';
}

/** A command to run under, with these files in the place of others; `isOffline`: in a network of its own, without any line. */
export function withFiles(
  { root }: Scene,
  files: Readonly<Record<string, string>>,
  { isOffline = false } = {},
): readonly string[] {
  const binds = Object.entries(files).map(([path, content], index) => {
    const copy = join(root, `bound-${index}`);
    writeFileSync(copy, content);
    return `mount --bind '${copy}' '${path}'`;
  });
  const script = [...binds, 'exec "$@"'].join(' && ');
  return ['unshare', isOffline ? '-rmn' : '-rm', 'sh', '-c', script, 'sh'];
}

const DEAF =
  "const s=require('net').createServer();s.listen({port:0,host:'127.0.0.1',backlog:1},()=>{" +
  "require('fs').writeSync(1,String(s.address().port)+'\\n');Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)})";

/** A port of 127.0.0.1 where connections are neither taken nor refused. */
export async function blackHole({ t, env }: Scene): Promise<number> {
  const child = spawn(process.execPath, ['-e', DEAF], { env: { PATH: env.PATH }, stdio: ['ignore', 'pipe', 'ignore'] });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const port = Number(line);
  // The system keeps a few for a program that does not accept them; from then on it is silent.
  const sockets: Socket[] = [];
  for (let count = 0; count < 8; count += 1) sockets.push(connect(port, '127.0.0.1').on('error', () => {}));
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.slice(0, 2).map((socket) => once(socket, 'connect')));
  return port;
}

/** A module that shifts the clock of a run, for NODE_OPTIONS. */
export function shiftedClock({ root }: Scene, hours: number): string {
  const path = join(root, 'clock.cjs');
  writeFileSync(path, `const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};\n`);
  return `--require=${path}`;
}

/** A module that lets the clock of a run go so many times faster; its timers keep their time. */
export function fastClock({ root }: Scene, times: number): string {
  const path = join(root, 'clock.cjs');
  writeFileSync(
    path,
    `const now = Date.now; const start = now(); Date.now = () => start + (now() - start) * ${times};\n`,
  );
  return `--require=${path}`;
}
