import { isAbsolute, relative, sep } from 'node:path';

/** By name alone: `/a/b` does not contain `/a/bc`. Both must be absolute and free of links. */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return isAbsolute(path) && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export function shortenPath(path: string, home: string | undefined): string {
  return home && contains(home, path) ? `~${path.slice(home.replace(/[/\\]$/, '').length)}` : path;
}

export function toSlashes(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}
