import { AppError } from '../core/error.ts';
import { plural } from '../core/text/format.ts';
import type { Draft } from '../core/tool.ts';
import type { WRITE_FILE } from './declarations.ts';
import { succeed, type ToolHandlers } from './define.ts';
import { previewChange } from './diff.ts';
import { countChangedLines } from './edit-match.ts';
import { decodeTextFile, encodeText, findLineEnding, formatCutLinks, type TextFile } from './text-file.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

export function writeFile(workspace: Workspace): Required<ToolHandlers<typeof WRITE_FILE>> {
  return {
    async preview({ file_path, content }, _signal, draft) {
      const { place, before, after } = await planWrite(workspace, file_path, content, draft);
      const bytes = encodeText(place, before, after);
      draft?.set(place.path, bytes);
      return previewChange(place.name, before?.text, after);
    },
    async run({ file_path, content }) {
      const { place, before, after } = await planWrite(workspace, file_path, content);
      const { cutLinks } = await workspace.write(file_path, encodeText(place, before, after));
      const lines = after.split('\n').length - (after.endsWith('\n') ? 1 : 0);
      const made = before === undefined ? 'Created' : 'Replaced';
      return {
        ...succeed(`${made} ${place.name} (${plural(lines, 'line')}).${formatCutLinks(cutLinks)}`),
        change: { ...countChangedLines(before?.text ?? '', after), cutLinks },
      };
    },
  };
}

interface WritePlan {
  readonly place: Place;
  /** Absent: the file is new. */
  readonly before?: TextFile;
  readonly after: string;
}

async function planWrite(workspace: Workspace, path: string, content: string, draft?: Draft): Promise<WritePlan> {
  const { place, old } = await workspace.current(path, 'whole', draft);
  if (old === undefined) return { place, after: content };
  const before = decodeTextFile(old);
  if (before === undefined) {
    throw new AppError('usage', `${place.name} is not a Unicode text file`, { hint: 'Write to another file.' });
  }
  return { place, before, after: keepLineEnding(before.text, content) };
}

/** Models write line feeds; a file with other endings keeps them. */
function keepLineEnding(before: string, content: string): string {
  const ending = findLineEnding(before);
  return ending === '\n' || content.includes('\r') ? content : content.replaceAll('\n', () => ending);
}
