import { closeSync, openSync, realpathSync } from 'node:fs';
import { devNull } from 'node:os';
import type { TestContext } from 'vitest';
import type { Out } from '../../src/core/io.ts';
import { main } from '../../src/main.ts';
import type { World } from '../../src/platform/app.ts';
import type { SeenRequest } from './gemini.ts';
import {
  type GmnOptions,
  type GmnResult,
  isStandalone,
  openScript,
  type Place,
  place,
  runGmnIn,
  VERSION,
} from './gmn.ts';

const HERE = process.cwd();

let hasNoInput = false;
let calls = 0;

/** As `runGmn`, but in this process, for all that needs no other: the same code from `main` to the last byte, without a start. */
export async function callGmn(
  t: TestContext,
  args: readonly string[],
  given: GmnOptions = {},
): Promise<GmnResult & { readonly requests: readonly SeenRequest[] }> {
  const { options, requests } = await openScript(t, given);
  return { ...(await callGmnIn(t, place(t, options), args, options.stdin)), requests };
}

/**
 * As `runGmnIn`. What is piped in and what is traced go through the descriptors of a process; and the executable is always started, since
 * all has to hold for it, too.
 */
export async function callGmnIn(
  t: TestContext,
  at: Place,
  args: readonly string[],
  stdin?: string | Uint8Array,
): Promise<GmnResult> {
  const isTraced = args.includes('--debug') || 'GMN_DEBUG' in at.env;
  if (isStandalone || isTraced || stdin !== undefined) return runGmnIn(t, at, args, stdin);
  enter(t, at.cwd);
  const end = new AbortController();
  t.onTestFinished(() => end.abort());
  const { world, written } = collectingWorld(end.signal);
  calls += 1;
  const exitCode = await main(args, at.env, VERSION, world).finally(() => (calls -= 1));
  const [stdout = '', stderr = ''] = written.map((pieces) => pieces.join(''));
  return { stdout, stderr, exitCode, signal: null, bytes: Buffer.from(stdout) };
}

/** A process is in one directory at a time; that is enough for tests that run one after the other. */
function enter(t: TestContext, cwd: string): void {
  if (calls > 0 && realpathSync(cwd) !== process.cwd()) throw new Error('concurrent tests have to start a program');
  if (!hasNoInput) {
    // The lowest descriptor that is free is the next to be opened.
    closeSync(0);
    openSync(devNull, 'r');
    hasNoInput = true;
  }
  process.chdir(cwd);
  t.onTestFinished(() => process.chdir(HERE));
}

function collectingWorld(signal: AbortSignal): {
  readonly world: World;
  readonly written: readonly [string[], string[]];
} {
  const written: [string[], string[]] = [[], []];
  const collect = (pieces: string[]): Out => ({
    write: async (chunk) => void pieces.push(chunk),
    isTerminal: false,
    columns: 80,
    isStyled: false,
  });
  const io = { out: collect(written[0]), err: collect(written[1]), expireWrites: () => {}, flush: async () => {} };
  return { world: { openIo: () => io, createInterruptSignal: () => signal }, written };
}
