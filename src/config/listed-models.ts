import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { isObject } from '../core/json.ts';
import type { Backend } from '../core/models.ts';
import { readStateFile } from '../platform/state-file.ts';
import type { ListedModel } from './model-list.ts';

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
  try {
    const listing = parseListing(JSON.parse(readStateFile(fileIn(homes().gmn)) ?? 'null'));
    if (listing === undefined) return undefined;
    const age = clock.now() - listing.time;
    return age >= 0 && age < WEEK_MS ? listing : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a listing for `gmn models`. It is only a memory aid: if it cannot be written, nothing happens. */
export async function keepListing({ homes }: Pick<App, 'homes'>, listing: ModelListing): Promise<void> {
  try {
    const { makePrivateDirectory, replaceFile } = await import('../platform/atomic-file.ts');
    const home = homes().gmn;
    await makePrivateDirectory(home);
    await replaceFile(fileIn(home), `${JSON.stringify(listing)}\n`, { mode: 0o600 });
  } catch {
    // It is shown all the same.
  }
}

function fileIn(home: string): string {
  return join(home, 'listed-models.json');
}

function parseListing(value: unknown): ModelListing | undefined {
  if (!isObject(value) || !Array.isArray(value.models)) return undefined;
  const backend = BACKENDS.find((name) => name === value.backend);
  const { source, time } = value;
  if (backend === undefined || typeof source !== 'string' || typeof time !== 'number') return undefined;
  return { backend, source, time, models: value.models.flatMap(parseListed) };
}

function parseListed(value: unknown): readonly ListedModel[] {
  if (!isObject(value) || typeof value.id !== 'string') return [];
  const { id, inputLimit, outputLimit, thinks } = value;
  return [
    {
      id,
      ...(typeof inputLimit === 'number' ? { inputLimit } : {}),
      ...(typeof outputLimit === 'number' ? { outputLimit } : {}),
      ...(typeof thinks === 'boolean' ? { thinks } : {}),
    },
  ];
}
