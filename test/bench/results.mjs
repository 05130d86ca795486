// The results of runs as they are kept: docs/dev/results/bench-<date>-seed<n>.json.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';

const directory = join(root, 'docs', 'dev', 'results');
const RUN = /^bench-(?:[a-z-]+-)?(\d{4}-\d\d-\d\d)-seed(\d+)\.json$/;

/** Writes one run down; `only` names its parts if it is not a whole one. Returns the file's name. */
export function keepResult({ only, ...run }) {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${process.platform} ${process.arch}, ${cpus().length} x ${cpus()[0]?.model.trim()}`;
  const name = `bench-${only === undefined ? '' : `${only.join('-')}-`}${date}-seed${run.seed}.json`;
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, name),
    `${JSON.stringify({ date, machine, node: process.version, ...run }, null, 2)}\n`,
  );
  return name;
}

/**
 * The runs of the newest day on which the start was measured, one for each seed, in the order of their seeds, each with its file's
 * `name`. Parts that were run by themselves, then or later, are joined: of two runs of a part, that of fewer parts counts, as it was repeated.
 */
export function newestResults() {
  const runs = readdirSync(directory)
    .filter((name) => RUN.test(name))
    .map((name) => ({ name, ...JSON.parse(readFileSync(join(directory, name), 'utf8')) }))
    .filter(({ verdicts }) => verdicts !== undefined)
    .sort((left, right) => right.verdicts.length - left.verdicts.length);
  const newest = runs
    .filter(({ start }) => start !== undefined)
    .map(({ date }) => date)
    .sort()
    .at(-1);
  const recent = runs.filter(({ date }) => date >= newest);
  const seeds = [...new Set(recent.map(({ seed }) => seed))].sort((left, right) => left - right);
  return seeds.map((seed) => recent.filter((run) => run.seed === seed).reduce(joinRuns));
}

function joinRuns(first, { verdicts, skipped = [], ...run }) {
  // Of the two, only parts are arrays; where and when is said of the first.
  const parts = Object.fromEntries(Object.entries(run).filter(([, value]) => Array.isArray(value)));
  const repeated = new Set(verdicts.map(({ work }) => work));
  const kept = first.verdicts.filter(({ work }) => !repeated.has(work));
  return { ...first, ...parts, verdicts: [...kept, ...verdicts], skipped: [...(first.skipped ?? []), ...skipped] };
}
