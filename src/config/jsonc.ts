import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { AppError } from '../core/error.ts';

/** JSON with comments and trailing commas. Throws AppError `config` with `file:line:column` of the first fault. */
export function parseJsonc(text: string, file: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const before = text.slice(0, first.offset).split('\n');
  const position = `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  throw new AppError('config', `${position}: ${words(printParseErrorCode(first.error))}`, {
    hint: 'Mend the file: it must be JSON, comments are allowed.',
  });
}

/** `CommaExpected` → `comma expected`. */
function words(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
