/** A text that grows delta by delta and is read once, piece by piece, without ever being one string. */
export interface KeptText {
  add(delta: string): void;
  readonly length: number;
  /** The text, in order, in pieces of about 64 KB. */
  pieces(): readonly string[];
}

const PIECE_LENGTH = 65_536;

/** Joins small deltas as they come: a string of its own for each would cost more than the text itself. */
export function keepText(): KeptText {
  const whole: string[] = [];
  let open: string[] = [];
  let openLength = 0;
  let length = 0;
  const close = (): void => {
    if (open.length > 0) whole.push(open.join(''));
    open = [];
    openLength = 0;
  };
  return {
    add(delta) {
      open.push(delta);
      openLength += delta.length;
      length += delta.length;
      if (openLength >= PIECE_LENGTH) close();
    },
    get length() {
      return length;
    },
    pieces() {
      close();
      return whole;
    },
  };
}
