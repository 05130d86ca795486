import { join } from 'node:path';
import type { ChoiceInput } from './choice.ts';

/** A file of the official CLI's or of ours, and how people know it. */
export interface KnownFile {
  readonly path: string;
  /** `~/…`, unless the directory was moved: then the whole path. */
  readonly name: string;
}

type Place = Pick<ChoiceInput, 'env' | 'homes'>;

/** A file in the official CLI's directory. */
export function geminiFile({ env, homes }: Place, file: string): KnownFile {
  const path = join(homes().gemini, file);
  return { path, name: env.GEMINI_CLI_HOME ? path : `~/.gemini/${file}` };
}

/** A file in gmn's own directory. */
export function gmnFile({ env, homes }: Place, file: string): KnownFile {
  const path = join(homes().gmn, file);
  return { path, name: env.GMN_HOME ? path : `~/.gmn/${file}` };
}
