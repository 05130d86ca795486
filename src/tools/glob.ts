import { compileGlob } from '../core/glob.ts';
import type { Tool } from '../core/tool.ts';
import { defineTool, done } from './define.ts';
import { notesOf, openTree } from './tree.ts';
import type { Workspace } from './workspace.ts';

const MAX_FILES = 1000;

/** Finds files by their names. */
export function glob(workspace: Workspace): Tool {
  return defineTool({
    name: 'glob',
    description:
      'Finds files of the workspace whose paths match a pattern such as "**/*.ts" or "src/**/{a,b}-*.json", in the ' +
      'order of their paths. A pattern without "/" is looked for in every directory. node_modules and what ' +
      '.gitignore and .geminiignore leave out is not searched.',
    effect: 'read',
    input: {
      properties: {
        pattern: { type: 'string', description: 'The glob: *, ?, [a-z], {a,b}, and ** for any number of directories.' },
        dir_path: { type: 'string', description: 'Where to look; the working directory if left out.' },
        case_sensitive: { type: 'boolean', description: 'Whether case matters; it does not if left out.' },
        respect_git_ignore: { type: 'boolean', description: 'Set to false to find files that are left out, too.' },
      },
      required: ['pattern'],
    },
    aliases: { path: 'dir_path' },
    async run({ pattern, dir_path = '.', case_sensitive = false, respect_git_ignore = true }, signal) {
      const text = pattern.includes('/') ? pattern : `**/${pattern}`;
      const compiled = compileGlob(text, { isCaseSensitive: case_sensitive, hasBraces: true });
      const tree = await openTree(
        workspace,
        dir_path,
        { isIgnoring: respect_git_ignore, maxDepth: compiled.depth },
        signal,
      );
      const files: string[] = [];
      let total = 0;
      for await (const { below, files: names, close } of tree.directories) {
        close();
        for (const name of names) {
          const path = below === '' ? name : `${below}/${name}`;
          if (!compiled.matches(path)) continue;
          total += 1;
          if (files.length < MAX_FILES) files.push(tree.place.name === '.' ? path : `${tree.place.name}/${path}`);
        }
      }
      const notes = [
        ...(total > MAX_FILES ? [`the first ${MAX_FILES} of ${total}; use a narrower pattern`] : []),
        ...notesOf(tree.report),
      ];
      return done({ files, ...(notes.length === 0 ? {} : { note: notes.join('; ') }) });
    },
  });
}
