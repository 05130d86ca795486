import type { AppendFile } from '../platform/append-file.ts';
import type { BlobFiles } from '../platform/blob-files.ts';
import { lineWithoutMedia } from './media.ts';
import type { Line } from './record.ts';
import type { SessionFile } from './session-file.ts';
import { troubleOf } from './trouble.ts';

/** `synced`: it shall survive a loss of power; `written`: the end of this process. */
export type Durability = 'synced' | 'written';

/** The file of a session, as far as one process writes it. Nothing here throws. */
export interface SessionWriter {
  /** Adds a line, and those that could not be written before. */
  put(line: Line, durability: Durability): Promise<void>;
  /** Adds a line that is of no use later: if it cannot be written now, it is forgotten. */
  tryPut(line: Line): Promise<void>;
  /** Whether something is in the file, or waits to be. */
  readonly hasBegun: boolean;
  /** Whether nothing waits to be written. */
  readonly isSaved: boolean;
  close(): Promise<void>;
}

export interface WriterOptions {
  readonly file: SessionFile;
  readonly blobs: BlobFiles;
  readonly report: (message: string) => void;
}

/** The writer of one session. Its calls must come one after the other. */
export function sessionWriter({ file: source, blobs, report }: WriterOptions): SessionWriter {
  let file: AppendFile | undefined;
  let unsaved: Line[] = [];
  let isFailing = false;

  async function write(lines: readonly Line[], first: Line): Promise<AppendFile> {
    const texts: string[] = [];
    for (const line of lines) texts.push(await lineWithoutMedia(line, blobs));
    const text = texts.join('');
    if (file === undefined) return source.open(text, first);
    if ((await file.append(text)) === 'written') return file;
    const { length } = file;
    const next = await source.leave(text, length);
    await file.close();
    return next;
  }

  function fail(thrown: unknown): void {
    if (!isFailing) report(`this chat is no longer being saved: ${troubleOf(thrown)}`);
    isFailing = true;
  }

  async function flush(): Promise<void> {
    const [first] = unsaved;
    if (first === undefined) return;
    file = await write(unsaved, first);
    unsaved = [];
    if (isFailing) report('this chat is being saved again');
    isFailing = false;
  }

  return {
    get hasBegun() {
      return file !== undefined || unsaved.length > 0;
    },
    get isSaved() {
      return unsaved.length === 0;
    },
    async put(line, durability) {
      unsaved.push(line);
      try {
        await flush();
        if (durability === 'synced') await file?.sync();
      } catch (thrown) {
        fail(thrown);
      }
    },
    async tryPut(line) {
      if (unsaved.length > 0) return;
      try {
        file = await write([line], line);
      } catch (thrown) {
        fail(thrown);
      }
    },
    async close() {
      await flush().catch(fail);
      await file?.close().catch(() => {});
      file = undefined;
    },
  };
}
