import { join } from 'node:path';
import { isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import type { ChoiceInput } from './choice.ts';

export interface KnownFile {
  readonly path: string;
  /** `~/…`, or the full path if the directory was moved by a variable. */
  readonly name: string;
}

type HomeContext = Pick<ChoiceInput, 'env' | 'homes'>;

export function geminiFile({ env, homes }: HomeContext, file: string): KnownFile {
  const path = join(homes().gemini, file);
  return { path, name: env.GEMINI_CLI_HOME ? path : `~/.gemini/${file}` };
}

export function nameKeyPlace({ env, homes }: HomeContext, place: 'file' | 'keyring'): string {
  if (place === 'keyring') return "the system's keyring";
  return env.GMN_HOME ? join(homes().gmn, 'key.json') : '~/.gmn/key.json';
}

/** The email address that the official CLI saved at sign-in; not verified. Never throws. */
export async function readActiveAccount(input: Pick<ChoiceInput, 'env' | 'homes'>): Promise<string | undefined> {
  const file = await readFileState(geminiFile(input, 'google_accounts.json').path);
  const value = file.kind === 'text' ? tryParseJson(file.text) : undefined;
  return isObject(value) && typeof value.active === 'string' && value.active !== '' ? value.active : undefined;
}
