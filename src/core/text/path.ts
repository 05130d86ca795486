import { isAbsolute, relative, sep } from 'node:path';

/** Whether `path` is `folder` or lies in it, by name alone: `/a/bc` does not lie in `/a/b`. Both absolute and free of links; what is not absolute lies nowhere. */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return isAbsolute(path) && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** A directory as people write it: the home as `~`. Without a home, as it is. */
export function shortPath(path: string, home: string | undefined): string {
  return home && contains(home, path) ? `~${path.slice(home.replace(/[/\\]$/, '').length)}` : path;
}
