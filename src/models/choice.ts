import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';
import { findNearestNames } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { isRecent, readCache, writeCache } from '../platform/files/small-file.ts';
import { ALIASES, type Backend, DEFAULT_MODEL, findModelFacts, isNewOfFamily, MODELS } from './table.ts';

interface ModelChoice {
  readonly id: string;
  readonly notices: readonly string[];
  /** The user did not choose it, so the fallback model may replace it. */
  readonly isDefault: boolean;
}

/** Means gmn's own default, whatever the settings say; a session that asked it keeps this name. */
export const DEFAULT_NAME = 'default';

/** Safe in a URL path. */
const MODEL_NAME = /^[A-Za-z0-9][\w.@:-]*(?:\/[A-Za-z0-9][\w.@:-]*)*$/;

/** Resolves aliases; an unknown name passes with a notice. Throws AppError `usage` if it can be no model's. */
export function resolveModel(
  name: string | undefined,
  { backend, source }: { readonly backend: Backend; readonly source?: string },
): ModelChoice {
  if (name === undefined) return defaultChoice(DEFAULT_MODEL);
  const wanted = name.startsWith('models/') ? name.slice('models/'.length) : name;
  if (wanted === DEFAULT_NAME) return defaultChoice(DEFAULT_MODEL);
  if (!MODEL_NAME.test(wanted)) {
    throw new AppError('usage', `"${sanitize(name)}" cannot be the name of a model${source ? ` (${source})` : ''}`, {
      hint: 'To see the models: gmn models',
    });
  }
  if (/^auto(?:-|$)/.test(wanted)) {
    return {
      id: DEFAULT_MODEL,
      notices: [`model "${wanted}": gmn uses its default, ${DEFAULT_MODEL}`],
      isDefault: true,
    };
  }
  const alias = Object.hasOwn(ALIASES, wanted) ? ALIASES[wanted] : undefined;
  if (alias !== undefined) return { id: alias[backend], notices: describeChosen(alias[backend]), isDefault: false };
  checkService(wanted);
  return { id: wanted, notices: describeChosen(wanted), isDefault: false };
}

export function defaultChoice(id: string): ModelChoice {
  return { id, notices: [], isDefault: true };
}

/** Models that do not answer `generateContent`, what they answer instead, and what does their work. */
const OTHER_SERVICES: readonly (readonly [RegExp, string, way?: string])[] = [
  [/^gemini-decision-/, 'the Decisions API', 'Run gmn decide instead'],
  [/^deep-research-/, 'the Interactions API', 'Run gmn research instead'],
  [/-live(?:-|$)/, 'the Live API'],
  [
    /^gemini-[\w.-]*-transcribe\b/,
    'the Interactions API',
    'Any model that hears writes down a recording: gmn -m flash -f talk.mp3 "transcribe it"',
  ],
  [/^lyria-/, 'the Interactions API', 'Google’s own command line makes music: gemini-api music'],
  [/^(?:gemini-omni-|antigravity-)/, 'the Interactions API'],
];

function checkService(id: string): void {
  const [, service, way = 'Choose another model with -m'] = OTHER_SERVICES.find(([pattern]) => pattern.test(id)) ?? [];
  if (service === undefined) return;
  throw new AppError('usage', `${id} answers only through ${service}, not to a prompt`, {
    hint: `${way}. To see the models: gmn models`,
  });
}

/** What is to be said of a model that somebody has chosen: nothing, if it is one of the table that still answers. */
function describeChosen(id: string): readonly string[] {
  const facts = findModelFacts(id);
  if (facts === undefined) return id.includes('/') ? [] : [formatUnknownModel(id)];
  return facts.status === 'retired' ? [`${id} was ${facts.note ?? 'shut down'}`] : [];
}

function formatUnknownModel(name: string): string {
  const served = MODELS.filter(({ status }) => status !== 'retired').map(({ id }) => id);
  const aliases = Object.entries(ALIASES).filter(([, by]) => served.includes(by['gemini-api']));
  const near = findNearestNames(name, [...served, ...aliases.map(([alias]) => alias), DEFAULT_MODEL]);
  const question = near.length > 0 ? `. Did you mean ${near.join(' or ')}?` : '';
  const how = isNewOfFamily(name) ? ', with the thinking levels, window and sampling of Gemini 4' : '';
  return `unknown model "${name}"; gmn sends it as it is${how}${question}`;
}

const CACHE_MS = 30 * DAY_MS;

/** A model gone for one account may still serve another. */
interface DefaultOwner {
  readonly backend: Backend;
  readonly account: string;
}

/** A recording has what the service said then, so that nothing else decides which model is asked. */
type CacheContext = Pick<App, 'homes' | 'clock' | 'isRecorded' | 'replayed'>;

/** At most 30 days old. Never throws. */
export function readCachedDefault(
  { homes, clock, isRecorded, replayed }: CacheContext,
  owner: DefaultOwner,
  retired = DEFAULT_MODEL,
): string | undefined {
  if (isRecorded || replayed) return undefined;
  // The key is computed only if the file exists: the account may cost a hash.
  const entry = readCache(defaultModelPath(homes().gmn), tryParseCachedDefaults)?.get(cacheKey(owner, retired));
  return entry !== undefined && isRecent(entry.time, clock.now(), CACHE_MS) ? entry.model : undefined;
}

/** For 30 days. Does nothing if it cannot be written. */
export async function cacheDefault(
  { homes, clock, isRecorded, replayed }: CacheContext,
  owner: DefaultOwner,
  model: string,
  retired = DEFAULT_MODEL,
): Promise<void> {
  if (isRecorded || replayed) return;
  const file = defaultModelPath(homes().gmn);
  const now = clock.now();
  const before = readCache(file, tryParseCachedDefaults) ?? new Map<string, CachedDefault>();
  const fresh = [...before].filter(([, { time }]) => isRecent(time, now, CACHE_MS));
  await writeCache(file, Object.fromEntries([...fresh, [cacheKey(owner, retired), { model, time: now }]]));
}

interface CachedDefault {
  readonly model: string;
  readonly time: number;
}

function defaultModelPath(gmnHome: string): string {
  return join(gmnHome, 'default-models.json');
}

/** Keys of `DEFAULT_MODEL` have no model name, for compatibility with files of older versions. */
function cacheKey({ backend, account }: DefaultOwner, retired: string): string {
  return [backend, account, ...(retired === DEFAULT_MODEL ? [] : [retired])].join(' ');
}

function tryParseCachedDefaults(value: unknown): ReadonlyMap<string, CachedDefault> | undefined {
  if (!isObject(value)) return undefined;
  return new Map(
    Object.entries(value).flatMap(([key, entry]) => {
      if (!isObject(entry) || typeof entry.model !== 'string' || typeof entry.time !== 'number') return [];
      return [[key, { model: entry.model, time: entry.time }] as const];
    }),
  );
}
