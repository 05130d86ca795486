import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import type { SessionBeginning } from '../core/session.ts';
import { type AppendFile, createAppendFile, openAppendFile } from '../platform/append-file.ts';
import { lineBatches } from '../platform/line-file.ts';
import { parseHeader } from './reading.ts';
import { fileName, type Header, headerText, type Line, titleOf, VERSION } from './record.ts';

/** Where sessions are kept, and what their files are made with. */
export interface FilePlace {
  readonly directory: string;
  readonly clock: Clock;
  /** Of gmn. */
  readonly version: string;
  readonly newId: () => string;
  readonly report: (message: string) => void;
}

/** Where the file of a session comes from. */
export type Origin = { readonly id: string; readonly name: string | undefined } & (
  | { readonly kind: 'new'; readonly by: SessionBeginning['by']; readonly cwd: string }
  | { readonly kind: 'old'; readonly file: string }
  /** The first `end` bytes of another. */
  | { readonly kind: 'copy'; readonly source: string; readonly end: number; readonly cwd: string }
);

/** The file of a session: made, opened or copied when there is something to write. */
export interface SessionFile {
  /** Of the session; it changes when the file is left. */
  readonly id: string;
  /** The file, with the text of some lines added, of which `first` is the first. Throws what the system says. */
  open(text: string, first: Line): Promise<AppendFile>;
  /** The same for a file that somebody else has written to: a copy of its first `length` bytes. */
  leave(text: string, length: number): Promise<AppendFile>;
}

/** The file that comes from `origin`. */
export function sessionFile(place: FilePlace, origin: Origin): SessionFile {
  const { directory, clock, newId, report } = place;
  let { id } = origin;
  let file = '';
  const copy = (source: string, end: number, changes: Partial<Header>): Promise<AppendFile> => {
    const at = clock.now();
    file = join(directory, fileName(at, id));
    return copyLines({ source, end, file, changes: { ...changes, v: VERSION, id, at, gmn: place.version } });
  };
  return {
    get id() {
      return id;
    },
    async open(text, first) {
      if (origin.kind === 'copy')
        return added(await copy(origin.source, origin.end, { cwd: origin.cwd }), text, 'discard');
      if (origin.kind === 'old') {
        file = origin.file;
        return added(await openAppendFile(file, clock.now()), text, 'close');
      }
      file = join(directory, fileName(first.at, id));
      return createAppendFile(file, headerText(newHeader(place, origin, first)) + text);
    },
    async leave(text, length) {
      const source = file;
      id = newId();
      report(`somebody else wrote to this session; going on with a copy, ${id.slice(0, 8)}`);
      return added(await copy(source, length, {}), text, 'discard');
    },
  };
}

function newHeader(
  { version }: FilePlace,
  { id, by, cwd }: Extract<Origin, { readonly kind: 'new' }>,
  { at, standing: { name }, entry }: Line,
): Header {
  const title = 'content' in entry ? titleOf(entry.content) : '';
  return { v: VERSION, id, at, cwd, by, gmn: version, title, ...(name === undefined ? {} : { name }) };
}

async function added(file: AppendFile, text: string, onFailure: 'close' | 'discard'): Promise<AppendFile> {
  try {
    if ((await file.append(text)) === 'overtaken') throw new Error('somebody else writes to it');
    return file;
  } catch (thrown) {
    await file[onFailure]();
    throw thrown;
  }
}

interface Copying {
  readonly source: string;
  readonly end: number;
  readonly file: string;
  /** What its header says in place of what the source's does. */
  readonly changes: Partial<Header>;
}

/** A copy under another header; it has no name, since names are for one. */
async function copyLines({ source, end, file, changes }: Copying): Promise<AppendFile> {
  let copy: AppendFile | undefined;
  try {
    for await (const { lines, isTorn } of lineBatches(source, { end })) {
      if (isTorn) break;
      const [first = '', ...rest] = lines;
      const header = copy === undefined ? parseHeader(first) : undefined;
      if (copy === undefined && header === undefined) throw new Error('it is not a session');
      if (header !== undefined) {
        const { name: _, ...kept } = header;
        copy = await createAppendFile(file, headerText({ ...kept, ...changes, parent: { id: header.id } }));
      }
      const wanted = header === undefined ? lines : rest;
      if (wanted.length > 0) await copy?.append(`${wanted.join('\n')}\n`);
    }
    if (copy === undefined) throw new Error('it is gone');
    return copy;
  } catch (thrown) {
    await copy?.discard();
    throw thrown;
  }
}
