import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Env } from '../../core/io.ts';
import { contains, toSlashes } from '../../core/text/path.ts';

/** A line ripgrep found: its position, never its text. The text is read by us, through the fence. */
export interface MatchPosition {
  /** Below the start, with slashes. */
  readonly path: string;
  readonly line: number;
  /** Byte offset of the line in the file. */
  readonly offset: number;
  /** Byte column of the match, counted from 1; absent for a context line. */
  readonly column?: number;
}

interface RipgrepRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly maxMs: number;
  /** Consumes the output so far and returns the incomplete rest; undefined to stop ripgrep. */
  readonly take: (printed: Buffer) => Buffer | undefined;
}

interface RipgrepEnd {
  /** Why it was stopped early; undefined if it was not. */
  readonly stopped: 'enough' | 'time' | undefined;
  /** False if ripgrep failed, for example because it does not understand the pattern. */
  readonly isGood: boolean;
}

/**
 * The real path of ripgrep; undefined if there is none. One inside the workspace is ignored: it could be anybody's
 * program.
 */
export function findRipgrep(env: Env, roots: readonly string[]): string | undefined {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  for (const directory of (env.PATH ?? env.Path ?? '').split(delimiter)) {
    if (!isAbsolute(directory)) continue;
    const found = findProgram(join(directory, name));
    if (found !== undefined && !roots.some((root) => contains(root, found) || contains(root, directory))) return found;
  }
  return undefined;
}

function findProgram(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Runs ripgrep to its end, or until `take` has enough. Throws the signal's reason at once and kills the process. */
export function runRipgrep({ program, args, cwd, maxMs, take }: RipgrepRun, signal: AbortSignal): Promise<RipgrepEnd> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let stopped: RipgrepEnd['stopped'];
    let rest: Buffer = Buffer.alloc(0);
    let hasPrinted = false;
    // An empty environment: some variables change what ripgrep does.
    const child = spawn(program, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true });
    const stop = (why: RipgrepEnd['stopped']): void => {
      stopped ??= why;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => stop('time'), maxMs);
    const onAbort = (): void => {
      child.kill('SIGKILL');
      finish();
      reject(signal.reason);
    };
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (stopped !== undefined) return;
      hasPrinted = true;
      const left = take(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]));
      if (left === undefined) stop('enough');
      else rest = left;
    });
    child.on('error', () => {
      finish();
      resolve({ stopped, isGood: false });
    });
    child.on('close', (code) => {
      finish();
      // 1: no match; 2: some files could not be read, or the pattern is invalid.
      resolve({ stopped, isGood: stopped !== undefined || code === 0 || code === 1 || hasPrinted });
    });
  });
}

/** Parses NUL-terminated paths; returns the incomplete rest. */
export function parsePaths(bytes: Buffer, found: string[]): Buffer {
  const end = bytes.lastIndexOf(0);
  if (end === -1) return bytes;
  for (const path of bytes.toString('utf8', 0, end).split('\0')) found.push(toRelative(path));
  return bytes.subarray(end + 1);
}

const HEAD_BYTES = 8192;

/** The first bytes of a file, enough to detect its encoding; links are not followed. Undefined if it cannot be read. */
export function readHead(path: string): Uint8Array | undefined {
  let descriptor: number | undefined;
  try {
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
    descriptor = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!fstatSync(descriptor).isFile()) return undefined;
    const head = Buffer.alloc(HEAD_BYTES);
    return head.subarray(0, readSync(descriptor, head, 0, HEAD_BYTES, 0));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function toRelative(path: string): string {
  return toSlashes(path.startsWith('./') || path.startsWith('.\\') ? path.slice(2) : path);
}

/** Only matches have a column. */
const LINE = /^(\d+)(?::(\d+):(\d+):|-(\d+)-)/;

/** Parses complete lines, `path NUL line:offset:text`; returns the incomplete rest. */
export function parsePositions(bytes: Buffer, found: MatchPosition[]): Buffer {
  let from = 0;
  for (let feed = bytes.indexOf(10, from); feed !== -1; feed = bytes.indexOf(10, from)) {
    // A file name may contain a line feed; the text comes only after the NUL.
    const nul = bytes.indexOf(0, from);
    if (nul === -1) break;
    if (feed < nul) feed = bytes.indexOf(10, nul);
    if (feed === -1) break;
    const [, line, column, place, around] =
      LINE.exec(bytes.toString('latin1', nul + 1, Math.min(feed, nul + 80))) ?? [];
    const path = toRelative(bytes.toString('utf8', from, nul));
    const at = { path, line: Number(line), offset: Number(place ?? around) };
    if (line !== undefined) found.push(column === undefined ? at : { ...at, column: Number(column) });
    from = feed + 1;
  }
  return bytes.subarray(from);
}
