/** What goes on when a person sends the program to the background and back. */
export interface Suspension {
  /** Goes to the background, with all of a pipeline, as the terminal itself would; false where there is none. */
  start(): boolean;
  /** From now on the system does what it does. */
  end(): void;
}

/**
 * While this holds, going to the background calls `giveBack` first, and coming back calls `takeAgain`. Where there is no
 * background, nothing happens.
 */
export function suspendable(giveBack: () => void, takeAgain: () => void): Suspension {
  if (process.platform === 'win32') return { start: () => false, end: () => {} };
  const onStop = (): void => {
    giveBack();
    process.kill(process.pid, 'SIGSTOP');
  };
  process.on('SIGTSTP', onStop);
  process.on('SIGCONT', takeAgain);
  return {
    start: () => process.kill(0, 'SIGTSTP'),
    end: () => {
      process.off('SIGTSTP', onStop);
      process.off('SIGCONT', takeAgain);
    },
  };
}
