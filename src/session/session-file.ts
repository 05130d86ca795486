import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import type { SessionSource } from '../core/session.ts';
import { shortenId } from '../core/text/names.ts';
import { type AppendFile, createAppendFile, openAppendFile } from '../platform/files/append.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { readLineBatches } from '../platform/files/lines.ts';
import type { Lock } from '../platform/files/lock.ts';
import { recoverHeader } from './parse.ts';
import {
  deriveTitle,
  type FileRecord,
  formatFileName,
  formatHeader,
  formatSaveError,
  type Header,
  listContents,
  VERSION,
  writeBlobsAndFormat,
} from './record.ts';

type Pieces = Iterable<string> | AsyncIterable<string>;

export interface StoreContext {
  readonly directory: string;
  readonly trash: string;
  readonly clock: Clock;
  readonly version: string;
  readonly blobs: BlobStore;
  readonly newId: () => string;
  readonly lock: (id: string, maxWaitMs?: number) => Promise<Lock>;
  readonly report: (message: string) => void;
}

/** A freshly generated id needs no lock until its file is created, since nobody else can open it. */
export type Origin = { readonly id: string; readonly name: string | undefined } & (
  | {
      readonly kind: 'new';
      readonly lock: Lock | undefined;
      readonly by: SessionSource;
      readonly cwd: string;
      readonly at?: number;
    }
  /** An existing file; `end` is where its last complete line ended when it was read. */
  | { readonly kind: 'old'; readonly lock: Lock; readonly file: string; readonly end: number }
  /** A copy of the first `end` bytes of `source`. */
  | { readonly kind: 'copy'; readonly lock: Lock; readonly source: string; readonly end: number; readonly cwd: string }
);

/** Created, opened or copied at the first write. */
export interface SessionFile {
  /** Changes when another process has written to the file and this session continues as a copy. */
  readonly id: string;
  /** Written in each record from now on. A copy has no name, since names are unique. */
  name: string | undefined;
  /** Adds all lines or none. Throws what the system throws. */
  add(lines: readonly FileRecord[]): Promise<void>;
  /** Resolves when what was added would survive a power loss. Throws what the system throws. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export function sessionFile(place: StoreContext, origin: Origin): SessionFile {
  const { directory, clock, blobs, version: gmn } = place;
  let { lock } = origin;
  let path = origin.kind === 'old' ? origin.file : '';
  let file: AppendFile | undefined;

  async function createNew({ at, id }: Pick<Header, 'at' | 'id'>, pieces: Pieces): Promise<void> {
    const next = join(directory, formatFileName(at, id));
    file = await createAppendFile(next, pieces);
    path = next;
  }

  async function open(lines: readonly FileRecord[]): Promise<void> {
    if (origin.kind === 'old') {
      file = await openAppendFile(path, { now: clock.now(), end: origin.end });
      return append(file, lines);
    }
    lock ??= await place.lock(origin.id);
    const text = await formatRecords(lines, self.name, blobs);
    if (origin.kind === 'new') {
      const header = createHeader(place, { ...origin, name: self.name }, lines);
      return createNew(header, [formatHeader(header) + text]);
    }
    const changes = { id: self.id, at: clock.now(), gmn, cwd: origin.cwd };
    return createNew(changes, copyLines(origin, changes, text));
  }

  async function append(to: AppendFile, lines: readonly FileRecord[]): Promise<void> {
    if ((await to.append(await formatRecords(lines, self.name, blobs))) === 'overtaken')
      await continueAsCopy(to, lines);
  }

  /** Another process has written to the file: continue in a copy of what we know of it. */
  async function continueAsCopy(theirs: AppendFile, lines: readonly FileRecord[]): Promise<void> {
    const changes = { id: place.newId(), at: clock.now(), gmn };
    const next = await place.lock(changes.id);
    try {
      const text = await formatRecords(lines, undefined, blobs);
      await createNew(changes, copyLines({ source: path, end: theirs.length }, changes, text));
    } catch (thrown) {
      await next.release();
      throw thrown;
    }
    await closeAndRelease(theirs, lock);
    lock = next;
    self.id = changes.id;
    self.name = undefined;
    place.report(`another process wrote to this session; continuing in a copy, ${shortenId(self.id)}`);
  }

  const self = {
    id: origin.id,
    name: origin.name,
    add: (lines: readonly FileRecord[]) => (file === undefined ? open(lines) : append(file, lines)),
    sync: async () => file?.sync(),
    close: () => closeAndRelease(file, lock),
  };
  return self;
}

async function closeAndRelease(file: AppendFile | undefined, lock: Lock | undefined): Promise<void> {
  await file?.close().catch(() => {});
  await lock?.release();
}

async function formatRecords(
  lines: readonly FileRecord[],
  name: string | undefined,
  blobs: BlobStore,
): Promise<string> {
  let text = '';
  for (const line of lines) text += await writeBlobsAndFormat({ ...line, state: { ...line.state, name } }, blobs);
  return text;
}

function createHeader(
  { version }: StoreContext,
  { id, by, cwd, name, at }: Extract<Origin, { readonly kind: 'new' }>,
  lines: readonly FileRecord[],
): Header {
  const prompt = lines.flatMap(({ body }) => listContents(body)).find(({ role }) => role === 'user');
  const title = prompt === undefined ? '' : deriveTitle(prompt);
  return {
    v: VERSION,
    id,
    at: at ?? lines[0]?.at ?? 0,
    cwd,
    by,
    gmn: version,
    title,
    name,
  };
}

/** A new header without a name, the lines of the source, then `text`. */
async function* copyLines(
  { source, end }: { readonly source: string; readonly end: number },
  changes: Partial<Header>,
  text: string,
): AsyncGenerator<string, void> {
  let hasHeader = false;
  for await (const { lines, isTorn } of readLineBatches(source, end)) {
    if (isTorn) break;
    let wanted = lines;
    if (!hasHeader) {
      const header = recoverHeader(source, lines[0] ?? '');
      if (header === undefined) throw new Error('it is not a session');
      const { name: _, isDamaged: __, ...kept } = header;
      yield formatHeader({ ...kept, ...changes, v: VERSION, parent: { id: header.id } });
      hasHeader = true;
      wanted = lines.slice(1);
    }
    if (wanted.length > 0) yield `${wanted.join('\n')}\n`;
  }
  if (!hasHeader) throw new Error('it is gone');
  yield text;
}

/** `synced` survives a power loss; `written` survives the end of this process. */
export type Durability = 'synced' | 'written';

/** Writes the lines of one session; what fails is retried with the next write. Nothing here throws. */
export interface SessionWriter {
  /** Adds lines in one write, after those that failed before. Does nothing once closed. */
  append(lines: readonly FileRecord[], durability: Durability): Promise<void>;
  /** Adds a line, or returns false; the line is then not retried. */
  tryPut(line: FileRecord): Promise<boolean>;
  readonly hasBegun: boolean;
  readonly isSaved: boolean;
  /** Retries once what is not written yet, then releases the session lock. */
  close(): Promise<void>;
}

interface WriterOptions {
  readonly file: Pick<SessionFile, 'add' | 'sync' | 'close'>;
  readonly report: (message: string) => void;
}

/** Calls must not overlap. */
export function sessionWriter({ file, report }: WriterOptions): SessionWriter {
  let unsaved: FileRecord[] = [];
  let hasBegun = false;
  let isFailing = false;
  let isClosed = false;

  async function attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (thrown) {
      if (!isFailing) report(`this session is no longer being saved: ${formatSaveError(thrown)}`);
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
    async append(lines, durability) {
      // A turn that was abandoned may end after the chat is closed; another process may have the session by then.
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
