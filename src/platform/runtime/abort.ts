import { setMaxListeners } from 'node:events';

/** Any number may listen on its signal: Node would warn of a leak after ten. */
export function createAbortable(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Calls `action` once when the signal aborts, unless the returned function is called first. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}

/** The same for a signal that is not ours: any number of runs may share it, and Node would print a warning after ten. */
export function followSignal(signal: AbortSignal, action: () => void): () => void {
  // A signal of another library, such as jsdom's, has no such limit.
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  return onAbort(signal, action);
}
