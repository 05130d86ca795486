import { isatty } from 'node:tty';

/** Whether a person sits there: stdin and stderr are both terminals. */
export function isAttended(): boolean {
  return isatty(0) && isatty(2);
}
