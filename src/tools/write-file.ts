import { AppError } from '../core/error.ts';
import { plural } from '../core/text/format.ts';
import { decodeTextFile, findLineEnding, NEW_TEXT_FILE, type TextFile } from '../core/text/text-file.ts';
import type { Draft } from '../core/tool.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { previewChange } from './diff.ts';
import { countChangedLines } from './edit-match.ts';
import type { Place } from './workspace/fence.ts';
import { MAX_FILE_BYTES, tooLargeToWriteError, type Workspace } from './workspace/workspace.ts';

export const writeFile = defineTool({
  name: 'write_file',
  classNames: ['WriteFileTool'],
  claudeNames: ['Write'],
  set: 'edit',
  about: 'writes a whole file',
  description:
    'Writes a whole text file; missing directories are made. To overwrite a file, first read all of it. To change a ' +
    'part of a file, use edit_file.',
  effect: 'write',
  target: 'file_path',
  input: {
    properties: {
      file_path: { type: 'string' },
      content: { type: 'string', description: 'All of it, nothing left out.' },
    },
    required: ['file_path', 'content'],
  },
  aliases: { path: 'file_path' },
  handle: ({ workspace }: Pick<ToolContext, 'workspace'>) => ({
    root: workspace.roots[0],
    async preview({ file_path, content }, _signal, draft) {
      const { place, before, after } = await planWrite(workspace, file_path, content, draft);
      const bytes = encodeText(place, before, after);
      draft?.set(place.path, bytes);
      return previewChange(place, before?.text, after);
    },
    async run({ file_path, content }) {
      const { place, before, after } = await planWrite(workspace, file_path, content);
      const { cutLinks } = await workspace.write(file_path, encodeText(place, before, after));
      return {
        ...succeed(`${before === undefined ? 'Created.' : 'Replaced.'}${formatCutLinks(cutLinks)}`),
        change: { ...countChangedLines(before?.text ?? '', after), cutLinks },
      };
    },
  }),
});

/** Without `before` the file is new. */
async function planWrite(workspace: Workspace, path: string, content: string, draft?: Draft) {
  const { place, old } = await workspace.current(path, 'whole', draft);
  if (old === undefined) return { place, after: content };
  const before = decodeTextFile(old);
  if (before === undefined) {
    throw new AppError('usage', 'it is not a Unicode text file', { hint: 'Write to another file.' });
  }
  return { place, before, after: keepLineEnding(before.text, content) };
}

/** Models write line feeds; a file with other endings keeps them. */
function keepLineEnding(before: string, content: string): string {
  const ending = findLineEnding(before);
  return ending === '\n' || content.includes('\r') ? content : content.replaceAll('\n', () => ending);
}

export function encodeText(place: Place, before: TextFile | undefined, text: string): Uint8Array {
  const bytes = (before ?? NEW_TEXT_FILE).encode(text);
  if (bytes.length > MAX_FILE_BYTES) throw tooLargeToWriteError(place);
  return bytes;
}

export function formatCutLinks(count: number): string {
  return count === 0 ? '' : ` The file had ${plural(count, 'other hard link')}: the old content is still there.`;
}
