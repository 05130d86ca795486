import { contains } from '../core/text/path.ts';

/** Somebody's word on a folder and all folders in it. */
export interface TrustRule {
  /** Absolute, and free of links as far as it exists. */
  readonly path: string;
  readonly isTrusted: boolean;
  /** The file that says so. */
  readonly file: string;
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
