import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { nearestNames } from '../core/text/names.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/small-file.ts';
import { ALIASES, type Backend, DEFAULT_MODEL, MODELS, modelFacts } from './table.ts';

interface ModelChoice {
  readonly id: string;
  readonly notices: readonly string[];
  /** Nobody chose it: if it is gone, the fallback model may replace it. */
  readonly isDefault: boolean;
}

interface ChoiceContext {
  readonly backend: Backend;
  /** Where the name was given, for the user: `-m`, `settings`, … */
  readonly source?: string;
}

/** Safe in a URL path. */
const POSSIBLE = /^[A-Za-z0-9][\w.@:-]*(?:\/[A-Za-z0-9][\w.@:-]*)*$/;

/**
 * The model that a name means on a backend; the default without a name. Resolves aliases; an unknown name passes with a
 * notice. Throws AppError `usage` if it cannot be the name of a model.
 */
export function resolveModel(name: string | undefined, { backend, source }: ChoiceContext): ModelChoice {
  if (name === undefined) return builtIn(DEFAULT_MODEL);
  const wanted = name.startsWith('models/') ? name.slice('models/'.length) : name;
  if (!POSSIBLE.test(wanted)) {
    throw new AppError('usage', `"${name}" cannot be the name of a model${source ? ` (${source})` : ''}`, {
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
  if (alias !== undefined) return { id: alias[backend], notices: [], isDefault: false };
  const isKnown = modelFacts(wanted) !== undefined || wanted.includes('/');
  return { id: wanted, notices: isKnown ? [] : [unknownNotice(wanted)], isDefault: false };
}

export function builtIn(id: string): ModelChoice {
  return { id, notices: [], isDefault: true };
}

function unknownNotice(name: string): string {
  const near = nearestNames(name, [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)]);
  const question = near.length > 0 ? `. Did you mean ${near.join(' or ')}?` : '';
  return `gmn does not know the model "${name}"; it is asked for all the same${question}`;
}

const REMEMBERED_MS = 30 * 86_400_000;

/** A model gone for one account may still serve another. */
interface DefaultOwner {
  readonly backend: Backend;
  readonly account: string;
}

/** The cached fallback for a default model that is gone, at most 30 days old. Never throws. */
export function rememberedDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  retired = DEFAULT_MODEL,
): string | undefined {
  // The key is computed only if the file exists: the account may cost a hash.
  const entry = readMemo(fileIn(homes().gmn), parseEntries)?.get(keyOf(owner, retired));
  return entry !== undefined && isRecent(entry.time, clock.now(), REMEMBERED_MS) ? entry.model : undefined;
}

/** Caches `model` for 30 days as this account's default. Does nothing if it cannot be written. */
export async function rememberDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  model: string,
  retired = DEFAULT_MODEL,
): Promise<void> {
  const file = fileIn(homes().gmn);
  const now = clock.now();
  const before = readMemo(file, parseEntries) ?? new Map<string, Entry>();
  const fresh = [...before].filter(([, { time }]) => isRecent(time, now, REMEMBERED_MS));
  await writeMemo(file, Object.fromEntries([...fresh, [keyOf(owner, retired), { model, time: now }]]));
}

interface Entry {
  readonly model: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

function fileIn(gmnHome: string): string {
  return `${gmnHome}/default-models.json`;
}

/** Keys of `DEFAULT_MODEL` have no model name, for compatibility with files of older versions. */
function keyOf({ backend, account }: DefaultOwner, retired: string): string {
  return [backend, account, ...(retired === DEFAULT_MODEL ? [] : [retired])].join(' ');
}

function parseEntries(value: unknown): ReadonlyMap<string, Entry> | undefined {
  if (!isObject(value)) return undefined;
  return new Map(
    Object.entries(value).flatMap(([key, entry]) => {
      if (!isObject(entry) || typeof entry.model !== 'string' || typeof entry.time !== 'number') return [];
      return [[key, { model: entry.model, time: entry.time }] as const];
    }),
  );
}
