import { isAbsolute, join } from 'node:path';
import { AppError } from '../core/error.ts';

const MAX_BYTES = 1_000_000;

/** The value of a flag that takes text or `@file`. Throws AppError `usage` if the file is not text. */
export async function readTextOrFile(value: string, flag: string, cwd: string): Promise<string> {
  if (!value.startsWith('@')) return value;
  const [{ readBytes }, { decodeText }] = await Promise.all([
    import('../platform/files/read.ts'),
    import('../core/text/decode.ts'),
  ]);
  const name = value.slice(1);
  const bytes = await readBytes(isAbsolute(name) ? name : join(cwd, name), {
    name,
    maxBytes: MAX_BYTES,
    tooLarge: () => new AppError('usage', `${flag}: ${name} is larger than 1 MB`, { hint: 'Send it with -f instead.' }),
  });
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', `${flag}: ${name} is not text`, { hint: `Name a UTF-8 text file: ${flag} @rules.md` });
}
