export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** For tests that wait for an event, not for a time. */
export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
