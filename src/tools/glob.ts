import { plural } from '../core/text/format.ts';
import { compileGlob } from '../core/text/glob.ts';
import { READ_TOOL } from '../core/tool.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { listWithRipgrep, type NamedFiles, toAnywhereGlob, toSharedGlob } from './ripgrep-search.ts';
import { findRipgrep } from './search/ripgrep.ts';
import { joinBelow } from './search/walk.ts';
import { formatNotes, openTree, type Tree, toModelPath } from './tree.ts';
import type { Workspace } from './workspace/workspace.ts';

const MAX_FILES = 1000;
const MAX_STORED = 10_000;

export const glob = defineTool({
  name: 'glob',
  classNames: ['GlobTool'],
  claudeNames: ['Glob'],
  set: 'read',
  about: 'finds files by name',
  description:
    'Finds files whose paths match a glob such as **/*.ts or src/**/{a,b}-*.json. A pattern without / is looked for ' +
    'in every directory.',
  effect: 'read',
  isSearch: true,
  input: {
    properties: {
      pattern: { type: 'string' },
      dir_path: { type: 'string' },
      case_sensitive: { type: 'boolean' },
      respect_git_ignore: { type: 'boolean' },
    },
    required: ['pattern'],
  },
  aliases: { path: 'dir_path' },
  handle: ({ workspace, env }: Pick<ToolContext, 'workspace' | 'env'>) => ({
    root: workspace.roots[0],
    async run({ pattern, dir_path = '.', case_sensitive = false, respect_git_ignore = true }, signal) {
      const text = toAnywhereGlob(pattern);
      const compiled = compileGlob(text, { isCaseSensitive: case_sensitive, hasBraces: true });
      const accepts = compiled.matches;
      const options = { isIgnoring: respect_git_ignore, maxDepth: compiled.depth, accepts };
      const tree = await openTree(workspace, dir_path, options, signal);
      const walk = { workspace, place: tree.place, isIgnoring: respect_git_ignore, accepts };
      const hint = {
        max: MAX_STORED,
        glob: toSharedGlob(text),
        isCaseSensitive: case_sensitive,
      };
      const named =
        (await listWithRipgrep(findRipgrep(env, workspace.roots), { ...walk, ...hint }, signal)) ??
        (await listMatches(tree));
      const files = named.files.map((path) => toModelPath(tree.place, path));
      const notes = [
        ...(named.total > MAX_FILES ? [await storeRemainingFiles(files, named.total, workspace)] : []),
        ...formatNotes({ ...tree.report, stopped: named.stopped ?? tree.report.stopped }),
      ];
      return succeed(
        { files: files.slice(0, MAX_FILES), note: notes.join('; ') || undefined },
        plural(named.total, 'file'),
      );
    },
  }),
});

async function storeRemainingFiles(files: readonly string[], total: number, { keep }: Workspace): Promise<string> {
  const kept = await keep(files.join('\n'));
  const which = files.length < total ? `the first ${files.length}` : 'all';
  const way = kept === undefined ? 'use a narrower pattern' : `${READ_TOOL} ${kept} shows ${which}`;
  return `the first ${MAX_FILES} of ${total}; ${way}`;
}

async function listMatches({ directories }: Tree): Promise<NamedFiles> {
  const found: string[] = [];
  let total = 0;
  for await (const { below, files, close } of directories) {
    close();
    total += files.length;
    const room = MAX_STORED - found.length;
    for (const name of files.slice(0, room)) found.push(joinBelow(below, name));
  }
  return { files: found, total };
}
