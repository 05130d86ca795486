import { lstatSync, readFileSync } from 'node:fs';
import { readMounts } from './unshare.ts';

/** In the seventh field; anonymous and abstract sockets have none that begins with a slash. */
const BOUND = /^(?:\S+ +){6}\S+ (\/.*)$/;

/** The paths of unix sockets in the text of /proc/net/unix: https://man7.org/linux/man-pages/man5/proc_net_unix.5.html */
export function parseBoundSockets(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => BOUND.exec(line)?.[1] ?? []);
}

/**
 * A file system that is read-only does not keep anybody from connecting to a socket in it, and behind some there is a way to become root: those of
 * docker, lxd and the like. So all that are there are hidden, wherever they are; also those of other networks that are mounted for themselves, as
 * that of docker often is in a container. Empty where the system does not tell. Never throws.
 */
export function listBoundSockets(): readonly string[] {
  try {
    const mounted = readMounts().filter(({ path }) => lstatSync(path, { throwIfNoEntry: false })?.isSocket());
    return [...parseBoundSockets(readFileSync('/proc/net/unix', 'utf8')), ...mounted.map(({ path }) => path)];
  } catch {
    return [];
  }
}
