import { isObject } from '../core/json.ts';
import { readFileState } from '../platform/files/write.ts';
import type { ChoiceInput } from './choice.ts';
import { geminiFile } from './official-files.ts';
import { parseJson } from './token.ts';

/** The address the official CLI noted down for the one who signed in; it proves nothing. Never throws. */
export async function activeAccount(input: Pick<ChoiceInput, 'env' | 'homes'>): Promise<string | undefined> {
  const file = await readFileState(geminiFile(input, 'google_accounts.json').path);
  const value = file.kind === 'text' ? parseJson(file.text) : undefined;
  return isObject(value) && typeof value.active === 'string' && value.active !== '' ? value.active : undefined;
}
