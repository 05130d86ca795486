import { basename, dirname, sep } from 'node:path';
import type { ServerSetting } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { readStateFile } from '../platform/state-file.ts';
import { expandDocument, parseSettingsText } from './document.ts';
import { readSetting } from './keys.ts';

/** An extension of the official CLI, which has variables of its own. */
const EXTENSION = 'gemini-extension.json';

/**
 * The servers of a file that the command line names: `{ "mcpServers": { … } }`, or an extension's, variables put in. Naming it is leave to start
 * them, but not to run their tools unasked: it may have come with a folder. Throws AppError `config` if it is broken, `usage` if
 * there is none.
 */
export async function readServersFile(
  file: string,
  { env, cwd }: { readonly env: Env; readonly cwd: string },
): Promise<readonly ServerSetting[]> {
  const text = readStateFile(file);
  if (text === undefined)
    throw new AppError('usage', `no such file: ${file}`, { hint: 'Check the path after --mcp-config.' });
  const variables = basename(file) === EXTENSION ? { ...env, ...extensionVariables(file, cwd) } : env;
  const document = await expandDocument(await parseSettingsText({ file, text }), text, variables);
  return Object.entries(readSetting(document, 'mcpServers') ?? {}).flatMap(([name, definition]) =>
    definition === undefined ? [] : [{ name, definition, scope: 'flag' as const, file }],
  );
}

function extensionVariables(file: string, cwd: string): Env {
  return { extensionPath: dirname(file), workspacePath: cwd, '/': sep, pathSeparator: sep };
}
