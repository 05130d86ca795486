import { AppError } from '../core/error.ts';
import type { NamingContext } from './named-file.ts';

const MAX_BYTES = 1_000_000;

/** The value of a flag that takes text or `@file`. Throws AppError `usage` if the file is not text or not to be sent. */
export async function readTextOrFile(value: string, flag: string, context: NamingContext): Promise<string> {
  if (!value.startsWith('@')) return value;
  const hints = ['Send it with -f instead.', `Name a UTF-8 text file: ${flag} @rules.md`] as const;
  return readNamedText(value.slice(1), flag, hints, context);
}

/** `hints`: for a file that is too large, and for one that is not text. */
export async function readNamedText(
  name: string,
  flag: string,
  hints: readonly [string, string],
  context: NamingContext,
): Promise<string> {
  const [{ readBytes }, { decodeText }, { resolveNamedFile }] = await Promise.all([
    import('../platform/files/read.ts'),
    import('../core/text/decode.ts'),
    import('./named-file.ts'),
  ]);
  const bytes = await readBytes(await resolveNamedFile(name, context), {
    name,
    maxBytes: MAX_BYTES,
    tooLarge: () => new AppError('usage', `${flag}: ${name} is larger than 1 MB`, { hint: hints[0] }),
  });
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', `${flag}: ${name} is not text`, { hint: hints[1] });
}
