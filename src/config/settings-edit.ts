import type { App } from '../core/app.ts';
import type { JsonObject } from '../core/json.ts';
import { parseSettingsText } from './document.ts';
import { editFile } from './file-edit.ts';
import type { Edit } from './jsonc-edit.ts';

/**
 * Changes a settings file as `editFile` does: `decide` gets its content and returns the changes; an empty list leaves the
 * file alone. Comments and order stay. Throws AppError `config` if the file is broken or cannot be written, and whatever
 * `decide` throws; the file is then untouched.
 */
export function editSettings(
  file: string,
  app: Pick<App, 'clock' | 'signal' | 'homes'>,
  decide: (document: JsonObject) => readonly Edit[],
): Promise<'written' | 'unchanged'> {
  const edit = async (text: string): Promise<string> => {
    const edits = decide(await parseSettingsText({ file, text }));
    const { editJsonc } = await import('./jsonc-edit.ts');
    const edited = edits.reduce(editJsonc, text);
    // Never write what could not be read again.
    if (edited !== text) await parseSettingsText({ file, text: edited });
    return edited;
  };
  return editFile(file, app, { edit });
}
