import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { compileGlob } from '../core/text/glob.ts';
import { isSecretName } from '../core/text/secrets.ts';
import { READ_TOOL } from '../core/tool.ts';
import { type Entry, readEntries, readSize } from '../platform/files/directory-sync.ts';
import { filterPaced } from '../platform/runtime/pace.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { readRulesWithin } from './search/ignore.ts';
import { createTreePace, readPlaceRules } from './tree.ts';

const MAX_ENTRIES = 1000;
const MAX_IGNORED = 100;

export const listDirectory = defineTool({
  name: 'list_directory',
  classNames: ['LSTool'],
  claudeNames: ['LS'],
  set: 'read',
  about: 'lists a directory',
  description: 'Lists a directory, not what is below it; directories end in /. To find files anywhere, use glob.',
  effect: 'read',
  input: {
    properties: {
      dir_path: { type: 'string' },
      ignore: { type: 'array', items: { type: 'string' }, description: 'Globs of names to skip.' },
    },
    required: ['dir_path'],
  },
  aliases: { path: 'dir_path' },
  handle: ({ workspace }: Pick<ToolContext, 'workspace'>) => ({
    root: workspace.roots[0],
    async run({ dir_path, ignore = [] }, signal) {
      const ignored = compileIgnored(ignore);
      const { place, directory } = await workspace.openDirectory(dir_path);
      try {
        const pace = createTreePace(signal);
        const entries = await readEntries(directory.at('.'), pace);
        const rules = readRulesWithin(readPlaceRules(workspace, place), '', directory.at('.'), entries);
        if (rules === undefined) {
          throw new AppError('usage', 'the ignore file in it cannot be read, or is too large', {
            hint: 'What it excludes is unknown. Name the files you need.',
          });
        }
        const isShown = ({ name, kind }: Entry): boolean =>
          !rules.ignores(name, kind === 'directory' ? 'directory' : 'file') &&
          !ignored(name) &&
          // The name of a sensitive directory may be shown, since it does not reveal the content.
          !(kind === 'directory' ? isSecretName(name) : workspace.isSecretEntry(join(place.path, name)));
        const shown = [...(await filterPaced(pace, entries, isShown))].sort(
          (left, right) => Number(right.kind === 'directory') - Number(left.kind === 'directory'),
        );
        const listed = shown.slice(0, MAX_ENTRIES).map((entry) => toEntryFields(entry, directory.at(entry.name)));
        const isLong = shown.length > MAX_ENTRIES;
        const all = isLong ? await workspace.keep(shown.map(markDirectory).join('\n')) : undefined;
        const rest = all === undefined ? 'use glob with a pattern for the rest' : `${READ_TOOL} ${all} shows all names`;
        const hidden = entries.length - shown.length;
        const stopped = pace.findStopReason();
        const notes = [
          ...(stopped === undefined ? [] : [`incomplete: stopped ${stopped}`]),
          ...(isLong ? [`the first ${MAX_ENTRIES} of ${shown.length}; ${rest}`] : []),
          ...(hidden === 0 ? [] : [`${hidden} not listed: left out by ignore files, or likely to hold secrets`]),
        ];
        const note = notes.join('; ') || undefined;
        return succeed({ entries: listed, note }, shown.length === 1 ? '1 entry' : `${shown.length} entries`);
      } finally {
        await directory.close();
      }
    },
  }),
});

function compileIgnored(globs: readonly string[]): (name: string) => boolean {
  if (globs.length > MAX_IGNORED) {
    throw new AppError('usage', `ignore has more than ${MAX_IGNORED} globs`, { hint: 'Use fewer.' });
  }
  const compiled = globs.map((glob) => compileGlob(glob, { isCaseSensitive: true, hasBraces: true }));
  return (name) => compiled.some((glob) => glob.matches(name));
}

function markDirectory({ name, kind }: Pick<Entry, 'name' | 'kind'>): string {
  return kind === 'directory' ? `${name}/` : name;
}

function toEntryFields({ name, kind }: Entry, address: string): JsonObject {
  if (kind === 'directory') return { name: markDirectory({ name, kind }) };
  if (kind !== 'file') return { name, kind: kind === 'link' ? 'symbolic link' : 'special file' };
  const bytes = readSize(address);
  return bytes === undefined ? { name } : { name, bytes };
}
