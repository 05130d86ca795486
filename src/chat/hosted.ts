import { createSerial } from '../core/async.ts';
import { NEVER_REDRAWN, type Out } from '../core/io.ts';
import type { LineSource } from './line/source.ts';

/** The lines of a chat whose prompts come from another program, one at a time. */
export const NO_LINES: LineSource = {
  isTerminal: false,
  read: async () => ({ kind: 'end' }),
  watch: () => () => {},
  keepTypedKeys: () => {},
  withTerminal: (work) => work(),
  close: async () => {},
};

/** Where such a chat prints: what commands say is given to the other program. */
export interface CollectedOut {
  readonly out: Out;
  /** What is printed while `work` runs, and what was since the last time; one after the other. */
  collect<Result>(work: () => Promise<Result>): Promise<{ readonly text: string; readonly result: Result }>;
}

export function createCollectedOut(): CollectedOut {
  let text = '';
  const inOrder = createSerial();
  return {
    out: {
      ...{ ...NEVER_REDRAWN, isTerminal: false, columns: 80, isStyled: false },
      write: async (chunk) => {
        text += chunk;
      },
    },
    collect: (work) =>
      inOrder(async () => {
        const result = await work();
        const printed = text;
        text = '';
        return { text: printed, result };
      }),
  };
}
