import type { Env } from '../../core/io.ts';
import { toSlashes } from '../../core/text/path.ts';
import { realPath } from '../../platform/files/path.ts';
import { findHelper } from '../../platform/process/program-path.ts';
import { readOutput } from '../../platform/process/run.ts';
import { systemPlatform } from '../../platform/runtime/system.ts';

/** A line ripgrep found: its position, never its text. The text is read by us, through the fence. */
export interface MatchPosition {
  readonly path: string;
  readonly line: number;
  /** In bytes, of the line in the file. */
  readonly offset: number;
  /** In bytes, counted from 1; absent for a context line. */
  readonly column?: number;
}

/** The real path of ripgrep; undefined if there is none outside the workspace. */
export function findRipgrep(env: Env, roots: readonly string[]): string | undefined {
  const found = findHelper(systemPlatform() === 'win32' ? 'rg.exe' : 'rg', env, roots);
  return found === undefined ? undefined : realPath(found);
}

/**
 * Runs ripgrep to its end, or until `take` has enough. `isGood` is false if it failed, for example because it does not
 * understand the pattern. Throws the signal's reason at once.
 */
export async function runRipgrep(
  run: Parameters<typeof readOutput>[0],
  signal: AbortSignal,
): Promise<{ readonly stopped: 'enough' | 'time' | undefined; readonly isGood: boolean }> {
  const { stopped, code, hasPrinted } = await readOutput(run, signal);
  // 1: no match; 2: some files could not be read, or the pattern is invalid.
  return { stopped, isGood: stopped !== undefined || code === 0 || code === 1 || hasPrinted };
}

export function parsePaths(bytes: Buffer, found: string[]): Buffer {
  const end = bytes.lastIndexOf(0);
  if (end === -1) return bytes;
  for (const path of bytes.toString('utf8', 0, end).split('\0')) found.push(toRelative(path));
  return bytes.subarray(end + 1);
}

function toRelative(path: string): string {
  return toSlashes(path.startsWith('./') || path.startsWith('.\\') ? path.slice(2) : path);
}

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
