import { join } from 'node:path';
import { isObject } from '../core/json.ts';
import { readFileState } from '../platform/files/write.ts';
import type { ChoiceInput } from './choice.ts';
import { parseJson } from './token.ts';

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

/** The address the official CLI noted down for the one who signed in; it proves nothing. Never throws. */
export async function activeAccount(input: Pick<ChoiceInput, 'env' | 'homes'>): Promise<string | undefined> {
  const file = await readFileState(geminiFile(input, 'google_accounts.json').path);
  const value = file.kind === 'text' ? parseJson(file.text) : undefined;
  return isObject(value) && typeof value.active === 'string' && value.active !== '' ? value.active : undefined;
}
