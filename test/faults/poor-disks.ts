import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gmnCommand } from '../support/gmn.ts';
import type { Scene } from './scene.ts';

/** Nobody, of nothing. */
const STRANGER = 65_534;
const AS_STRANGER = ['setpriv', `--reuid=${STRANGER}`, `--regid=${STRANGER}`, '--clear-groups'] as const;

/** Whether a command works here; it is tried once, when somebody asks. */
function trial(...command: readonly [string, ...string[]]): () => boolean {
  let works: boolean | undefined;
  const [program, ...args] = command;
  return () => (works ??= process.platform === 'linux' && spawnSync(program, args).status === 0);
}

const hasMounts = trial('unshare', '-rm', 'true');
const hasStrace = trial('strace', '-V');
const hasStranger = trial(...AS_STRANGER, ...gmnCommand(['-v']).flat());

/** For `Variant.skip`. */
export function needsMounts(): string | undefined {
  return hasMounts() ? undefined : 'unshare cannot make a mount namespace here';
}

/** For `Variant.skip`. */
export function needsStrace(): string | undefined {
  return hasStrace() ? undefined : 'there is no strace here';
}

/** For `Variant.skip`: root is denied nothing, so that somebody else must run it. */
export function needsStranger(): string | undefined {
  const isThere = process.getuid?.() === 0 && hasStranger();
  return isThere ? undefined : 'only root can run a program as another user, and only with setpriv';
}

interface Disk {
  /** What becomes a disk of its own, with all that is in it. */
  readonly directory: string;
  /** As tmpfs takes it, e.g. `size=64k`. */
  readonly limits: string;
}

/** A command to run under, with a small disk in a place; what was on it at the end is then in `copied`. */
export function onSmallDisk({ root }: Scene, { directory, limits }: Disk): readonly string[] {
  const script =
    'cp -a "$1/." "$2/before" && mount -t tmpfs -o "$3,mode=700" none "$1" && cp -a "$2/before/." "$1/" && cd "$PWD" &&' +
    ' directory=$1 copy=$2 && rm -r "$2/before" && shift 3 && "$@"; code=$?; cp -a "$directory/." "$copy"; rm -f "$copy/key.json"; exit $code';
  mkdirSync(join(root, 'copied', 'before'), { recursive: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return ['unshare', '-rm', 'sh', '-c', script, 'sh', directory, copied({ root }), limits];
}

/** Where the small disk's files are after the run. */
export function copied({ root }: Pick<Scene, 'root'>): string {
  return join(root, 'copied');
}

/** A command to run under, with these directories read-only. */
export function readOnly(...directories: readonly string[]): readonly string[] {
  const binds = directories.map((path) => `mount --bind '${path}' '${path}' && mount -o remount,ro,bind '${path}' && `);
  return ['unshare', '-rm', 'sh', '-c', `${binds.join('')}cd "$PWD" && exec "$@"`, 'sh'];
}

/** A command to run under, with limits of the shell, e.g. `-f 8`. */
export function limited(...limits: readonly string[]): readonly string[] {
  return ['sh', '-c', `${limits.map((limit) => `ulimit ${limit} && `).join('')}exec "$@"`, 'sh'];
}

/** A command to run under, in which these system calls fail. */
export function failing(calls: string, how: string, paths: readonly string[] = []): readonly string[] {
  const only = paths.flatMap((path) => ['-P', path]);
  return ['strace', '-f', '-qq', '-o', '/dev/null', ...only, '-e', `trace=${calls}`, '-e', `inject=${calls}:${how}`];
}

/** A command to run under as somebody who owns this scene and nothing else. */
export function asStranger({ root }: Scene): readonly string[] {
  for (const path of ['', ...readdirSync(root, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(root, path), STRANGER, STRANGER);
  }
  return AS_STRANGER;
}
