import { AppError, type ErrorOptions } from '../../core/error.ts';
import type { DelegateCode } from './jobs/job.ts';

/** A failure with the code by which programs know it. */
export class CodedError extends AppError {
  readonly code: DelegateCode;

  constructor(code: DelegateCode, message: string, options: ErrorOptions = {}) {
    super(code === 'OVERLOADED' ? 'limit' : 'usage', message, options);
    this.code = code;
  }
}

/** The code of any failure. */
export function codeOf(error: AppError): DelegateCode {
  if (error instanceof CodedError) return error.code;
  return error.isTimeout ? 'TIMEOUT' : 'EXECUTION_FAILED';
}
