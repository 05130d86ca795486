import { constants, openSync, writeSync } from 'node:fs';
import { AppError } from '../../core/error.ts';
import type { Clock, Trace } from '../../core/io.ts';
import { redact, redactKnown } from '../../core/text/secrets.ts';
import { resolveWritingTarget } from './writing-target.ts';

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;

/** Redacts `secrets` and what looks like a credential. Throws AppError `usage`; the trace itself never throws. */
export function debugTrace(options: {
  readonly file: string | undefined;
  readonly clock: Clock;
  readonly secrets: ReadonlySet<string>;
}): Trace {
  const { file, clock, secrets } = options;
  const start = clock.now();
  const write = file === undefined ? stderrWriter() : openTraceFile(file, clock.now());
  return (line) => {
    write(`[+${clock.now() - start} ms] ${redact(redactKnown(line, secrets), '‹redacted›')}\n`);
  };
}

function stderrWriter(): (line: string) => void {
  process.stderr.on('error', () => {});
  return (line) => void process.stderr.write(line);
}

function openTraceFile(file: string, now: number): (line: string) => void {
  let descriptor: number | undefined;
  try {
    // Opening a FIFO without a reader must not block.
    descriptor = openSync(resolveWritingTarget(file, process.cwd()), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
    writeSync(descriptor, `${new Date(now).toISOString()} gmn\n`);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('usage', `cannot write the debug file ${file}`, {
      cause,
      hint: 'Give --debug-file a path that can be written.',
    });
  }
  const target = descriptor;
  let isBroken = false;
  return (line) => {
    try {
      if (!isBroken) writeSync(target, line);
    } catch {
      // The disk may be full; the run goes on without a trace.
      isBroken = true;
    }
  };
}
