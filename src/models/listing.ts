import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { isObject, type JsonObject, objectsOf, stringOf } from '../core/json.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/small-file.ts';
import {
  ALIASES,
  type Backend,
  type BudgetRange,
  DEFAULT_MODEL,
  type ListedModel,
  MODELS,
  type ModelFacts,
  thinks,
} from './table.ts';

const WEEK_MS = 7 * 86_400_000;
const BACKENDS: readonly Backend[] = ['gemini-api', 'vertex', 'code-assist'];

export interface ModelListing {
  readonly backend: Backend;
  /** `Credential.source` */
  readonly source: string;
  /** Milliseconds since the epoch; when it was listed. */
  readonly time: number;
  readonly models: readonly ListedModel[];
}

/** Undefined if it is older than a week. Never throws. */
export function lastListing({ homes, clock }: Pick<App, 'homes' | 'clock'>): ModelListing | undefined {
  const file = fileIn(homes);
  const listing = file === undefined ? undefined : readMemo(file, parseListing);
  return listing !== undefined && isRecent(listing.time, clock.now(), WEEK_MS) ? listing : undefined;
}

/** Caches a listing for `gmn models`. Does nothing if it cannot be written. */
export async function keepListing({ homes }: Pick<App, 'homes'>, listing: ModelListing): Promise<void> {
  const file = fileIn(homes);
  if (file !== undefined) await writeMemo(file, listing);
}

/** Undefined without a home directory: `gmn models` must not need one. */
function fileIn(homes: App['homes']): string | undefined {
  try {
    return join(homes().gmn, 'listed-models.json');
  } catch {
    return undefined;
  }
}

function parseListing(value: unknown): ModelListing | undefined {
  if (!isObject(value) || !Array.isArray(value.models)) return undefined;
  const backend = BACKENDS.find((name) => name === value.backend);
  const source = stringOf(value.source);
  const { time } = value;
  if (backend === undefined || source === undefined || typeof time !== 'number') return undefined;
  return { backend, source, time, models: objectsOf(value.models).flatMap(parseListed) };
}

function parseListed(value: Readonly<Record<string, unknown>>): readonly ListedModel[] {
  const id = stringOf(value.id);
  if (id === undefined) return [];
  const { inputLimit, outputLimit, thinks } = value;
  return [
    {
      id,
      ...(typeof inputLimit === 'number' ? { inputLimit } : {}),
      ...(typeof outputLimit === 'number' ? { outputLimit } : {}),
      ...(typeof thinks === 'boolean' ? { thinks } : {}),
    },
  ];
}

export interface ModelLine extends Omit<ModelFacts, 'status' | 'backends' | 'inputLimit' | 'outputLimit' | 'sees'> {
  readonly status: ModelFacts['status'] | 'unknown';
  readonly backends: readonly Backend[];
  readonly inputLimit?: number;
  readonly outputLimit?: number;
  readonly sees?: boolean;
  /** Absent if the API was not asked. */
  readonly isListed?: boolean;
}

export function knownModels(): readonly ModelLine[] {
  return MODELS;
}

/** The limits of the API win; models that only the API knows come last, by name. */
export function mergeListed(listed: readonly ListedModel[], backend: Backend): readonly ModelLine[] {
  const byId = new Map(listed.map((model) => [model.id, model]));
  const known = MODELS.map((model): ModelLine => {
    const found = byId.get(model.id);
    return { ...model, ...limitsOf(found), isListed: found !== undefined };
  });
  const others = listed
    .filter(({ id }) => MODELS.every((model) => model.id !== id))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .map(
      (model): ModelLine => ({
        id: model.id,
        status: 'unknown',
        backends: [backend],
        thinks: model.thinks ?? thinks(model.id),
        ...limitsOf(model),
        isListed: true,
      }),
    );
  return [...known, ...others];
}

function limitsOf(model: ListedModel | undefined): Pick<ListedModel, 'inputLimit' | 'outputLimit'> {
  return {
    ...(model?.inputLimit === undefined ? {} : { inputLimit: model.inputLimit }),
    ...(model?.outputLimit === undefined ? {} : { outputLimit: model.outputLimit }),
  };
}

interface ModelChoice {
  readonly name: string;
  readonly about: string;
}

/**
 * Names for a backend, each once: its models, those that only the service lists, and aliases. If the service listed its
 * models, others are omitted.
 */
export function modelChoices(
  backend: Backend,
  listing: { readonly backend: Backend; readonly models: readonly ListedModel[] } | undefined,
): readonly ModelChoice[] {
  const lines = listing?.backend === backend ? mergeListed(listing.models, backend) : knownModels();
  const models = lines.filter((line) => line.isListed ?? line.backends.includes(backend));
  const aliases = Object.entries(ALIASES).filter(([name]) => models.every(({ id }) => id !== name));
  return [
    ...models.map((line) => ({ name: line.id, about: aboutModel(line) })),
    ...aliases.map(([name, by]) => ({ name, about: `short for ${by[backend]}` })),
  ];
}

function aboutModel({ note, status, tiers }: ModelLine): string {
  const words = note ?? (status === 'unknown' ? 'listed by the service' : status);
  if (tiers === undefined) return words;
  return `${words}; ${tiers.length === 1 ? 'tier' : 'tiers'}: ${tiers.join(', ')}`;
}

/** Includes the heading. */
export function modelRows(lines: readonly ModelLine[]): readonly (readonly string[])[] {
  const isAsked = lines.some(({ isListed }) => isListed !== undefined);
  const heading = ['MODEL', 'STATUS', 'THINKING', 'INPUT', 'OUTPUT', 'TIERS', 'BACKENDS', 'NOTE'];
  const rows = lines.map((line) => [
    line.id,
    isAsked && !line.isListed ? 'not listed' : line.status,
    thinkingOf(line),
    line.inputLimit === undefined ? '' : thousands(line.inputLimit),
    line.outputLimit === undefined ? '' : thousands(line.outputLimit),
    line.tiers?.join(', ') ?? '',
    line.backends.length === 3 ? 'all' : line.backends.join(', '),
    line.note ?? '',
  ]);
  return [heading, ...rows];
}

/** Includes the heading. */
export function aliasRows(): readonly (readonly string[])[] {
  const rows = Object.entries(ALIASES).map(([name, by]) => [name, by['gemini-api'], by.vertex, by['code-assist']]);
  const auto = ['auto, auto-…', DEFAULT_MODEL, DEFAULT_MODEL, DEFAULT_MODEL];
  return [['ALIAS', 'GEMINI API', 'VERTEX', 'CODE ASSIST'], ...rows, auto];
}

/** For narrow terminals: one alias and backend per row. */
export function narrowAliasRows(): readonly (readonly string[])[] {
  const rows = Object.entries(ALIASES).flatMap(([name, by]) => {
    const [[, first] = [], ...others] = Object.entries(by);
    if (others.every(([, id]) => id === first)) return [[name, 'all', first ?? '']];
    return Object.entries(by).map(([backend, id], index) => [index === 0 ? name : '', backend, id]);
  });
  return [['ALIAS', 'BACKEND', 'MODEL'], ...rows, ['auto, auto-…', 'all', DEFAULT_MODEL]];
}

/** The JSON output of `gmn models`. */
export function modelsDocument(lines: readonly ModelLine[]): JsonObject {
  return {
    default: DEFAULT_MODEL,
    models: lines.map(({ levels, tiers, budget, ...line }) => ({
      ...line,
      ...(tiers ? { tiers } : {}),
      ...(levels ? { levels } : {}),
      ...(budget ? { budget: { ...budget } } : {}),
    })),
    aliases: Object.fromEntries(Object.entries(ALIASES).map(([name, by]) => [name, { ...by }])),
  };
}

function thinkingOf({ levels, budget, ...line }: ModelLine): string {
  if (levels) return levels.join(' ');
  if (budget) return budgetText(budget);
  return line.thinks ? 'yes' : '';
}

function budgetText({ min, max, canBeOff }: BudgetRange): string {
  return `budget ${canBeOff ? '0, ' : ''}${thousands(min)}–${thousands(max)}`;
}

function thousands(value: number): string {
  return value.toLocaleString('en-US');
}
