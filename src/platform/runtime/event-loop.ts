/** Lets signals, keys and timers have their turn between two slices of long work. Throws the signal's reason. */
export async function yieldToEvents(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
