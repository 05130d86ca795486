import processes, { type ForkOptions } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Most tests call gmn in the process of their worker, whose stdin must be nothing then (test/support/gmn.ts). On Windows Node cannot
 * replace it, and Vitest gives its workers a pipe.
 */
const { fork } = processes;
processes.fork = (path: string | URL, args?: readonly string[] | ForkOptions, options?: ForkOptions) =>
  fork(path, args as readonly string[], { ...options, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
syncBuiltinESMExports();
