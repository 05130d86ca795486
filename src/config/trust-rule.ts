import { isAbsolute, relative, sep } from 'node:path';

/** Somebody's word on a folder and all folders in it. */
export interface TrustRule {
  /** Absolute, and free of links as far as it exists. */
  readonly path: string;
  readonly isTrusted: boolean;
  /** The file that says so. */
  readonly file: string;
}

/** Whether `path` is `folder` or lies in it. Both absolute and free of links; `/a/bc` does not lie in `/a/b`. */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The rule for the nearest folder; of two for the same folder the later one. Undefined if none is about `path`. */
export function nearestRule(rules: readonly TrustRule[], path: string): TrustRule | undefined {
  let nearest: TrustRule | undefined;
  for (const rule of rules) {
    if (!contains(rule.path, path)) continue;
    if (nearest === undefined || contains(nearest.path, rule.path)) nearest = rule;
  }
  return nearest;
}
