import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Finding, Findings, SearchRequest } from '../platform/search-engine.ts';
import { ignoredPaths, RULES_OFF } from '../platform/search-ignore.ts';
import { runRipgrep, type Sighting } from '../platform/search-ripgrep.ts';
import type { OpenedFile } from '../platform/workspace-file.ts';
import type { Place } from './fence.ts';
import { FOREIGN, rulesOfPlace } from './tree.ts';
import type { Workspace } from './workspace.ts';

export interface RipgrepQuery {
  readonly workspace: Workspace;
  readonly place: Place;
  readonly request: SearchRequest;
  /** As the model wrote it. */
  readonly pattern: string;
  readonly isFixed: boolean;
  readonly isIgnoring: boolean;
  readonly accepts: (path: string) => boolean;
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
  const run = { program, args: argsOf(query), cwd: place.path, maxLines, maxMs: MAX_MS };
  const { found, stopped, isGood } = await runRipgrep(run, signal);
  if (!isGood) return undefined;
  const files: Finding[] = [];
  let matches = 0;
  for (const [path, sightings] of byFile(found, isShownBy(query))) {
    if (matches >= request.total) break;
    signal.throwIfAborted();
    const finding = await readSightings(query, path, sightings);
    if (finding === undefined) continue;
    files.push(finding);
    matches += finding.lines.filter(({ isMatch }) => isMatch).length;
  }
  const isFull = matches >= request.total || stopped === 'lines';
  const early = stopped === 'time' ? { stopped: `after ${MAX_MS / 1000} seconds` } : {};
  return { files, binary: 0, unreadable: 0, cut: 0, isFull, ...early };
}

function argsOf({ request, pattern, isFixed, isIgnoring, workspace, place }: RipgrepQuery): readonly string[] {
  const hasParents = isIgnoring && rulesOfPlace(workspace, place).levels.length > 0;
  const own = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude', '--no-require-git'];
  return [
    ...['--no-config', '--no-messages', '--null', '--line-number', '--column', '--byte-offset', '--no-heading'],
    ...[
      '--with-filename',
      '--color=never',
      '--max-columns=1',
      '--no-context-separator',
      '--hidden',
      '--crlf',
      '--encoding=none',
    ],
    ...(isIgnoring ? own : ['--no-ignore']),
    ...(hasParents ? [] : ['--no-ignore-parent']),
    ...['.git', ...FOREIGN].flatMap((name) => ['--glob', `!**/${name}/**`]),
    request.flags.includes('i') ? '--ignore-case' : '--case-sensitive',
    `--max-count=${request.perFile}`,
    `--before-context=${request.before}`,
    `--after-context=${request.after}`,
    ...(isFixed ? ['--fixed-strings'] : []),
    ...['-e', pattern, '--', './'],
  ];
}

/** Ignore files of ours, secrets and denied directories: ripgrep does not know them. */
function isShownBy({ workspace, place, accepts, isIgnoring }: RipgrepQuery): (path: string) => boolean {
  const isIgnored = ignoredPaths(place.path, isIgnoring ? rulesOfPlace(workspace, place) : RULES_OFF);
  return (path) => accepts(path) && workspace.isListed(join(place.path, path)) && !isIgnored(path);
}

function byFile(
  sightings: readonly Sighting[],
  isShown: (path: string) => boolean,
): readonly (readonly [path: string, sightings: readonly Sighting[]])[] {
  const files = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const list = files.get(sighting.path);
    if (list === undefined) files.set(sighting.path, [sighting]);
    else list.push(sighting);
  }
  return [...files].filter(([path]) => isShown(path)).sort(([left], [right]) => walkOrder(left, right));
}

/** As a walk goes: the files of a directory, then what is in the directories below. */
function walkOrder(left: string, right: string): number {
  const [a, b] = [left.split('/'), right.split('/')];
  const depth = a.findIndex((step, index) => step !== b[index]);
  const [isFileA, isFileB] = [depth === a.length - 1, depth === b.length - 1];
  if (isFileA !== isFileB) return isFileA ? -1 : 1;
  return (a[depth] ?? '') < (b[depth] ?? '') ? -1 : 1;
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
