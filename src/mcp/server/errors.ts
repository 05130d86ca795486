import type { AppError } from '../../core/error.ts';
import type { DelegateCode } from './jobs/job.ts';

const MAX_ERROR_CHARS = 2000;

/** A caller of a tool can use no other flags. */
const SERVER_FLAGS = [
  ...['--root', '--allow-write', '--allow-shell', '--max-running', '--max-queued', '--max-cost'],
  ...['--auth', '--backend', '--demo', '--refresh'],
];

const PIPE = /\| gmn\b/;

/** How much of a command's output an error repeats, from its end, which says most. */
const MAX_OUTPUT_CHARS = 1500;

export function formatFailure({ message, hint = '', fault, details }: AppError): string {
  const { output = '' } = fault === 'verify' ? details : {};
  const end = output.slice(-MAX_OUTPUT_CHARS).toWellFormed();
  const text = [message, dropShellAdvice(hint), end].filter((part) => part !== '').join('\n');
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}

/** Removes advice for a person at a shell that the caller of a tool cannot follow. */
export function dropShellAdvice(text: string): string {
  return text
    .split(/(?<=[.!?])\s+/)
    .map((sentence) => {
      const clauses = sentence.split('; ');
      const unusable = clauses.findIndex((clause) => hasUnknownFlag(clause) || PIPE.test(clause));
      return unusable === -1 ? sentence : clauses.slice(0, unusable).join('; ');
    })
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function hasUnknownFlag(clause: string): boolean {
  const flags = clause.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? [];
  return flags.some((flag) => !SERVER_FLAGS.includes(flag));
}

export function toErrorCode({ fault, details }: AppError): DelegateCode {
  if ('code' in details && details.code !== undefined) return details.code;
  return fault === 'api' && details.isTimeout ? 'TIMEOUT' : 'EXECUTION_FAILED';
}
