import type { AppError } from '../../core/error.ts';

const LONGEST_ERROR = 2000;

/** A failure in one text: what went wrong, then what to do. */
export function failureText({ message, hint }: AppError): string {
  const text = hint === undefined || hint === '' ? message : `${message}\n${hint}`;
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR)}…` : text;
}
