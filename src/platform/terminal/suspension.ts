export interface Suspension {
  /** Suspends the whole pipeline, as the terminal itself would; false on Windows. */
  start(): boolean;
  end(): void;
}

/** Until `end`. Where nobody could resume us, the system does not suspend, and both are called. Several may be open. */
export function handleSuspension(onSuspend: () => void, onResume: () => void): Suspension {
  if (process.platform === 'win32') return { start: () => false, end: () => {} };
  let isAway = false;
  const onContinue = (): void => {
    isAway = false;
    onResume();
  };
  const onStop = (): void => {
    onSuspend();
    isAway = true;
    // By then all handlers have run, and what they wrote has been written.
    setImmediate(() => {
      if (process.listeners('SIGTSTP').at(-1) === onStop) stopProcess();
      // If we were suspended, SIGCONT is handled between these two turns.
      setImmediate(() => setImmediate(() => isAway && onContinue()));
    });
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

/** SIGTSTP, not SIGSTOP: the system ignores it for orphaned process groups, which nobody could resume. */
function stopProcess(): void {
  const listeners = process.listeners('SIGTSTP');
  process.removeAllListeners('SIGTSTP');
  process.kill(process.pid, 'SIGTSTP');
  for (const listener of listeners) process.on('SIGTSTP', listener);
}
