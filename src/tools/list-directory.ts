import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { compileGlob } from '../core/text/glob.ts';
import { isSecretName, isSensitiveEntry } from '../core/text/secrets.ts';
import type { Tool } from '../core/tool.ts';
import { filteredAt } from '../platform/runtime/pace.ts';
import { defineTool, done } from './define.ts';
import { rulesWithin } from './search/ignore.ts';
import { type Entry, entriesOf, sizeOf } from './search/walk.ts';
import { rulesOfPlace, treePace } from './tree.ts';
import type { Workspace } from './workspace/workspace.ts';

const MAX_ENTRIES = 1000;
const MAX_IGNORED = 100;

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
    root: workspace.roots[0],
    async run({ dir_path, ignore = [] }, signal) {
      const ignored = ignoredNames(ignore);
      const { place, directory } = await workspace.openDirectory(dir_path);
      try {
        const pace = treePace(signal);
        const entries = await entriesOf(directory.at('.'), pace);
        const rules = rulesWithin(rulesOfPlace(workspace, place), '', directory.at('.'), entries);
        if (rules === undefined) throw tooLarge(place.name);
        const isShown = ({ name, kind }: Entry): boolean =>
          !rules.ignores(name, kind === 'directory' ? 'directory' : 'file') &&
          !ignored(name) &&
          // The name of a sensitive directory may be shown, since it does not reveal the content.
          !(kind === 'directory' ? isSecretName(name) : isSensitiveEntry(join(place.path, name)));
        const shown = [...(await filteredAt(pace, entries, isShown))].sort(byKind);
        const listed = shown.slice(0, MAX_ENTRIES).map((entry) => described(entry, directory.at(entry.name)));
        const isLong = shown.length > MAX_ENTRIES;
        const all = isLong ? await workspace.keep(shown.map(nameOf).join('\n')) : undefined;
        const stopped = pace.exhausted();
        const notes = [
          ...(stopped === undefined ? [] : [`incomplete: stopped ${stopped}`]),
          ...(isLong ? [`the first ${MAX_ENTRIES} of ${shown.length}; ${wayToRest(all)}`] : []),
          ...hiddenNotes(entries.length - shown.length),
        ];
        return done({
          path: place.name,
          entries: listed,
          ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
        });
      } finally {
        await directory.close();
      }
    },
  });
}

/** A predicate for names that match one of the globs. Throws AppError `usage` if there are too many globs. */
function ignoredNames(globs: readonly string[]): (name: string) => boolean {
  if (globs.length > MAX_IGNORED) {
    throw new AppError('usage', `ignore has more than ${MAX_IGNORED} globs`, { hint: 'Use fewer.' });
  }
  const compiled = globs.map((glob) => compileGlob(glob, { isCaseSensitive: true, hasBraces: true }));
  return (name) => compiled.some((glob) => glob.matches(name));
}

function byKind(left: Entry, right: Entry): number {
  return Number(right.kind === 'directory') - Number(left.kind === 'directory');
}

function nameOf({ name, kind }: Pick<Entry, 'name' | 'kind'>): string {
  return kind === 'directory' ? `${name}/` : name;
}

function described({ name, kind }: Entry, address: string): JsonObject {
  if (kind === 'directory') return { name: nameOf({ name, kind }) };
  if (kind !== 'file') return { name, kind: kind === 'link' ? 'symbolic link' : 'special file' };
  const bytes = sizeOf(address);
  return bytes === undefined ? { name } : { name, bytes };
}

function wayToRest(kept: string | undefined): string {
  return kept === undefined ? 'use glob with a pattern for the rest' : `read_file ${kept} shows all names`;
}

function hiddenNotes(count: number): readonly string[] {
  return count === 0 ? [] : [`${count} not listed: left out by ignore files, or likely to hold secrets`];
}

function tooLarge(name: string): AppError {
  return new AppError('usage', `the ignore file of ${name} cannot be read, or is too large`, {
    hint: 'What it excludes is unknown. Name the files you need.',
  });
}
