import { join } from 'node:path';
import type { WordOptions } from '../../app/report.ts';
import { BUILT_IN_LAYER } from '../../config/explanation.ts';
import { type Layers, readLayers } from '../../config/layers.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';

export async function readAllLayers(app: App): Promise<Layers> {
  const read = await readLayers(app);
  return { ...read, layers: [BUILT_IN_LAYER, ...read.layers] };
}

export function requireKey({ args }: WordOptions, verb: string): string {
  const [key, ...more] = args;
  if (key !== undefined && more.length === 0) return key;
  throw new AppError('usage', `config ${verb} takes one key`, { hint: `Example: gmn config ${verb} model.name` });
}

/** The settings file that is gmn's alone; `config set` and `unset` change no other. */
export function ownSettingsFile(app: App): string {
  return join(app.homes().gmn, 'config.json');
}

export function toEditPath([first = '', ...rest]: readonly string[]): readonly [string, ...string[]] {
  return [first, ...rest];
}
