import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A server over stdio, spoken to line by line; `errors` is where its stderr goes. Its own requests are not answered. */
export function openLine(args, { cwd, env, errors = 'inherit', onNotification = () => {} }) {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['pipe', 'pipe', errors] });
  const waiting = new Map();
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method !== undefined) return onNotification(params);
    const settle = waiting.get(id);
    waiting.delete(id);
    if (error) settle?.reject(new Error(error.message));
    else settle?.resolve(result);
  });
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
    });
  return {
    ask,
    call: (name, args) => ask('tools/call', { name, arguments: args }),
    async close() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
    kill: () => child.kill(),
  };
}

/** How long it takes, in milliseconds. */
export async function timed(run) {
  const began = performance.now();
  await run();
  return performance.now() - began;
}
