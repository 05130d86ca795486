import { decodeTextFile, findLineEnding } from '../../core/text/text-file.ts';

/** An editor that has files open: what it shows may not be saved yet. It is asked by real path, for what the fence has let through. */
export interface Buffers {
  /** The bytes that the file would have if the editor saved it now; undefined if these are the same. Throws the signal's reason. */
  readonly read?: (path: string, onDisk: Uint8Array) => Promise<Uint8Array | undefined>;
  /** Lets the editor save these bytes; false if it could not do that exactly, so that nothing is done. Throws AppError `usage`. */
  readonly write?: (path: string, bytes: Uint8Array) => Promise<boolean>;
}

/** What editors offer: texts, by path. */
interface TextAccess {
  /** Undefined if it is none of its files. */
  readonly read: ((path: string) => Promise<string | undefined>) | undefined;
  readonly write: ((path: string, text: string) => Promise<void>) | undefined;
}

export function createBuffers({ read, write }: TextAccess): Buffers {
  return {
    read: read && (async (path, onDisk) => toUnsavedBytes(onDisk, await read(path))),
    write:
      write &&
      (async (path, bytes) => {
        const text = decodeTextFile(bytes)?.text;
        if (text === undefined || !Buffer.from(text, 'utf8').equals(bytes)) return false;
        await write(path, text);
        return true;
      }),
  };
}

/** Undefined also for what is no text. Many editors have line feeds in memory, whatever they save. */
function toUnsavedBytes(onDisk: Uint8Array, text: string | undefined): Uint8Array | undefined {
  const file = decodeTextFile(onDisk);
  if (file === undefined || !text?.isWellFormed() || toPlainLines(file.text) === toPlainLines(text)) return undefined;
  const ending = findLineEnding(file.text);
  const isPlain = ending !== '\n' && !text.includes('\r');
  return file.encode(isPlain ? text.replaceAll('\n', () => ending) : text);
}

function toPlainLines(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}
