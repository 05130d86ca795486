const actions = new Set<() => void>();

/**
 * Calls `action` when this process exits, unless the returned function is called first. One listener for all of them, and none
 * while there are none: Node prints a warning about more than ten.
 */
export function onProcessExit(action: () => void): () => void {
  if (actions.size === 0) process.on('exit', runAll);
  actions.add(action);
  return () => {
    actions.delete(action);
    if (actions.size === 0) process.off('exit', runAll);
  };
}

function runAll(): void {
  for (const action of actions) action();
}
