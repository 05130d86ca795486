import { AppError } from '../core/error.ts';
import { takeBefore } from '../core/text/trim.ts';

/** The values of a TOML file. Throws AppError `config`, which begins with what `toPlace` gives for a line. */
export async function parseToml(
  text: string,
  toPlace: (line: number) => string,
): Promise<Readonly<Record<string, unknown>>> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    // A number that JavaScript cannot hold is no reason to fail.
    return parse(text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n'), { integersAsBigInt: 'asNeeded' });
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const why = takeBefore(cause.message, '\n').replace(/^Invalid TOML document: /, '');
    throw new AppError('config', `${toPlace(cause.line)}: ${why}`, { cause, hint: 'Fix that file: https://toml.io' });
  }
}
