import { AppError } from './error.ts';

/** How deep a file may nest: no setting needs a tenth of it, and much deeper ones would exhaust the stack. */
export const MAX_DEPTH = 100;

/** For a file whose values nest deeper than `MAX_DEPTH`. */
export function nestedTooDeeply(file: string): AppError {
  return new AppError('config', `${file}: nested deeper than ${MAX_DEPTH} levels`, {
    hint: 'Mend or remove that file.',
  });
}
