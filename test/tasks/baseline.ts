import { readFileSync } from 'node:fs';
import type { TaskRun } from './rig.ts';

/** What a run costs: replies of the model, and bytes of what is sent. */
export interface Cost {
  readonly turns: number;
  /** Of one request. */
  readonly system: number;
  readonly tools: number;
  /** Of the last request. */
  readonly contents: number;
  /** Of all requests together. */
  readonly total: number;
}

const FILE = new URL('./baseline.json', import.meta.url);
/** Systems and their shells have names of different lengths. */
const SLACK_BYTES = 16;
const TOLERANCE = 1.01;

export function costOf({ turns, requests }: TaskRun): Cost {
  const last = requests.at(-1);
  return {
    ...{ turns, system: last?.system ?? 0, tools: last?.tools ?? 0, contents: last?.contents ?? 0 },
    total: requests.reduce((sum, { total }) => sum + total, 0),
  };
}

/** What costs more than it did, in words; empty if nothing does. */
export function findGrowth(run: TaskRun): readonly string[] {
  const known = JSON.parse(readFileSync(FILE, 'utf8'))[run.task]?.[run.way];
  if (known === undefined) return ['it is not in baseline.json'];
  return Object.entries(costOf(run)).flatMap(([name, value]) => {
    const most = name === 'turns' ? known[name] : Math.floor(known[name] * TOLERANCE) + SLACK_BYTES;
    return value > most ? [`${name}: ${value} instead of ${known[name]}`] : [];
  });
}
