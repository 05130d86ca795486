import { isCount, isObject, isTooDeep, type JsonObject, tryParseJson } from '../../core/json.ts';
import { isRunId } from '../output/run-file.ts';

const FORMAT = 'gmn-batch-plan';
const VERSION = 1;

/**
 * - `planned`: its files are on disk here.
 * - `uploaded`: the service has the file of its requests.
 * - `creating`: its job is about to be created. After a crash, only the service knows whether it was.
 * - `created`: the service works on `job`, or has ended it.
 * - `cancelled`: another program cancelled the job; the next run asks again.
 * - `collected`: all its rows are in the output or in another shard; what is left at the service is to be deleted.
 */
const STATES = ['planned', 'uploaded', 'creating', 'created', 'cancelled', 'collected'] as const;

export interface Shard {
  /** From 1; never used twice. */
  readonly number: number;
  readonly model: string;
  readonly rows: number;
  readonly bytes: number;
  /** How often these rows have been asked for, this time included. */
  readonly attempt: number;
  readonly state: (typeof STATES)[number];
  /** What its rows may cost at most, in US dollars, if that is known. */
  readonly cost?: number;
  readonly file?: string;
  /** When the job was about to be created, in milliseconds since the epoch. */
  readonly intentAt?: number;
  readonly job?: string;
}

export interface Plan {
  readonly runId: string;
  /** A random UUID that gmn's home has, too, as long as the plan is used: whoever else made a plan cannot know one. */
  readonly token: string;
  /** Whether every row of the input has been put into a shard. */
  readonly isComplete: boolean;
  readonly lastNumber: number;
  /** What is needed to finish rows without the command line they were asked with. */
  readonly settings: PlanSettings;
  readonly shards: readonly Shard[];
}

export interface PlanSettings {
  readonly schema?: JsonObject;
}

/** The name of a job. Unique, so that it can be looked up in the list of all jobs. */
export function toDisplayName(runId: string, { number, attempt }: Pick<Shard, 'number' | 'attempt'>): string {
  return `gmn-${runId}-${number}${attempt === 1 ? '' : `-${attempt}`}`;
}

/** Whether a job or an uploaded file has a name that this run gave. Nothing else of the account may be touched. */
export function isOfRun(runId: string, { displayName = '' }: { readonly displayName?: string }): boolean {
  return displayName.startsWith(`gmn-${runId}-`);
}

export function formatPlan(plan: Plan): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ...plan }, null, 1)}\n`;
}

/** Undefined unless gmn could have written it. Names no file of this machine but those of its shards, by their numbers. */
export function tryParsePlan(text: string): Plan | undefined {
  const value = tryParseJson(text);
  if (!isObject(value) || value.format !== FORMAT || value.version !== VERSION || isTooDeep(value)) return undefined;
  const { runId, token, isComplete, lastNumber, settings } = value;
  if (
    !isRunId(runId) ||
    !isPlanToken(token) ||
    typeof isComplete !== 'boolean' ||
    !isCount(lastNumber) ||
    !isPlanSettings(settings)
  ) {
    return undefined;
  }
  const shards = Array.isArray(value.shards) ? value.shards.flatMap(tryParseShard) : [];
  const numbers = new Set(shards.map(({ number }) => number));
  const areAllRead = Array.isArray(value.shards) && numbers.size === value.shards.length;
  if (!areAllRead || shards.some(({ number }) => number > lastNumber)) return undefined;
  const { schema } = settings;
  return { runId, token, isComplete, lastNumber, settings: schema === undefined ? {} : { schema }, shards };
}

function isPlanToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(value);
}

function isPlanSettings(value: unknown): value is PlanSettings {
  return isObject(value) && (value.schema === undefined || isObject(value.schema));
}

const FIELDS: { readonly [Name in keyof Required<Shard>]: (value: unknown) => boolean } = {
  number: isNatural,
  model: matches(/^(?:(?:models|tunedModels)\/)?[\w@-][\w.@:-]{0,199}$/),
  rows: isNatural,
  bytes: isNatural,
  attempt: isNatural,
  state: (value) => STATES.some((state) => state === value),
  cost: optional(isAmount),
  file: optional(matches(/^files\/[\w-]{1,100}$/)),
  intentAt: optional(isAmount),
  job: optional(matches(/^batches\/[\w-]{1,100}$/)),
};

/** One at most. Other fields are dropped. */
function tryParseShard(value: unknown): readonly Shard[] {
  if (!isObject(value) || (value.state === 'created' && value.job === undefined)) return [];
  const entries = Object.entries(FIELDS);
  if (!entries.every(([name, isValid]) => isValid(value[name]))) return [];
  const given = entries.flatMap(([name]) => (value[name] === undefined ? [] : [[name, value[name]]]));
  return [Object.fromEntries(given) as Shard];
}

function isNatural(value: unknown): boolean {
  return isCount(value) && value > 0;
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

function optional(isValid: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || isValid(value);
}

function matches(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value);
}

export function replaceShard(plan: Plan, shard: Shard): Plan {
  return { ...plan, shards: plan.shards.map((other) => (other.number === shard.number ? shard : other)) };
}

export function isInFlight({ state }: Shard): boolean {
  return state !== 'collected' && state !== 'cancelled';
}
