import { isAbsolute, relative, sep } from 'node:path';

/** Whether `path` is `folder` or lies in it, by name alone: `/a/bc` does not lie in `/a/b`. Both absolute and free of links; what is not absolute lies nowhere. */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return isAbsolute(path) && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
