import type { Io, Out } from '../core/io.ts';

/** The streams of something that may be left before it is done. */
export interface Voice {
  readonly io: Io;
  /** From now on nothing that is written there is shown; what stood on an unfinished line is ended, or taken away. */
  hush(): Promise<void>;
}

/** The same streams, until they are hushed. */
export function voiceOn({ out, err }: Io): Voice {
  let isHushed = false;
  let last = '\n';
  const spoken = (stream: Out): Out => ({
    async write(chunk) {
      if (isHushed) return;
      if (stream.isTerminal && chunk !== '') last = chunk;
      await stream.write(chunk);
    },
    get isTerminal() {
      return stream.isTerminal;
    },
    get columns() {
      return stream.columns;
    },
    get isStyled() {
      return stream.isStyled;
    },
  });
  return {
    io: { out: spoken(out), err: spoken(err) },
    async hush() {
      isHushed = true;
      if (!err.isTerminal || last.endsWith('\n')) return;
      // Only what is drawn again and again, as a spinner is, begins at the edge; it is not worth keeping.
      await err.write(last.startsWith('\r') ? '\r\u001b[K' : '\n');
    },
  };
}
