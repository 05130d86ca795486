import { contains } from './path.ts';

/** A directory as people write it: the home as `~`. Without a home, as it is. */
export function shortPath(path: string, home: string | undefined): string {
  return home && contains(home, path) ? `~${path.slice(home.replace(/[/\\]$/, '').length)}` : path;
}
