import { join } from 'node:path';
import { parseSettingsText } from '../../config/document.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { realPath } from '../../platform/files/path.ts';
import { readStateFile } from '../../platform/files/small-file.ts';

/** Whose file a server is written to. */
export type WritableScope = 'user' | 'project' | 'gmn';

export interface Place {
  readonly scope: WritableScope;
  readonly file: string;
}

/** The files that gmn changes at a person's word; in the home directory there is no project. Throws AppError `config`. */
export function writablePlaces({ cwd, homes }: Pick<App, 'cwd' | 'homes'>): readonly Place[] {
  const { gemini, gmn } = homes();
  const project = join(cwd, '.gemini');
  const isHome = project === gemini || (realPath(project) !== undefined && realPath(project) === realPath(gemini));
  return [
    { scope: 'user', file: `${gemini}/settings.json` },
    { scope: 'gmn', file: `${gmn}/config.json` },
    ...(isHome ? [] : [{ scope: 'project' as const, file: join(project, 'settings.json') }]),
  ];
}

/** The file of a scope. Throws AppError `usage` if there is none here. */
export function placeOf(scope: WritableScope, app: Pick<App, 'cwd' | 'homes'>): Place {
  const place = writablePlaces(app).find((candidate) => candidate.scope === scope);
  if (place !== undefined) return place;
  throw new AppError('usage', 'there is no project here: this is where your own settings are', {
    hint: 'Use -s user, or go to the directory of the project.',
  });
}

/** What a settings file says now; empty if there is none. Throws AppError `config` if it is broken. */
export async function settingsIn(file: string): Promise<JsonObject> {
  const text = readStateFile(file);
  return text === undefined ? {} : parseSettingsText({ file, text });
}

/** Whether a document defines the server. */
export function defines(document: JsonObject, name: string): boolean {
  return Object.hasOwn(readSetting(document, 'mcpServers') ?? {}, name);
}
