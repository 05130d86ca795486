import { AppError } from '../core/error.ts';
import type { SessionOptions } from './sessions.ts';

/** Throws AppError `usage` if the flags about sessions contradict each other. */
export function checkSessionFlags(options: SessionOptions): void {
  if (options.fork) checkFork(options);
  const given = [
    options.continue ? '-c' : '',
    options.resume === undefined ? '' : '-r',
    options.sessionName === undefined || options.fork ? '' : '--session-name',
    options.sessionId === undefined ? '' : '--session-id',
  ].filter((flag) => flag !== '');
  const [first, second] = given;
  const isNew = first?.startsWith('--');
  if (second !== undefined && !isNew) {
    const hint = second === '-r' ? 'Use one of them.' : 'That is for a new session. To rename one: gmn sessions rename';
    throw new AppError('usage', `${first} cannot be combined with ${second}`, { hint });
  }
  if (isNew && options.noSession) {
    throw new AppError('usage', `${first} cannot be combined with --no-session`, {
      hint: 'Leave one of them out; GMN_NO_SESSION counts as --no-session.',
    });
  }
}

function checkFork(options: SessionOptions): void {
  if (!options.continue && options.resume === undefined) {
    throw new AppError('usage', '--fork needs -c or -r', { hint: 'Example: gmn -c --fork "…"' });
  }
  if (options.noSession) {
    throw new AppError('usage', '--fork cannot be combined with --no-session', {
      hint: 'Leave one of them out; GMN_NO_SESSION counts as --no-session.',
    });
  }
}
