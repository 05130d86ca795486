import { checkKey, keyStore } from '../../auth/key-store.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { detectMachine } from '../../platform/host.ts';

interface SetKeyOptions {
  readonly stdin?: boolean;
  readonly quiet?: boolean;
}

const MAX_BYTES = 10_000;

/**
 * Stores an API key in the system's keyring if there is one, else in a file that only its owner can read. The key is
 * typed without echo or piped in, and never shown. Throws AppError `usage` if it cannot be a key.
 */
export async function run(options: SetKeyOptions, app: App): Promise<number> {
  const key = checkKey(await readKey(options, app));
  const place = await keyStore(app.homes().gmn, detectMachine(), app.clock).write(key);
  if (options.quiet) return 0;
  const where =
    place === 'keyring' ? "in the system's keyring" : `in ${app.homes().gmn}/key.json, readable by you only`;
  await app.io.out.write(`Stored the API key ${where}.\n`);
  return 0;
}

async function readKey(options: SetKeyOptions, { stdin, signal }: App): Promise<string> {
  if (!options.stdin && (await stdin.isTerminal())) {
    const { askSecret } = await import('../../platform/terminal/ask.ts');
    return askSecret('API key (not shown): ', signal);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stdin.read(signal)) {
    size += chunk.length;
    if (size > MAX_BYTES)
      throw new AppError('usage', 'that is too long for an API key', { hint: 'Pipe in the key alone.' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
