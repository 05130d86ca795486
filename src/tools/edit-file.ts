import { AppError } from '../core/error.ts';
import type { Draft } from '../core/tool.ts';
import type { EDIT_FILE } from './declarations.ts';
import { succeed, type ToolHandlers } from './define.ts';
import { unifiedDiff } from './diff.ts';
import { countChangedLines } from './edit-match.ts';
import { type Edit, type EditResult, editText } from './edit-text.ts';
import { decodeTextFile, encodeText, formatCutLinks, type TextFile } from './text-file.ts';
import type { Place } from './workspace/fence.ts';
import type { Workspace } from './workspace/workspace.ts';

export function editFile(workspace: Workspace): Required<ToolHandlers<typeof EDIT_FILE>> {
  return {
    async preview(input, signal, draft) {
      const { place, before, after } = await planEdit(workspace, input.file_path, toEdit(input), draft);
      const bytes = encodeText(place, before, after.text);
      draft?.set(place.path, bytes);
      return { kind: 'diff', path: place.name, ...(await unifiedDiff(place.name, before?.text, after.text, signal)) };
    },
    async run(input) {
      const { place, before, after } = await planEdit(workspace, input.file_path, toEdit(input));
      const { cutLinks } = await workspace.write(input.file_path, encodeText(place, before, after.text));
      // Every place changes as many lines as the edit itself.
      const { added, removed } = countChangedLines(input.old_string, input.new_string);
      const change = { added: added * after.count, removed: removed * after.count, cutLinks };
      if (before === undefined) return { ...succeed(`Created ${place.name}.`), change };
      const times = after.count === 1 ? 'one place' : `${after.count} places`;
      const loosely = after.isLoose ? ' White space differed from old_string and was disregarded.' : '';
      return { ...succeed(`Changed ${place.name} in ${times}.${loosely}${formatCutLinks(cutLinks)}`), change };
    },
  };
}

interface EditInput {
  readonly old_string: string;
  readonly new_string: string;
  readonly allow_multiple?: boolean | undefined;
}

function toEdit({ old_string, new_string, allow_multiple = false }: EditInput): Edit {
  return { oldText: old_string, newText: new_string, isMultiple: allow_multiple };
}

interface EditPlan {
  readonly place: Place;
  /** Absent: the file is new. */
  readonly before?: TextFile;
  readonly after: EditResult;
}

async function planEdit(workspace: Workspace, path: string, edit: Edit, draft?: Draft): Promise<EditPlan> {
  const { place, old } = await workspace.current(path, 'part', draft);
  if (old === undefined) {
    if (edit.oldText !== '') {
      throw new AppError('usage', `there is no file ${place.name}`, {
        hint: 'Look with list_directory or glob; leave old_string empty to make it.',
      });
    }
    return { place, after: { text: edit.newText, count: 1, isLoose: false } };
  }
  const before = decodeTextFile(old);
  if (before === undefined) {
    throw new AppError('usage', `${place.name} is not a Unicode text file and is not edited`, {
      hint: 'Tell the user what to change there.',
    });
  }
  if (edit.oldText === '' && before.text !== '') {
    throw new AppError('usage', `${place.name} exists`, { hint: 'Say in old_string what is to be replaced.' });
  }
  if (edit.oldText === '') return { place, before, after: { text: edit.newText, count: 1, isLoose: false } };
  return { place, before, after: editText(before.text, edit) };
}
