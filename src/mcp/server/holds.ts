/** What is in use, by name: a session or a conversation has one turn at a time. */
export interface Holds {
  isHeld(key: string): boolean;
  /** Holds it, whoever else does; it is free when all have called what they got. */
  hold(key: string): () => void;
  /** Calls `listener` whenever something is free again. */
  onFree(listener: () => void): void;
}

/** Nothing is held at first. */
export function holds(): Holds {
  const counts = new Map<string, number>();
  const listeners: (() => void)[] = [];
  const release = (key: string): void => {
    const left = (counts.get(key) ?? 1) - 1;
    if (left > 0) counts.set(key, left);
    else {
      counts.delete(key);
      for (const listener of listeners) listener();
    }
  };
  return {
    isHeld: (key) => counts.has(key),
    hold(key) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return () => release(key);
    },
    onFree: (listener) => void listeners.push(listener),
  };
}
