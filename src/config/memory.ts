import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { findFileKind, pathExists, realPath } from '../platform/files/path.ts';
import { listProjectFolders, OWN_CONTEXT_NAME } from './context-place.ts';
import { editFile } from './file-edit.ts';
import { noHomeError } from './home.ts';

/** `user`: for every run; `project`: for those in the working directory. */
export type MemoryScope = 'user' | 'project';

export function findMemoryFile(scope: MemoryScope, { homes, cwd }: Pick<App, 'homes' | 'cwd'>): string {
  return join(scope === 'user' ? homes().gmn : cwd, OWN_CONTEXT_NAME);
}

/** Whether a note here is most likely about the project: a repository, or a folder that has notes already. */
export function isInProject(cwd: string): boolean {
  return (
    pathExists(join(cwd, OWN_CONTEXT_NAME)) ||
    listProjectFolders(cwd).some((folder) => pathExists(join(folder, '.git')))
  );
}

/**
 * The project's context file, which is to be written. In a folder of unknown origin a link could lead to any file, also inside of it, so
 * this throws AppError `usage` unless it is a regular file, or there is none.
 */
export function requireProjectFile(app: Pick<App, 'homes' | 'cwd'>): string {
  const file = findMemoryFile('project', app);
  const kind = findFileKind(file);
  if (kind === undefined || kind === 'file') return file;
  const what = kind === 'link' ? `a link to ${realPath(file) ?? 'nothing'}` : 'no regular file';
  throw new AppError('usage', `${OWN_CONTEXT_NAME} is ${what}, and is left alone`, {
    hint: kind === 'link' ? 'Change that file, or remove the link.' : 'Remove it, then try again.',
  });
}

/** Adds a note, as the last item of the file. Throws AppError `usage` or `config`; the file is then untouched. */
export async function addMemory(
  scope: MemoryScope,
  note: string,
  app: Pick<App, 'homes' | 'cwd' | 'clock' | 'signal'>,
): Promise<void> {
  if (app.homes().isMissing) throw noHomeError('nothing can be remembered');
  const file = scope === 'user' ? findMemoryFile(scope, app) : requireProjectFile(app);
  await editFile(file, app, {
    edit: (text) => appendNote(text, note, file),
    access: scope === 'user' ? 'private' : 'shared',
  });
}

function appendNote(text: string, note: string, name: string): string {
  if (/[\0\uFFFD]/.test(text)) {
    throw new AppError('config', `${name} is not UTF-8 text, and was left as it is`, {
      hint: 'Save it as UTF-8, then try again.',
    });
  }
  const item = `- ${note.split(/\r?\n/).join('\n  ')}\n`;
  return text === '' || text.endsWith('\n') ? text + item : `${text}\n${item}`;
}
