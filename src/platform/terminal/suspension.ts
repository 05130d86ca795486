/** What goes on when a person sends the program to the background and back. */
export interface Suspension {
  /** Goes to the background, with all of a pipeline, as the terminal itself would; false where there is none. */
  start(): boolean;
  /** From now on the system does what it does. */
  end(): void;
}

/**
 * While this holds, going to the background calls `giveBack` first, and coming back calls `takeAgain`. Where nobody could
 * bring us back, as without a shell, the system keeps us here, and both are called one after the other.
 */
export function suspendable(giveBack: () => void, takeAgain: () => void): Suspension {
  if (process.platform === 'win32') return { start: () => false, end: () => {} };
  let isAway = false;
  const onContinue = (): void => {
    isAway = false;
    takeAgain();
  };
  const onStop = (): void => {
    giveBack();
    isAway = true;
    // SIGSTOP would stop us in any case; what SIGTSTP does by itself is what the system thinks right.
    process.off('SIGTSTP', onStop);
    process.kill(process.pid, 'SIGTSTP');
    process.on('SIGTSTP', onStop);
    // Whoever was brought back hears of it in the turn of the loop between these two.
    setImmediate(() => setImmediate(() => isAway && onContinue()));
  };
  process.on('SIGTSTP', onStop);
  process.on('SIGCONT', onContinue);
  return {
    start: () => process.kill(0, 'SIGTSTP'),
    end: () => {
      isAway = false;
      process.off('SIGTSTP', onStop);
      process.off('SIGCONT', onContinue);
    },
  };
}
