import type { Line } from './record.ts';
import type { SessionFile } from './session-file.ts';
import { troubleOf } from './trouble.ts';

/** `synced`: it shall survive a loss of power; `written`: the end of this process. */
export type Durability = 'synced' | 'written';

/** Writes the lines of one session, and those later that cannot be written now. Nothing here throws. */
export interface SessionWriter {
  /** Adds lines with one write, after those that could not be written before. Once closed, it does nothing. */
  put(lines: readonly Line[], durability: Durability): Promise<void>;
  /** Adds a line unless that cannot be done now; false: it is not in the file, and will not be. */
  tryPut(line: Line): Promise<boolean>;
  /** Whether something is in the file by us, or waits to be. */
  readonly hasBegun: boolean;
  /** Whether nothing waits to be written. */
  readonly isSaved: boolean;
  /** Writes what waits, if that can be done now, and lets others have the session. */
  close(): Promise<void>;
}

export interface WriterOptions {
  readonly file: Pick<SessionFile, 'add' | 'sync' | 'close'>;
  readonly report: (message: string) => void;
}

/** The writer of one session. Its calls must come one after the other. */
export function sessionWriter({ file, report }: WriterOptions): SessionWriter {
  let unsaved: Line[] = [];
  let hasBegun = false;
  let isFailing = false;
  let isClosed = false;

  /** Whether it could be done. */
  async function attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (thrown) {
      if (!isFailing) report(`this session is no longer being saved: ${troubleOf(thrown)}`);
      isFailing = true;
      return false;
    }
  }

  async function flush(): Promise<void> {
    if (unsaved.length === 0) return;
    await file.add(unsaved);
    unsaved = [];
    if (isFailing) report('this session is being saved again');
    isFailing = false;
  }

  return {
    get hasBegun() {
      return hasBegun;
    },
    get isSaved() {
      return unsaved.length === 0;
    },
    async put(lines, durability) {
      // A turn that was left may still end after the chat did; the session is in other hands then.
      if (isClosed) return;
      hasBegun = true;
      unsaved.push(...lines);
      await attempt(async () => {
        await flush();
        if (durability === 'synced') await file.sync();
      });
    },
    async tryPut(line) {
      if (isClosed || unsaved.length > 0) return false;
      hasBegun = true;
      return attempt(() => file.add([line]));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await attempt(flush);
      await file.close();
    },
  };
}
