import { AppError, type ErrorOptions } from '../../core/error.ts';
import type { DelegateCode } from './jobs/job.ts';

const LONGEST_ERROR = 2000;

/** What whoever runs the server can give; all other flags of the command line are none that a caller has. */
const SERVER_FLAGS = [
  ...['--root', '--allow-write', '--allow-shell', '--max-running', '--max-queued'],
  ...['--auth', '--backend', '--demo', '--refresh'],
];

/** A line for a shell that feeds gmn's stdin. */
const PIPE = /\| gmn\b/;

/** A failure in one text: what went wrong, then what to do. */
export function failureText({ message, hint = '' }: AppError): string {
  const text = [message, forCallers(hint)].filter((part) => part !== '').join('\n');
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR)}…` : text;
}

/** Words that were meant for a person at a shell, without the advice that a caller of a tool cannot follow. */
export function forCallers(text: string): string {
  return text
    .split(/(?<=[.!?])\s+/)
    .map((sentence) => {
      const clauses = sentence.split('; ');
      const strange = clauses.findIndex((clause) => hasStrangeFlag(clause) || PIPE.test(clause));
      return strange === -1 ? sentence : clauses.slice(0, strange).join('; ');
    })
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function hasStrangeFlag(clause: string): boolean {
  const flags = clause.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? [];
  return flags.some((flag) => !SERVER_FLAGS.includes(flag));
}

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
