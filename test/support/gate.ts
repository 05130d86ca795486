export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** Something to wait for, in the place of time. */
export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
