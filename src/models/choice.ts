import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { nearestNames } from '../core/text/names.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/small-file.ts';
import { ALIASES, type Backend, DEFAULT_MODEL, MODELS, modelFacts } from './table.ts';

/** The model a run asks for. */
interface ModelChoice {
  readonly id: string;
  readonly notices: readonly string[];
  /** Nobody chose it: if it is gone, its successor may take its place. */
  readonly isDefault: boolean;
}

interface ChoiceContext {
  readonly backend: Backend;
  /** Where the name was given, for people: `-m`, `settings`, … */
  readonly source?: string;
}

/** What the backends can carry in a path; anything else is a mistake, or worse. */
const POSSIBLE = /^[A-Za-z0-9][\w.@:-]*(?:\/[A-Za-z0-9][\w.@:-]*)*$/;

/**
 * Which model a name means on a backend; no name means the default. An alias becomes its model, a name gmn does not know
 * passes with a notice. Throws AppError `usage` if it cannot be a model's name.
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

/** The choice of a model that nobody named. */
export function builtIn(id: string): ModelChoice {
  return { id, notices: [], isDefault: true };
}

function unknownNotice(name: string): string {
  const near = nearestNames(name, [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)]);
  const question = near.length > 0 ? `. Did you mean ${near.join(' or ')}?` : '';
  return `gmn does not know the model "${name}"; it is asked for all the same${question}`;
}

const REMEMBERED_MS = 30 * 86_400_000;

/** Whose default it is: what is retired for one account may still serve another. */
interface DefaultOwner {
  readonly backend: Backend;
  /** `Credential.account` */
  readonly account: string;
}

/** What was learned within the last 30 days to stand in for a retired default; undefined if nothing was. Never throws. */
export function rememberedDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  retired = DEFAULT_MODEL,
): string | undefined {
  // Most often there is no such file, and the account may have to be worked out.
  const entry = readMemo(fileIn(homes().gmn), parseEntries)?.get(keyOf(owner, retired));
  return entry !== undefined && isRecent(entry.time, clock.now(), REMEMBERED_MS) ? entry.model : undefined;
}

/** Keeps `model` for 30 days as this owner's default. It is only a memory aid: if it cannot be written, nothing happens. */
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

/** The first default there was has no name in it: the file is as old as that. */
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
