import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { isObject, objectsOf, stringOf } from '../core/json.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/memo-file.ts';
import type { Backend, ListedModel } from './table.ts';

const WEEK_MS = 7 * 86_400_000;
const BACKENDS: readonly Backend[] = ['gemini-api', 'vertex', 'code-assist'];

/** What a service listed, and when it was asked. */
export interface ModelListing {
  readonly backend: Backend;
  /** `Credential.source` */
  readonly source: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly models: readonly ListedModel[];
}

/** The last listing, if it is of this week. Never throws. */
export function lastListing({ homes, clock }: Pick<App, 'homes' | 'clock'>): ModelListing | undefined {
  const file = fileIn(homes);
  const listing = file === undefined ? undefined : readMemo(file, parseListing);
  return listing !== undefined && isRecent(listing.time, clock.now(), WEEK_MS) ? listing : undefined;
}

/** Keeps a listing for `gmn models`. It is only a memory aid: if it cannot be written, nothing happens. */
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
