import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Finding, Findings, SearchRequest } from '../platform/search-engine.ts';
import { runRipgrep, type Sighting, takeSightings } from '../platform/search-ripgrep.ts';
import type { OpenedFile } from '../platform/workspace-file.ts';
import { inWalkOrder, isShownBy, type RipgrepWalk, walkArgs } from './ripgrep-walk.ts';

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
  const isShown = remembered(isShownBy(query));
  const take = (printed: Buffer): Buffer | undefined => {
    const seen: Sighting[] = [];
    const rest = takeSightings(printed, seen);
    // Only what may be shown counts: the rest may be most of it.
    for (const sighting of seen) if (isShown(sighting.path)) found.push(sighting);
    return found.length > maxLines ? undefined : rest;
  };
  const run = { program, args: argsOf(query), cwd: place.path, maxMs: MAX_MS, take };
  const { stopped, isGood } = await runRipgrep(run, signal);
  if (!isGood) return undefined;
  const files: Finding[] = [];
  let matches = 0;
  for (const [path, sightings] of byFile(found)) {
    if (matches >= request.total) break;
    signal.throwIfAborted();
    const finding = await readSightings(query, path, sightings);
    if (finding === undefined) continue;
    files.push(finding);
    matches += finding.lines.filter(({ isMatch }) => isMatch).length;
  }
  const isFull = matches >= request.total || stopped === 'enough';
  const early = stopped === 'time' ? { stopped: `after ${MAX_MS / 1000} seconds` } : {};
  return { files, binary: 0, unreadable: 0, cut: 0, isFull, ...early };
}

function argsOf(query: RipgrepQuery): readonly string[] {
  const { request, pattern, isFixed, glob } = query;
  return [
    // The last glob that matches wins: what is left out comes last.
    ...(glob === undefined ? [] : ['--iglob', glob]),
    ...walkArgs(query),
    ...['--line-number', '--column', '--byte-offset', '--no-heading'],
    ...['--with-filename', '--max-columns=1', '--no-context-separator', '--crlf', '--encoding=none'],
    request.isFolded || request.flags.includes('i') ? '--ignore-case' : '--case-sensitive',
    `--max-count=${request.perFile}`,
    `--before-context=${request.before}`,
    `--after-context=${request.after}`,
    ...(isFixed ? ['--fixed-strings'] : []),
    ...['-e', pattern, '--', './'],
  ];
}

/** Many lines in a row are of one file. */
function remembered(isShown: (path: string) => boolean): (path: string) => boolean {
  let last: { readonly path: string; readonly answer: boolean } | undefined;
  return (path) => {
    last = last?.path === path ? last : { path, answer: isShown(path) };
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
      const lines = [];
      for (const sighting of sightings) {
        const { line, column } = sighting;
        lines.push({ line, text: await lineAt(file, sighting), isMatch: column !== undefined });
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

async function lineAt(file: OpenedFile, { offset, column = 1 }: Sighting): Promise<string> {
  // Of a very long line, the part around the match.
  const skipped = column > LINE_BYTES / 2 ? column - 100 : 0;
  const bytes = Buffer.from(await file.read(offset + skipped, LINE_BYTES));
  const feed = bytes.indexOf(10);
  const text = bytes.toString('utf8', 0, feed === -1 ? bytes.length : feed).replace(/\r$/, '');
  if (skipped === 0 && text.length <= MAX_SHOWN) return text;
  return `${skipped > 0 ? '…' : ''}${text.slice(0, MAX_SHOWN)}… [line cut]`;
}
