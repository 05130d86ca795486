import { join, type PlatformPath, posix } from 'node:path';
import { AppError } from '../core/error.ts';
import { sniffEncoding } from '../core/text/decode.ts';
import { toSlashes } from '../core/text/path.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { realPath } from '../platform/files/path.ts';
import { readHead } from '../platform/files/read-sync.ts';
import type { OpenedFile } from '../platform/files/regular-file.ts';
import { filterPaced } from '../platform/runtime/pace.ts';
import type { Finding, Findings, SearchRequest } from './search/engine.ts';
import { createIgnoreCheck, hasSharedLevels } from './search/ignore.ts';
import { type MatchPosition, parsePaths, parsePositions, runRipgrep } from './search/ripgrep.ts';
import { createTreePace, readPlaceRules, SKIPPED_DIRECTORIES } from './tree.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

interface RipgrepWalk {
  readonly workspace: Workspace;
  readonly place: Place;
  readonly isIgnoring: boolean;
  readonly accepts: (path: string) => boolean;
}

const MAX_MS = 20_000;

function toWalkArgs({ workspace, place, isIgnoring }: RipgrepWalk): readonly string[] {
  const hasParents = isIgnoring && hasSharedLevels(readPlaceRules(workspace, place));
  const own = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude', '--no-require-git'];
  return [
    ...['--no-config', '--no-messages', '--null', '--color=never', '--hidden'],
    ...(isIgnoring ? own : ['--no-ignore']),
    ...(hasParents ? [] : ['--no-ignore-parent']),
    ...['.git', ...SKIPPED_DIRECTORIES].flatMap((name) => ['--glob', `!**/${name}/**`]),
  ];
}

/** A glob without a slash matches in every directory. On Windows models write backslashes, too. */
export function toAnywhereGlob(pattern: string, paths?: PlatformPath): string {
  const glob = toSlashes(pattern, paths);
  return glob.includes('/') ? glob : `**/${glob}`;
}

/** The glob if ripgrep reads it exactly as we do; else undefined. */
export function toSharedGlob(text: string): string | undefined {
  return /^[\w*][\w*./-]*$/.test(text) ? text : undefined;
}

/**
 * Decides whether a path from ripgrep may be shown: ripgrep knows neither all ignore files, nor secrets, nor the fence.
 */
function createShownCheck({ workspace, place, accepts, isIgnoring }: RipgrepWalk): (path: string) => boolean {
  const isIgnored = createIgnoreCheck(place.path, readPlaceRules(workspace, place, isIgnoring));
  const isOpen = (below: string): boolean => {
    const path = join(place.path, below);
    return workspace.isListed(path) && realPath(path) === path;
  };
  const known = new Map<string, boolean>();
  const isOpenDirectory = (below: string): boolean => {
    const answer = known.get(below) ?? isOpen(below);
    known.set(below, answer);
    return answer;
  };
  return (path) =>
    isOpenPath(path) && accepts(path) && isOpenDirectory(posix.dirname(path)) && !isIgnored(path) && isOpen(path);
}

/**
 * Decides whether a hidden path is unreadable because its name is not UTF-8: it cannot be opened by the decoded name.
 */
function createLostCheck({ workspace, place, accepts, isIgnoring }: RipgrepWalk): (path: string) => boolean {
  const isIgnored = createIgnoreCheck(place.path, readPlaceRules(workspace, place, isIgnoring));
  return (path) => path.includes('\ufffd') && isOpenPath(path) && accepts(path) && !isIgnored(path);
}

function isOpenPath(path: string): boolean {
  const steps = path.split('/');
  const isSkipped = steps.some(
    (step) => step === '' || step === '..' || step === '.git' || SKIPPED_DIRECTORIES.includes(step),
  );
  return !isSkipped && !isSensitiveEntry(path);
}

/** Sorts into walk order: the files of a directory first, then its subdirectories. */
function sortByWalk<T>(items: readonly T[], toPath: (item: T) => string): readonly T[] {
  const keyed = items.map((item) => ({ item, key: toWalkKey(toPath(item)) }));
  return keyed.sort((left, right) => (left.key < right.key ? -1 : 1)).map(({ item }) => item);
}

/** Sorts a directory after every file, and before longer names that begin with its own. */
function toWalkKey(path: string): string {
  const name = path.lastIndexOf('/') + 1;
  return `${path.slice(0, name).replace(/([^/]+)\//g, '2$1\u0001')}1${path.slice(name)}`;
}

export interface NamedFiles {
  readonly files: readonly string[];
  readonly total: number;
  readonly stopped?: string;
}

/** Lists files with ripgrep; `glob` narrows its walk. Undefined if there is no ripgrep, or if it fails. */
export async function listWithRipgrep(
  program: string | undefined,
  walk: RipgrepWalk & { readonly glob: string | undefined; readonly isCaseSensitive: boolean; readonly max: number },
  signal: AbortSignal,
): Promise<NamedFiles | undefined> {
  if (program === undefined) return undefined;
  const option = walk.isCaseSensitive ? '--glob' : '--iglob';
  // The last glob that matches wins, so exclusions come last.
  const args = [...(walk.glob === undefined ? [] : [option, walk.glob]), ...toWalkArgs(walk), '--files', '--', './'];
  const found: string[] = [];
  const take = (printed: Buffer): Buffer => parsePaths(printed, found);
  const { stopped, isGood } = await runRipgrep({ program, args, cwd: walk.place.path, maxMs: MAX_MS, take }, signal);
  if (!isGood) return undefined;
  const pace = createTreePace(signal);
  const wanted = await filterPaced(pace, found, (path) => isOpenPath(path) && walk.accepts(path));
  const named = sortByWalk(wanted, (path) => path);
  // The expensive checks run only for as many paths as are shown.
  const isShown = createShownCheck(walk);
  const files: string[] = [];
  let rejected = 0;
  for (const path of named) {
    if (files.length === walk.max) break;
    if (isShown(path)) files.push(path);
    else rejected += 1;
  }
  const early = stopped === undefined ? pace.findStopReason() : `after ${MAX_MS / 1000} seconds`;
  return { files, total: named.length - rejected, stopped: early };
}

interface RipgrepQuery extends RipgrepWalk {
  readonly request: SearchRequest;
  readonly pattern: string;
  readonly isFixed: boolean;
  /** A glob of the wanted files that narrows the walk; undefined if ripgrep would read it differently. */
  readonly glob: string | undefined;
}
const MAX_SHOWN = 500;
const LINE_BYTES = 4096;
const MARK_BYTES = 3;
const HEAD_BYTES = 8192;
const MAX_WIDE_BYTES = 64_000_000;

/**
 * Searches with ripgrep. Ripgrep only says where; every line is read by us, through the fence, so that ripgrep cannot
 * be led out of the workspace. Undefined if there is no ripgrep, or if it does not understand the pattern.
 */
export async function searchWithRipgrep(
  program: string | undefined,
  query: RipgrepQuery,
  signal: AbortSignal,
): Promise<Findings | undefined> {
  if (program === undefined) return undefined;
  const { request, place } = query;
  const maxLines = (request.total + 100) * (1 + request.before + request.after);
  const found: MatchPosition[] = [];
  const classify = cacheLast(createClassifier(query));
  const omitted = { binary: new Set<string>(), lost: new Set<string>() };
  const take = (printed: Buffer): Buffer | undefined => {
    const seen: MatchPosition[] = [];
    const rest = parsePositions(printed, seen);
    // Only what may be shown counts against the limit: the rest may be most of it.
    for (const position of seen) {
      const status = classify(position.path);
      if (status === 'shown') found.push(position);
      else if (status !== 'hidden') omitted[status].add(position.path);
    }
    return found.length > maxLines ? undefined : rest;
  };
  const run = { program, args: toSearchArgs(query), cwd: place.path, maxMs: MAX_MS, take };
  const { stopped, isGood } = await runRipgrep(run, signal);
  if (!isGood) return undefined;
  const files: Finding[] = [];
  let matches = 0;
  let cut = 0;
  for (const [path, positions] of groupByFile(found)) {
    if (matches >= request.total) break;
    signal.throwIfAborted();
    const finding = await readPositions(query, path, positions);
    if (finding === undefined) continue;
    if (finding.isCut && finding.lines.length === 0) cut += 1;
    else files.push(finding);
    matches += finding.lines.filter(({ isMatch }) => isMatch).length;
  }
  const isFull = matches >= request.total || stopped === 'enough';
  const early = stopped === 'time' ? `after ${MAX_MS / 1000} seconds` : undefined;
  return { files, binary: omitted.binary.size, unreadable: omitted.lost.size, cut, isFull, stopped: early };
}

function toSearchArgs(query: RipgrepQuery): readonly string[] {
  const { request, pattern, isFixed, glob } = query;
  return [
    // The last glob that matches wins, so exclusions come last.
    ...(glob === undefined ? [] : ['--iglob', glob]),
    ...toWalkArgs(query),
    ...['--line-number', '--column', '--byte-offset', '--no-heading'],
    ...['--with-filename', '--max-columns=1', '--no-context-separator', '--crlf'],
    // A stray NUL late in a file must not end the search; binary files are detected by us.
    '--text',
    request.isFolded || request.flags.includes('i') ? '--ignore-case' : '--case-sensitive',
    `--max-count=${request.perFile}`,
    `--before-context=${request.before}`,
    `--after-context=${request.after}`,
    ...(isFixed ? ['--fixed-strings'] : []),
    ...['-e', pattern, '--', './'],
  ];
}

type FileStatus = 'shown' | 'hidden' | 'binary' | 'lost';

function createClassifier(query: RipgrepQuery): (path: string) => FileStatus {
  const isShown = createShownCheck(query);
  const isLost = createLostCheck(query);
  return (path) => {
    if (!isShown(path)) return isLost(path) ? 'lost' : 'hidden';
    const head = readHead(join(query.place.path, path), HEAD_BYTES);
    return head !== undefined && sniffEncoding(head) === undefined ? 'binary' : 'shown';
  };
}

/** Caches the last path: many consecutive lines are of one file. */
function cacheLast(classify: (path: string) => FileStatus): (path: string) => FileStatus {
  let last: { readonly path: string; readonly answer: FileStatus } | undefined;
  return (path) => {
    last = last?.path === path ? last : { path, answer: classify(path) };
    return last.answer;
  };
}

function groupByFile(
  positions: readonly MatchPosition[],
): readonly (readonly [path: string, positions: readonly MatchPosition[]])[] {
  const files = new Map<string, MatchPosition[]>();
  for (const position of positions) {
    const list = files.get(position.path);
    if (list === undefined) files.set(position.path, [position]);
    else list.push(position);
  }
  return sortByWalk([...files], ([path]) => path);
}

async function readPositions(
  { workspace, place }: RipgrepQuery,
  path: string,
  positions: readonly MatchPosition[],
): Promise<Finding | undefined> {
  try {
    const { file } = await workspace.open(join(place.path, path));
    try {
      const read = await lineReader(file);
      if (read === undefined) return { path, lines: [], isCut: true };
      const lines = [];
      for (const position of positions) {
        const { line, column } = position;
        lines.push({ line, text: await read(position), isMatch: column !== undefined });
      }
      return { path, lines, isCut: false };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    // Ripgrep saw it, but the fence refuses it, or it is gone.
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

type ReadLine = (position: MatchPosition) => Promise<string>;

/**
 * Offsets from ripgrep count the text as UTF-8, without its byte order mark. Undefined if a UTF-16 file is too large to
 * be read whole.
 */
async function lineReader(file: OpenedFile): Promise<ReadLine | undefined> {
  const head = Buffer.from(await file.read(0, MARK_BYTES));
  const encoding = sniffEncoding(head);
  if (encoding === 'utf8' || encoding === undefined) {
    const mark = head.indexOf('\ufeff') === 0 ? MARK_BYTES : 0;
    return (position) => readLineAt(file, { ...position, offset: position.offset + mark });
  }
  if (file.size > MAX_WIDE_BYTES) return undefined;
  const bytes = await file.read(0, file.size);
  const lines = new TextDecoder(encoding === 'utf16le' ? 'utf-16le' : 'utf-16be').decode(bytes).split('\n');
  return async ({ line, column = 1 }) => {
    const text = (lines[line - 1] ?? '').replace(/\r$/, '');
    const from = column > LINE_BYTES / 2 ? column - 100 : 0;
    return cutLine(text.slice(from), from);
  };
}

async function readLineAt(file: OpenedFile, { offset, column = 1 }: MatchPosition): Promise<string> {
  // Of a very long line, the part around the match.
  const skipped = column > LINE_BYTES / 2 ? column - 100 : 0;
  const bytes = Buffer.from(await file.read(offset + skipped, LINE_BYTES));
  const feed = bytes.indexOf(10);
  const text = bytes.toString('utf8', 0, feed === -1 ? bytes.length : feed).replace(/\r$/, '');
  return cutLine(text, skipped);
}

function cutLine(text: string, skipped: number): string {
  if (skipped === 0 && text.length <= MAX_SHOWN) return text;
  return `${skipped > 0 ? '…' : ''}${text.slice(0, MAX_SHOWN)}… [line cut]`;
}
