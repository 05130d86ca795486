import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { ArgumentsOf, InputSchema } from '../core/schema.ts';
import { decodeTextFile } from '../core/text/text-file.ts';
import type { Draft, LineCounts } from '../core/tool.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { previewChange } from './diff.ts';
import { countChangedLines } from './edit-match.ts';
import { type Edit, editText, editTogether } from './edit-text.ts';
import type { Workspace } from './workspace/workspace.ts';
import { encodeText, formatCutLinks } from './write-file.ts';

/** Each is searched for in the whole file. */
const MAX_EDITS = 100;

const INPUT = {
  properties: {
    file_path: { type: 'string' },
    old_string: { type: 'string' },
    new_string: { type: 'string' },
    allow_multiple: { type: 'boolean', description: 'Replace old_string wherever it is found.' },
    edits: {
      type: 'array',
      items: {
        type: 'object',
        properties: { old_string: { type: 'string' }, new_string: { type: 'string' } },
        required: ['old_string', 'new_string'],
      },
      description: 'Each is found in the file as it is now.',
    },
  },
  required: ['file_path'],
} as const satisfies InputSchema;

export const editFile = defineTool({
  name: 'edit_file',
  officialNames: ['replace'],
  classNames: ['EditTool'],
  claudeNames: ['Edit', 'MultiEdit'],
  set: 'edit',
  about: 'replaces part of a file, or several with `edits`',
  description:
    'Replaces old_string by new_string in a text file that you have read. Copy old_string exactly from it, with a few ' +
    'lines around the change, so that it is found once. An empty old_string makes a new file. For several changes to ' +
    'one file give edits instead: all are made, or none.',
  effect: 'write',
  target: 'file_path',
  input: INPUT,
  aliases: { path: 'file_path', replace_all: 'allow_multiple' },
  handle: ({ workspace }: Pick<ToolContext, 'workspace'>) => ({
    root: workspace.roots[0],
    async preview(input, signal, draft) {
      const { place, before, after } = await planEdits(workspace, input, { signal, draft });
      const bytes = encodeText(place, before, after.text);
      draft?.set(place.path, bytes);
      return previewChange(place, before?.text, after.text);
    },
    async run(input, signal) {
      const { place, before, after, lines } = await planEdits(workspace, input, { signal });
      const { cutLinks } = await workspace.write(input.file_path, encodeText(place, before, after.text));
      const change = { ...lines, cutLinks };
      if (before === undefined) return { ...succeed('Created.'), change };
      const times = after.count === 1 ? '' : ` in ${after.count} places`;
      const loosely = after.isLoose ? ' White space differed from old_string and was disregarded.' : '';
      return { ...succeed(`Changed${times}.${loosely}${formatCutLinks(cutLinks)}`), change };
    },
  }),
});

type EditInput = ArgumentsOf<typeof INPUT>;

/** The one edit of `old_string` and `new_string`, or those of `edits`. Throws AppError `usage` for both or neither. */
function parseEdits({ old_string, new_string, allow_multiple = false, edits }: EditInput): readonly [Edit, ...Edit[]] {
  const [first, ...others] = edits ?? [];
  const hasOne = (old_string ?? '') !== '' || (new_string ?? '') !== '';
  if (hasOne && first !== undefined) {
    throw new AppError('usage', 'both "edits" and "old_string" or "new_string" are given', {
      hint: 'Give one or the other; nothing was changed.',
    });
  }
  if (others.length >= MAX_EDITS) {
    throw new AppError('usage', `"edits" has more than ${MAX_EDITS} changes`, {
      hint: 'Make fewer at once.',
    });
  }
  if (first === undefined) return [parseEdit({ old_string, new_string }, '', allow_multiple)];
  const parse = (edit: JsonObject, index: number): Edit => parseEdit(edit, `edits[${index}].`, allow_multiple);
  return [parse(first, 0), ...others.map((edit, index) => parse(edit, index + 1))];
}

function parseEdit(
  edit: { readonly old_string?: unknown; readonly new_string?: unknown },
  where: string,
  isMultiple: boolean,
): Edit {
  const parse = (key: 'old_string' | 'new_string'): string => {
    const value = edit[key];
    if (typeof value === 'string') return value;
    const what = value === undefined || value === null ? 'is missing' : 'is wrong';
    throw new AppError('usage', `"${where}${key}" ${what}`, { hint: 'It must be a string.' });
  };
  return { oldText: parse('old_string'), newText: parse('new_string'), isMultiple };
}

/** Without `before` the file is new. */
async function planEdits(
  workspace: Workspace,
  input: EditInput,
  { signal, draft }: { readonly signal: AbortSignal; readonly draft?: Draft },
) {
  const edits = parseEdits(input);
  const [edit] = edits;
  const { place, old } = await workspace.current(input.file_path, 'part', draft);
  const isNewText = edits.length === 1 && edit.oldText === '';
  if (old === undefined && !isNewText) {
    throw new AppError('usage', 'there is no such file', {
      hint: 'Look with list_directory or glob; leave old_string empty to make it.',
    });
  }
  const before = old === undefined ? undefined : decodeTextFile(old);
  if (old !== undefined && before === undefined) {
    throw new AppError('usage', 'it is not a Unicode text file and is not edited', {
      hint: 'Tell the user what to change there.',
    });
  }
  if (isNewText && before !== undefined && before.text !== '') {
    throw new AppError('usage', 'the file exists', { hint: 'Say in old_string what is to be replaced.' });
  }
  if (isNewText || before === undefined) {
    const after = { text: edit.newText, count: 1, isLoose: false };
    return { place, before, after, lines: countChangedLines('', edit.newText) };
  }
  if (edits.length === 1) {
    const after = editText(before.text, edit);
    return { place, before, after, lines: countEditedLines(edits, [after.count]) };
  }
  const after = await editTogether(before.text, edits, signal);
  return { place, before, after, lines: countEditedLines(edits, after.counts) };
}

function countEditedLines(edits: readonly Edit[], counts: readonly number[]): LineCounts {
  let [added, removed] = [0, 0];
  for (const [index, { oldText, newText }] of edits.entries()) {
    const lines = countChangedLines(oldText, newText);
    added += lines.added * (counts[index] ?? 0);
    removed += lines.removed * (counts[index] ?? 0);
  }
  return { added, removed };
}
