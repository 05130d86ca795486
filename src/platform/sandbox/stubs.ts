import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { filterStrings, toJsonObject, tryParseJson } from '../../core/json.ts';
import { contains } from '../../core/text/path.ts';
import { checkProcess, identifySelf, type ProcessIdentity, tryParseProcessIdentity } from '../process/identity.ts';
import { randomId } from '../runtime/random-id.ts';

/**
 * A name is kept from being given inside a sandbox by a mount, which needs something to lie on: so a directory is made in its place, outside, for
 * as long as commands run. Empty directories mean nothing to git and to most other programs, and only an empty one can be removed.
 */
export interface Stubs {
  /**
   * Makes those that are missing. They are removed when everybody who holds them, in other processes too, has let go. While they are listed,
   * nobody removes any in these roots.
   */
  hold(listPaths: () => readonly string[]): () => void;
  /** What was made so, by any process, if nobody has put anything in it. */
  list(): readonly string[];
  isHeld(): boolean;
  /** Lets go of all. */
  close(): void;
}

interface StubRecord {
  readonly file: string;
  /** Whether its process still needs what was made in its roots. */
  readonly isHeld: boolean;
  readonly roots: readonly string[];
  readonly made: readonly string[];
}

/** `directory` is where all processes of the user write down what they made, so that nothing is left over by one that was killed. */
export function createStubs(directory: string, roots: readonly string[]): Stubs {
  const id = randomId();
  const own = join(directory, `${id}.json`);
  let made: readonly string[] = [];
  let holders = 0;
  const write = (isHeld: boolean): void => {
    writeFileSync(`${own}.tmp`, JSON.stringify({ owner: identifySelf(), isHeld, roots, made }), { mode: 0o600 });
    renameSync(`${own}.tmp`, own);
  };
  const letGo = (): void => {
    if (holders === 0) return;
    holders = 0;
    attempt(() => write(false));
    sweep(directory, id);
  };
  return {
    hold(listPaths) {
      if (holders === 0) {
        attempt(() => mkdirSync(directory, { recursive: true, mode: 0o700 }));
        sweep(directory, id);
        // What others held when this one let go is still its own.
        if (!existsSync(own)) made = [];
        // From here on nobody removes what lies in these roots, but those that did not see this.
        attempt(() => write(true));
        waitForSweeps(directory);
      }
      const missing = listPaths().filter((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined);
      made = [...made, ...missing.filter((path) => !made.includes(path))];
      // Written down first: then a process that is killed leaves nothing that nobody knows of. Without that, nothing is made.
      const isKnown = (holders > 0 && missing.length === 0) || attempt(() => write(true));
      if (isKnown) for (const path of missing) attempt(() => mkdirSync(path));
      holders += 1;
      let isHeld = true;
      return () => {
        if (isHeld && holders > 1) holders -= 1;
        else if (isHeld) letGo();
        isHeld = false;
      };
    },
    list: () => readRecords(directory).flatMap(({ made: paths }) => paths.filter(isEmptyDirectory)),
    isHeld: () => holders > 0,
    close: letGo,
  };
}

/**
 * Removes what nobody holds any more. It is announced first, and looks then; who takes hold says so first, and then waits for sweeps: so
 * none removes what another process found in its place.
 */
function sweep(directory: string, id: string): void {
  const announcement = join(directory, `${id}.sweep`);
  if (!attempt(() => writeFileSync(announcement, JSON.stringify(identifySelf()), { mode: 0o600 }))) return;
  const records = readRecords(directory);
  const held = records.filter(({ isHeld }) => isHeld).flatMap(({ roots }) => roots);
  for (const { file, made } of records.filter(({ isHeld }) => !isHeld)) {
    const free = made.filter((path) => !held.some((root) => contains(root, path)));
    // A command may have taken the right to write there; the next sweep may have it again.
    const left = free.filter((path) => !attempt(() => rmdirSync(path)) && isEmptyDirectory(path));
    if (free.length === made.length && left.length === 0) attempt(() => unlinkSync(file));
  }
  attempt(() => unlinkSync(announcement));
}

/** A sweep takes a few milliseconds; one that takes this long was stopped, or its process ended on another machine. */
const MAX_SWEEP_MS = 2000;

function waitForSweeps(directory: string): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let left = MAX_SWEEP_MS; left >= 0; left -= 1) {
    const announcements = listRecordFiles(directory, '.sweep');
    if (announcements.length === 0) return;
    for (const file of announcements) {
      let owner: ProcessIdentity | undefined;
      if (!attempt(() => (owner = tryParseProcessIdentity(tryParseJson(readFileSync(file, 'utf8')))))) continue;
      // One that is being written has no owner yet.
      if (left === 0 || (owner !== undefined && checkProcess(owner) === 'gone')) attempt(() => unlinkSync(file));
    }
    Atomics.wait(cell, 0, 0, 1);
  }
}

function readRecords(directory: string): readonly StubRecord[] {
  const records: StubRecord[] = [];
  for (const file of listRecordFiles(directory, '.json')) {
    attempt(() => {
      const { owner, isHeld, roots, made } = toJsonObject(tryParseJson(readFileSync(file, 'utf8')));
      const process = tryParseProcessIdentity(owner);
      if (process === undefined) return;
      const isAlive = checkProcess(process) !== 'gone';
      records.push({
        file,
        isHeld: isHeld === true && isAlive,
        roots: filterStrings(roots),
        made: filterStrings(made),
      });
    });
  }
  return records;
}

function isEmptyDirectory(path: string): boolean {
  return attempt(() => readdirSync(path).length === 0);
}

function listRecordFiles(directory: string, ending: string): readonly string[] {
  let names: readonly string[] = [];
  attempt(() => (names = readdirSync(directory)));
  return names.filter((name) => name.endsWith(ending)).map((name) => join(directory, name));
}

/** Whether it worked: what cannot be made, or is not empty, stays as it is. */
function attempt(work: () => unknown): boolean {
  try {
    return work() !== false;
  } catch {
    return false;
  }
}
