import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { filterObjects, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import { DAY_MS, formatCount } from '../core/text/format.ts';
import { isRecent, readCache, writeCache } from '../platform/files/small-file.ts';
import {
  ALIASES,
  BACKENDS,
  type Backend,
  canThink,
  findOutputKind,
  type ListedModel,
  MODELS,
  type ModelFacts,
  type Tier,
} from './table.ts';

const WEEK_MS = 7 * DAY_MS;

export interface ModelListing {
  readonly backend: Backend;
  readonly source: string;
  /** `Credential.account`: another key may be in the same place later. */
  readonly account: string;
  readonly time: number;
  readonly models: readonly ListedModel[];
}

export interface ListingOwner {
  readonly backend: Backend;
  readonly account: string;
  readonly tier?: Tier;
}

export function tryParseTier(name: string | undefined): Tier | undefined {
  return name === 'free-tier' ? 'free' : name === 'standard-tier' ? 'standard' : undefined;
}

/** A listing of another account says nothing about this one. */
export function isListingFor(listing: ModelListing, { backend, account }: ListingOwner): boolean {
  return listing.backend === backend && listing.account === account;
}

export function readListing({ homes, clock }: Pick<App, 'homes' | 'clock'>): ModelListing | undefined {
  const file = listingPath(homes);
  const listing = file === undefined ? undefined : readCache(file, tryParseListing);
  return listing !== undefined && isRecent(listing.time, clock.now(), WEEK_MS) ? listing : undefined;
}

/** In tokens; undefined if there is no recent listing. */
export function findListedWindow(
  app: Pick<App, 'homes' | 'clock'>,
  owner: ListingOwner,
  id: string,
): number | undefined {
  const listing = readListing(app);
  if (listing === undefined || !isListingFor(listing, owner)) return undefined;
  return listing.models.find((model) => model.id === id)?.inputLimit;
}

export async function cacheListing({ homes }: Pick<App, 'homes'>, listing: ModelListing): Promise<void> {
  const file = listingPath(homes);
  if (file !== undefined) await writeCache(file, listing);
}

/** Undefined without a home directory: `gmn models` must not need one. */
function listingPath(homes: App['homes']): string | undefined {
  try {
    return join(homes().gmn, 'listed-models.json');
  } catch {
    return undefined;
  }
}

function tryParseListing(value: unknown): ModelListing | undefined {
  if (!isObject(value) || !Array.isArray(value.models)) return undefined;
  const backend = BACKENDS.find((name) => name === value.backend);
  const source = toNonEmptyString(value.source);
  const account = toNonEmptyString(value.account);
  const { time } = value;
  if (backend === undefined || source === undefined || account === undefined || typeof time !== 'number')
    return undefined;
  return { backend, source, account, time, models: filterObjects(value.models).flatMap(parseListed) };
}

function parseListed(value: Readonly<Record<string, unknown>>): readonly ListedModel[] {
  const id = toNonEmptyString(value.id);
  if (id === undefined) return [];
  const { inputLimit, outputLimit, thinks } = value;
  return [
    {
      id,
      inputLimit: typeof inputLimit === 'number' ? inputLimit : undefined,
      outputLimit: typeof outputLimit === 'number' ? outputLimit : undefined,
      thinks: typeof thinks === 'boolean' ? thinks : undefined,
    },
  ];
}

export interface ModelLine extends Omit<ModelFacts, 'status' | 'sees'> {
  readonly status: ModelFacts['status'] | 'unknown';
  readonly sees?: boolean;
  /** Absent if the API was not asked, or only for another backend. */
  readonly isListed?: boolean;
}

export function listKnownModels(): readonly ModelLine[] {
  return MODELS;
}

export function filterUsable(
  lines: readonly ModelLine[],
  { backend, tier }: Pick<ListingOwner, 'backend' | 'tier'>,
): readonly ModelLine[] {
  const isOfTier = ({ tiers }: ModelLine): boolean => tier === undefined || tiers === undefined || tiers.includes(tier);
  return lines.filter((line) => line.isListed ?? (line.backends.includes(backend) && isOfTier(line)));
}

/** The limits of the API win; models that only the API knows come last, by name. */
export function mergeListed(listed: readonly ListedModel[], backend: Backend): readonly ModelLine[] {
  const byId = new Map(listed.map((model) => [model.id, model]));
  const known = MODELS.map((model): ModelLine => {
    const found = byId.get(model.id);
    const isAsked = found !== undefined || model.backends.includes(backend);
    return {
      ...model,
      inputLimit: found?.inputLimit ?? model.inputLimit,
      outputLimit: found?.outputLimit ?? model.outputLimit,
      isListed: isAsked ? found !== undefined : undefined,
    };
  });
  const others = listed
    .filter(({ id }) => MODELS.every((model) => model.id !== id))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .map(
      (model): ModelLine => ({
        id: model.id,
        status: 'unknown',
        backends: [backend],
        thinks: model.thinks ?? canThink(model.id),
        inputLimit: model.inputLimit,
        outputLimit: model.outputLimit,
        isListed: true,
      }),
    );
  return [...known, ...others];
}

interface NamedModel {
  readonly name: string;
  readonly about: string;
}

/** For a chat, the recommended first. If the service listed its models for this account, others are omitted. */
export function listModelChoices(owner: ListingOwner, listing: ModelListing | undefined): readonly NamedModel[] {
  const { backend } = owner;
  const isOwn = listing !== undefined && isListingFor(listing, owner);
  const lines = isOwn ? mergeListed(listing.models, backend) : listKnownModels();
  const models = filterUsable(lines, owner)
    .filter(({ makes }) => makes === undefined)
    .toSorted((left, right) => rankModel(left, backend) - rankModel(right, backend));
  const aliases = Object.entries(ALIASES).filter(([name]) => models.every(({ id }) => id !== name));
  return [
    ...models.map((line) => ({ name: line.id, about: describeModel(line) })),
    ...aliases.map(([name, by]) => ({ name, about: `short for ${by[backend]}` })),
  ];
}

const STATUS_RANKS: Readonly<Record<ModelLine['status'], number>> = {
  moving: 1,
  stable: 1,
  preview: 2,
  unknown: 3,
  retiring: 4,
  retired: 5,
};

/** What an alias such as `flash` means comes first, what Google retires last. */
function rankModel({ id, status }: ModelLine, backend: Backend): number {
  const rank = STATUS_RANKS[status];
  return rank === 1 && Object.values(ALIASES).some((by) => by[backend] === id) ? 0 : rank;
}

function describeModel({ note, status, tiers }: ModelLine): string {
  const words = note ?? (status === 'unknown' ? 'listed by the service' : status);
  if (tiers === undefined) return words;
  return `${words}; ${tiers.length === 1 ? 'tier' : 'tiers'}: ${tiers.join(', ')}`;
}

/** What somebody chooses a model for, in the order of a list. */
const GROUPS = [
  'For most work',
  'For the hardest questions, at a higher price',
  'For many small tasks, at the lowest price',
  'Open models',
  'Pictures (gmn image)',
  'Speech',
  'Others that the service lists',
  'Being retired',
  'Shut down',
] as const;

function findPurpose({ id, status }: ModelLine): (typeof GROUPS)[number] {
  if (status === 'retired') return 'Shut down';
  if (status === 'retiring') return 'Being retired';
  const makes = findOutputKind(id);
  if (makes !== undefined) return makes === 'images' ? 'Pictures (gmn image)' : 'Speech';
  if (/^gemma-/.test(id)) return 'Open models';
  if (/-lite\b/.test(id)) return 'For many small tasks, at the lowest price';
  if (/-(?:pro|argon|carbon)\b/.test(id)) return 'For the hardest questions, at a higher price';
  return status === 'unknown' ? 'Others that the service lists' : 'For most work';
}

/** In each group previews come last, and before them the newest first. */
export function groupModels(
  lines: readonly ModelLine[],
): readonly { readonly title: string; readonly lines: readonly ModelLine[] }[] {
  const newest = lines.toReversed().sort((left, right) => STATUS_RANKS[left.status] - STATUS_RANKS[right.status]);
  return GROUPS.map((title) => ({ title, lines: newest.filter((line) => findPurpose(line) === title) })).filter(
    (group) => group.lines.length > 0,
  );
}

export function formatModelRows(lines: readonly ModelLine[]): readonly (readonly string[])[] {
  const heading = ['MODEL', 'STATUS', 'THINKING', 'INPUT', 'OUTPUT', 'TIERS', 'BACKENDS', 'NOTE'];
  const rows = lines.map((line) => [
    line.id,
    line.isListed === false ? 'not listed' : line.status,
    formatThinking(line),
    line.inputLimit === undefined ? '' : formatCount(line.inputLimit),
    line.outputLimit === undefined ? '' : formatCount(line.outputLimit),
    line.tiers?.join(', ') ?? '',
    line.backends.length === 3 ? 'all' : line.backends.join(', '),
    formatNote(line),
  ]);
  return [heading, ...rows];
}

export function formatNote({ note, makes }: ModelLine): string {
  return note ?? (makes ? `makes ${makes}` : '');
}

export function formatAliasRows(): readonly (readonly string[])[] {
  const rows = Object.entries(ALIASES).map(([name, by]) => [name, by['gemini-api'], by.vertex, by['code-assist']]);
  const auto = ['auto, auto-…', 'the default', 'the default', 'the default'];
  return [['ALIAS', 'GEMINI API', 'VERTEX', 'CODE ASSIST'], ...rows, auto];
}

export function formatNarrowAliasRows(): readonly (readonly string[])[] {
  const rows = Object.entries(ALIASES).flatMap(([name, by]) => {
    const [[, first] = [], ...others] = Object.entries(by);
    if (others.every(([, id]) => id === first)) return [[name, 'all', first ?? '']];
    return Object.entries(by).map(([backend, id], index) => [index === 0 ? name : '', backend, id]);
  });
  return [['ALIAS', 'BACKEND', 'MODEL'], ...rows, ['auto, auto-…', 'all', 'the default']];
}

export function toModelsDocument(lines: readonly ModelLine[], standard: string): JsonObject {
  return {
    default: standard,
    models: lines.map(({ levels, tiers, budget, ...line }) => ({
      ...line,
      tiers,
      levels,
      budget: budget && { ...budget },
    })),
    aliases: Object.fromEntries(Object.entries(ALIASES).map(([name, by]) => [name, { ...by }])),
  };
}

function formatThinking({ levels, budget, ...line }: ModelLine): string {
  if (levels) return levels.join(' ');
  if (budget) return `budget ${budget.canBeOff ? '0, ' : ''}${formatCount(budget.min)}–${formatCount(budget.max)}`;
  return line.thinks ? 'yes' : '';
}
