import { AppError } from '../../../core/error.ts';

/** What is thrown where the person must sign in, and cannot be asked to; `faultOf` says at which server, and how. */
export function signInWanted(): AppError {
  return new AppError('mcp', 'it wants you to sign in', { status: 401 });
}
