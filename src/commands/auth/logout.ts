import { basename } from 'node:path';
import { type PrintOptions, printReport } from '../../app/report.ts';
import { keyStore } from '../../auth/key-store.ts';
import { clientPairFile } from '../../auth/official-client.ts';
import { tokenCacheDirectory } from '../../auth/token-cache.ts';
import type { App } from '../../core/app.ts';
import { removeFiles } from '../../platform/files/write.ts';
import { detectMachine } from '../../platform/host.ts';

/**
 * Removes what gmn itself stored, and nothing of the official CLI's. Throws AppError `config` if something could not
 * be removed.
 */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const { gmn, gemini } = app.homes();
  const pairFile = basename(clientPairFile(gmn));
  // The key last: removing it may fail, and the rest must be gone by then.
  const tokens = await removeFiles(tokenCacheDirectory(gmn), () => true);
  const pairs = await removeFiles(gmn, (name) => name === pairFile || name.startsWith(`${pairFile}.corrupt-`));
  const apiKey = await keyStore(gmn, detectMachine(), app.clock).remove();
  const forgotten = { apiKey, tokens, oauthClient: pairs > 0 };
  const items = [
    ...(forgotten.apiKey ? ['the stored API key'] : []),
    ...(forgotten.tokens > 0 ? ['the cached access tokens'] : []),
    ...(forgotten.oauthClient ? ["the official CLI's OAuth client"] : []),
  ];
  const what = items.length === 0 ? 'gmn had stored nothing.' : `Forgot ${items.join(', ')}.`;
  const text = `${what}\nThe official CLI's files in ${gemini} were not touched.\n`;
  return printReport({ text, json: { forgotten } }, options, app);
}
