import { AppError } from '../core/error.ts';
import { compileGlob } from '../core/glob.ts';
import type { JsonObject } from '../core/json.ts';
import type { Tool } from '../core/tool.ts';
import { rulesWithin } from '../platform/search-ignore.ts';
import { type Entry, entriesOf, sizeOf } from '../platform/search-walk.ts';
import { defineTool, done } from './define.ts';
import { isSecretFile } from './protection.ts';
import { rulesOfPlace, treePace } from './tree.ts';
import type { Workspace } from './workspace.ts';

const MAX_ENTRIES = 1000;

/** Lists one directory. */
export function listDirectory(workspace: Workspace): Tool {
  return defineTool({
    name: 'list_directory',
    description:
      'Lists the files and directories in a directory of the workspace, not what is below them. Directories end in ' +
      '"/". What .gitignore and .geminiignore leave out is not listed. To find files anywhere, use glob.',
    effect: 'read',
    input: {
      properties: {
        dir_path: { type: 'string', description: 'The directory, relative to the working directory; "." for itself.' },
        ignore: { type: 'array', items: { type: 'string' }, description: 'Globs of names that are not listed.' },
      },
      required: ['dir_path'],
    },
    aliases: { path: 'dir_path' },
    async run({ dir_path, ignore = [] }, signal) {
      const ignored = ignore.map((glob) => compileGlob(glob, { isCaseSensitive: true, hasBraces: true }));
      const { place, directory } = await workspace.openDirectory(dir_path);
      try {
        const pace = treePace(signal);
        const entries = await entriesOf(directory.at('.'), pace);
        const rules = rulesWithin(rulesOfPlace(workspace, place), '', directory.at('.'), entries);
        if (rules === undefined) throw tooLarge(place.name);
        const isShown = ({ name, kind }: Entry): boolean =>
          !rules.ignores(name, kind === 'directory' ? 'directory' : 'file') &&
          !ignored.some((glob) => glob.matches(name)) &&
          !isSecretFile(name);
        const shown = entries.filter(isShown).sort(byKind);
        const listed = shown.slice(0, MAX_ENTRIES).map((entry) => described(entry, directory.at(entry.name)));
        return done({ path: place.name, entries: listed, ...noteOf(entries.length, shown.length) });
      } finally {
        await directory.close();
      }
    },
  });
}

function byKind(left: Entry, right: Entry): number {
  return Number(right.kind === 'directory') - Number(left.kind === 'directory');
}

function described({ name, kind }: Entry, address: string): JsonObject {
  if (kind === 'directory') return { name: `${name}/` };
  if (kind !== 'file') return { name, kind: kind === 'link' ? 'symbolic link' : 'special file' };
  const bytes = sizeOf(address);
  return bytes === undefined ? { name } : { name, bytes };
}

function noteOf(all: number, shown: number): JsonObject {
  const notes = [
    ...(shown > MAX_ENTRIES ? [`the first ${MAX_ENTRIES} of ${shown}; use glob with a pattern for the rest`] : []),
    ...(all > shown ? [`${all - shown} not listed: left out by ignore files, or likely to hold secrets`] : []),
  ];
  return notes.length === 0 ? {} : { note: notes.join('; ') };
}

function tooLarge(name: string): AppError {
  return new AppError('usage', `the ignore file of ${name} cannot be read, or is too large`, {
    hint: 'Nobody can say what it leaves out. Name the files you need.',
  });
}
