/** The requests of a client that are still answered after it has closed its input. */
export function trackUnanswered() {
  const ids = new Set<unknown>();
  let done: () => void = () => {};
  return {
    add: (id: unknown): void => void ids.add(id),
    /** It is answered, or gets no answer. */
    remove(id: unknown): void {
      if (ids.delete(id) && ids.size === 0) done();
    },
    async allAnswered(): Promise<void> {
      if (ids.size === 0) return;
      await new Promise<void>((resolve) => {
        done = resolve;
      });
    },
  };
}
