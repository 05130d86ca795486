import { AppError } from '../core/error.ts';
import type { ArgumentsOf, InputSchema } from '../core/schema.ts';
import { plural } from '../core/text/format.ts';
import { compileGlob } from '../core/text/glob.ts';
import { findRequiredLiteral } from '../core/text/pattern-literal.ts';
import { READ_TOOL, type ToolResult } from '../core/tool.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { searchWithRipgrep, toAnywhereGlob, toSharedGlob } from './ripgrep-search.ts';
import { type Findings, type SearchRequest, searchFiles } from './search/engine.ts';
import { findRipgrep } from './search/ripgrep.ts';
import { formatNotes, openTree, type Tree, toModelPath } from './tree.ts';
import type { Workspace } from './workspace/workspace.ts';

const DEFAULT_MATCHES = 100;
const MAX_MATCHES = 1000;
const MAX_PATTERN = 10_000;
const MAX_MS = 20_000;
/** Characters of matching lines in one answer; as much as one read_file may give. */
const MAX_RESULT_CHARS = 256_000;

const INPUT = {
  properties: {
    pattern: { type: 'string' },
    dir_path: { type: 'string' },
    include_pattern: { type: 'string', description: 'A glob of files, such as *.{ts,tsx}.' },
    exclude_pattern: { type: 'string' },
    fixed_strings: { type: 'boolean', description: 'The pattern is plain text.' },
    case_sensitive: { type: 'boolean' },
    context: { type: 'integer', minimum: 0, maximum: 50, description: 'Lines around each match.' },
    before: { type: 'integer', minimum: 0, maximum: 50 },
    after: { type: 'integer', minimum: 0, maximum: 50 },
    names_only: { type: 'boolean' },
    max_matches_per_file: { type: 'integer', minimum: 1 },
    total_max_matches: { type: 'integer', minimum: 1 },
    no_ignore: { type: 'boolean' },
  },
  required: ['pattern'],
} as const satisfies InputSchema;

type SearchInput = ArgumentsOf<typeof INPUT>;

export const searchFileContent = defineTool({
  name: 'search_file_content',
  officialNames: ['grep_search'],
  classNames: ['GrepTool', 'RipGrepTool'],
  claudeNames: ['Grep'],
  set: 'read',
  about: 'finds lines',
  description:
    'Finds the lines of text files that match a JavaScript regular expression, ignoring case by default. They come as ' +
    '12: text, the lines around them as 13- text.',
  effect: 'read',
  isSearch: true,
  input: INPUT,
  aliases: { path: 'dir_path', include: 'include_pattern' },
  handle: ({ workspace, env }: Pick<ToolContext, 'workspace' | 'env'>) => ({
    root: workspace.roots[0],
    async run(input, signal) {
      const { dir_path = '.', include_pattern, exclude_pattern, no_ignore = false, names_only = false } = input;
      const request = toSearchRequest(input);
      const accepts = createFilter(include_pattern, exclude_pattern);
      const isIgnoring = !no_ignore;
      const glob = include_pattern === undefined ? undefined : toSharedGlob(toAnywhereGlob(include_pattern));
      const tree = await openTree(workspace, dir_path, { isIgnoring, accepts }, signal);
      const query = { workspace, place: tree.place, request, pattern: input.pattern, accepts, isIgnoring };
      const findings =
        (await searchWithRipgrep(
          findRipgrep(env, workspace.roots),
          { ...query, isFixed: input.fixed_strings === true, glob },
          signal,
        )) ?? (await searchFiles(tree.directories, request, signal));
      return toSearchResult(tree, findings, { isNamesOnly: names_only, keep: workspace.keep });
    },
  }),
});

function toSearchRequest(wanted: SearchInput): SearchRequest {
  const { context = 0, before = context, after = context, names_only = false } = wanted;
  const total = Math.min(wanted.total_max_matches ?? DEFAULT_MATCHES, MAX_MATCHES);
  const { source, flags, isFolded } = foldCase(parsePattern(wanted));
  return {
    source,
    flags,
    isFolded,
    before: names_only ? 0 : before,
    after: names_only ? 0 : after,
    perFile: names_only ? 1 : Math.min(wanted.max_matches_per_file ?? total, total),
    total,
    maxMs: MAX_MS,
    // Lookahead and lookbehind can match differently in a whole text than in a line.
    canSkip: !/\(\?<?[=!]/.test(source),
    literal: findLiteral(source, flags.includes('i') || isFolded),
  };
}

/** Throws AppError `usage` if it is no valid regular expression. */
function parsePattern({ pattern, fixed_strings = false, case_sensitive = false }: SearchInput): RegExp {
  if (pattern === '') throw new AppError('usage', 'the pattern is empty', { hint: 'Say what to look for.' });
  if (pattern.length > MAX_PATTERN) {
    throw new AppError('usage', 'the pattern is too long', { hint: `Use at most ${MAX_PATTERN} characters.` });
  }
  // Other engines take flags inside the pattern.
  const inline = fixed_strings ? null : /^\(\?i\)/.exec(pattern);
  const body = inline === null ? pattern : pattern.slice(inline[0].length);
  const source = fixed_strings ? body.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : body;
  const flags = `m${case_sensitive && inline === null ? '' : 'i'}${/\\p\{/i.test(source) ? 'u' : ''}`;
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw new AppError('usage', 'the pattern is not a valid regular expression', {
      cause,
      hint: 'Write it as in JavaScript, or set fixed_strings to look for it as plain text.',
    });
  }
}

/**
 * V8's linear-time engine does not support the i flag. Where it is safe, the pattern is lower-cased instead, and so is
 * the text.
 */
function foldCase({ source, flags }: RegExp): Pick<SearchRequest, 'source' | 'flags' | 'isFolded'> {
  const asItIs = { source, flags, isFolded: false };
  if (!flags.includes('i') || /\\[xucpk]|\(\?</i.test(source)) return asItIs;
  const lower = source.replace(/\\.|[^\\]+/gs, (piece) => (piece.startsWith('\\') ? piece : piece.toLowerCase()));
  try {
    const { source: lowered } = new RegExp(lower);
    return { source: lowered, flags: flags.replace('i', ''), isFolded: true };
  } catch {
    // A range such as [Z-a] is invalid in lower case.
    return asItIs;
  }
}

function findLiteral(source: string, isCaseless: boolean): SearchRequest['literal'] {
  const text = findRequiredLiteral(source, isCaseless);
  return text === '' ? undefined : Buffer.from(text).map((byte) => byte | 0x20);
}

function createFilter(include: string | undefined, exclude: string | undefined): (path: string) => boolean {
  const options = { isCaseSensitive: false, hasBraces: true };
  const [included, excluded] = [include, exclude].map((text) =>
    text === undefined ? undefined : compileGlob(toAnywhereGlob(text), options),
  );
  return (path) => included?.matches(path) !== false && excluded?.matches(path) !== true;
}

interface ResultOptions {
  readonly isNamesOnly: boolean;
  readonly keep: Workspace['keep'];
}

async function toSearchResult(
  { place, report }: Tree,
  findings: Findings,
  options: ResultOptions,
): Promise<ToolResult> {
  const found = findings.files.map(({ path, lines }) => ({
    file: toModelPath(place, path),
    lines: lines.map(({ line, text, isMatch }) => `${line}${isMatch ? ':' : '-'} ${text}`),
  }));
  const shown = options.isNamesOnly ? found : cutToLimit(found);
  const notes = [
    ...(findings.stopped === undefined ? [] : [`incomplete: stopped ${findings.stopped}; name a smaller directory`]),
    ...(findings.isFull ? ['there may be more; use a narrower pattern or directory'] : []),
    ...formatNotes({ ...report, unreadable: report.unreadable + findings.unreadable }),
    // In a stopped search the count depends on chance.
    ...(findings.binary === 0 || findings.isFull
      ? []
      : [`${plural(findings.binary, 'binary file')} with a match not shown`]),
    ...(findings.cut === 0 ? [] : [`of ${findings.cut} very large files only the beginning was searched`]),
    ...(shown === found ? [] : [await storeRemainingMatches(shown, found, options)]),
  ];
  const note = notes.join('; ') || undefined;
  const files = plural(found.length, 'file');
  if (options.isNamesOnly) return succeed({ files: found.map(({ file }) => file), note }, files);
  const count = findings.files.reduce((sum, { lines }) => sum + lines.filter(({ isMatch }) => isMatch).length, 0);
  const summary = count === 0 ? 'no match' : `${count} ${count === 1 ? 'match' : 'matches'} in ${files}`;
  return succeed({ matches: shown.map((match) => ({ ...match })), note }, summary);
}

interface Match {
  readonly file: string;
  readonly lines: readonly string[];
}

/** As many lines as a model should have to read. Returns the same array if nothing was cut. */
function cutToLimit(matches: readonly Match[]): readonly Match[] {
  let room = MAX_RESULT_CHARS;
  const shown = matches.map(({ file, lines }) => ({
    file,
    lines: lines.filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    }),
  }));
  return room >= 0 ? matches : shown.filter(({ lines }) => lines.length > 0);
}

async function storeRemainingMatches(
  shown: readonly Match[],
  found: readonly Match[],
  { keep }: ResultOptions,
): Promise<string> {
  const kept = await keep(found.map(({ file, lines }) => `${file}\n${lines.join('\n')}\n`).join('\n'));
  const way = kept === undefined ? 'ask for fewer, or in a smaller directory' : `${READ_TOOL} ${kept} shows all`;
  return `the first ${countMatchedLines(shown)} of ${countMatchedLines(found)} lines; ${way}`;
}

function countMatchedLines(matches: readonly Match[]): number {
  return matches.reduce((sum, { lines }) => sum + lines.length, 0);
}
