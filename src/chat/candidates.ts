import type { Candidate, Completion } from './line/source.ts';

/** The candidates that begin with what was typed from `start` on; if none does, those that have it in them. */
export function found(start: number, typed: string, candidates: readonly Candidate[]): Completion {
  const wanted = typed.toLowerCase();
  const beginning = candidates.filter(({ insert }) => insert.toLowerCase().startsWith(wanted));
  const within = candidates.filter(({ insert }) => insert.toLowerCase().includes(wanted.replace(/^\//, '')));
  return { start, candidates: beginning.length > 0 ? beginning : within };
}
