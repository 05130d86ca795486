// The results of runs as they are kept: docs/dev/results/bench-<date>-seed<n>.json.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';

const directory = join(root, 'docs', 'dev', 'results');
const WHOLE_RUN = /^bench-(\d{4}-\d\d-\d\d)-seed(\d+)\.json$/;

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

/** The whole runs of the newest day that has any with verdicts, in the order of their seeds, each with its file's `name`. */
export function newestResults() {
  const runs = readdirSync(directory)
    .filter((name) => WHOLE_RUN.test(name))
    .map((name) => ({ name, ...JSON.parse(readFileSync(join(directory, name), 'utf8')) }))
    .filter(({ verdicts }) => verdicts !== undefined)
    .sort((left, right) => left.seed - right.seed);
  const newest = runs
    .map(({ date }) => date)
    .sort()
    .at(-1);
  return runs.filter(({ date }) => date === newest);
}
