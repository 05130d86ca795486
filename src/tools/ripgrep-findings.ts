import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { OpenedFile } from '../platform/files/held-file.ts';
import { inWalkOrder, isLostBy, isShownBy, type RipgrepWalk, walkArgs } from './ripgrep-search.ts';
import type { Finding, Findings, SearchRequest } from './search/engine.ts';
import { headOf, runRipgrep, type Sighting, takeSightings } from './search/ripgrep.ts';
import { encodingOf } from './search/worker.ts';

export interface RipgrepQuery extends RipgrepWalk {
  readonly request: SearchRequest;
  /** As the model wrote it. */
  readonly pattern: string;
  readonly isFixed: boolean;
  /** The files that are wanted, as a glob that spares ripgrep some; undefined: it would read it in another way. */
  readonly glob: string | undefined;
}

const MAX_MS = 20_000;
const MAX_SHOWN = 500;
const LINE_BYTES = 4096;
/** The byte order mark of UTF-8. */
const MARK_BYTES = 3;
/** A file in UTF-16 is read as a whole. */
const MAX_WIDE_BYTES = 64_000_000;

/**
 * What ripgrep finds. It is asked only where; every line is read by us, through the fence, so that it cannot be led out
 * of the workspace. Undefined if there is no ripgrep, or if it does not understand the pattern.
 */
export async function ripgrepFindings(
  program: string | undefined,
  query: RipgrepQuery,
  signal: AbortSignal,
): Promise<Findings | undefined> {
  if (program === undefined) return undefined;
  const { request, place } = query;
  const maxLines = (request.total + 100) * (1 + request.before + request.after);
  const found: Sighting[] = [];
  const standing = remembered(standingIn(query));
  const left = { binary: new Set<string>(), lost: new Set<string>() };
  const take = (printed: Buffer): Buffer | undefined => {
    const seen: Sighting[] = [];
    const rest = takeSightings(printed, seen);
    // Only what may be shown counts: the rest may be most of it.
    for (const sighting of seen) {
      const stands = standing(sighting.path);
      if (stands === 'shown') found.push(sighting);
      else if (stands !== 'hidden') left[stands].add(sighting.path);
    }
    return found.length > maxLines ? undefined : rest;
  };
  const run = { program, args: argsOf(query), cwd: place.path, maxMs: MAX_MS, take };
  const { stopped, isGood } = await runRipgrep(run, signal);
  if (!isGood) return undefined;
  const files: Finding[] = [];
  let matches = 0;
  let cut = 0;
  for (const [path, sightings] of byFile(found)) {
    if (matches >= request.total) break;
    signal.throwIfAborted();
    const finding = await readSightings(query, path, sightings);
    if (finding === undefined) continue;
    if (finding.isCut && finding.lines.length === 0) cut += 1;
    else files.push(finding);
    matches += finding.lines.filter(({ isMatch }) => isMatch).length;
  }
  const isFull = matches >= request.total || stopped === 'enough';
  const early = stopped === 'time' ? { stopped: `after ${MAX_MS / 1000} seconds` } : {};
  return { files, binary: left.binary.size, unreadable: left.lost.size, cut, isFull, ...early };
}

function argsOf(query: RipgrepQuery): readonly string[] {
  const { request, pattern, isFixed, glob } = query;
  return [
    // The last glob that matches wins: what is left out comes last.
    ...(glob === undefined ? [] : ['--iglob', glob]),
    ...walkArgs(query),
    ...['--line-number', '--column', '--byte-offset', '--no-heading'],
    ...['--with-filename', '--max-columns=1', '--no-context-separator', '--crlf'],
    // A byte that is no text, late in a file, does not end the search; what is no text from the start is told by us.
    '--text',
    request.isFolded || request.flags.includes('i') ? '--ignore-case' : '--case-sensitive',
    `--max-count=${request.perFile}`,
    `--before-context=${request.before}`,
    `--after-context=${request.after}`,
    ...(isFixed ? ['--fixed-strings'] : []),
    ...['-e', pattern, '--', './'],
  ];
}

type Standing = 'shown' | 'hidden' | 'binary' | 'lost';

/** What becomes of what was found in a file: `lost` is one that cannot be opened by its name. */
function standingIn(query: RipgrepQuery): (path: string) => Standing {
  const isShown = isShownBy(query);
  const isLost = isLostBy(query);
  return (path) => {
    if (!isShown(path)) return isLost(path) ? 'lost' : 'hidden';
    const head = headOf(join(query.place.path, path));
    return head !== undefined && encodingOf(head) === undefined ? 'binary' : 'shown';
  };
}

/** Many lines in a row are of one file. */
function remembered(standing: (path: string) => Standing): (path: string) => Standing {
  let last: { readonly path: string; readonly answer: Standing } | undefined;
  return (path) => {
    last = last?.path === path ? last : { path, answer: standing(path) };
    return last.answer;
  };
}

function byFile(sightings: readonly Sighting[]): readonly (readonly [path: string, sightings: readonly Sighting[]])[] {
  const files = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const list = files.get(sighting.path);
    if (list === undefined) files.set(sighting.path, [sighting]);
    else list.push(sighting);
  }
  return inWalkOrder([...files], ([path]) => path);
}

async function readSightings(
  { workspace, place }: RipgrepQuery,
  path: string,
  sightings: readonly Sighting[],
): Promise<Finding | undefined> {
  try {
    const { file } = await workspace.open(join(place.path, path));
    try {
      const read = await lineReader(file);
      if (read === undefined) return { path, lines: [], isCut: true };
      const lines = [];
      for (const sighting of sightings) {
        const { line, column } = sighting;
        lines.push({ line, text: await read(sighting), isMatch: column !== undefined });
      }
      return { path, lines, isCut: false };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    // It was there for ripgrep, but the fence does not let us in, or it is gone.
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

type ReadLine = (sighting: Sighting) => Promise<string>;

/** Ripgrep counts in the text as UTF-8, without its mark. Undefined if what must be read as a whole is too large. */
async function lineReader(file: OpenedFile): Promise<ReadLine | undefined> {
  const head = Buffer.from(await file.read(0, MARK_BYTES));
  const encoding = encodingOf(head);
  if (encoding === 'utf8' || encoding === undefined) {
    const mark = head.indexOf('\ufeff') === 0 ? MARK_BYTES : 0;
    return (sighting) => lineAt(file, { ...sighting, offset: sighting.offset + mark });
  }
  if (file.size > MAX_WIDE_BYTES) return undefined;
  const bytes = await file.read(0, file.size);
  const lines = new TextDecoder(encoding === 'utf16le' ? 'utf-16le' : 'utf-16be').decode(bytes).split('\n');
  return async ({ line, column = 1 }) => {
    const text = (lines[line - 1] ?? '').replace(/\r$/, '');
    const from = column > LINE_BYTES / 2 ? column - 100 : 0;
    return shownOf(text.slice(from), from);
  };
}

async function lineAt(file: OpenedFile, { offset, column = 1 }: Sighting): Promise<string> {
  // Of a very long line, the part around the match.
  const skipped = column > LINE_BYTES / 2 ? column - 100 : 0;
  const bytes = Buffer.from(await file.read(offset + skipped, LINE_BYTES));
  const feed = bytes.indexOf(10);
  const text = bytes.toString('utf8', 0, feed === -1 ? bytes.length : feed).replace(/\r$/, '');
  return shownOf(text, skipped);
}

function shownOf(text: string, skipped: number): string {
  if (skipped === 0 && text.length <= MAX_SHOWN) return text;
  return `${skipped > 0 ? '…' : ''}${text.slice(0, MAX_SHOWN)}… [line cut]`;
}
