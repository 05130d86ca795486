import { type PrintOptions, printReport } from '../../app/report.ts';
import { readSetting } from '../../config/keys.ts';
import { readServerEnablement } from '../../config/server-enablement.ts';
import { editSettings } from '../../config/settings-edit.ts';
import { findWithheldVariables } from '../../config/variables.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { splitList } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createDefinition, readOAuthFlag, type TransportOptions } from '../../engine/tools/servers/definition.ts';
import {
  definesServer,
  listWritableFiles,
  readSettingsFile,
  requireWritableFile,
  resolveSettingsFile,
  type WritableScope,
} from '../../engine/tools/servers/roster.ts';

interface McpAddOptions extends PrintOptions, TransportOptions {
  readonly args: readonly string[];
  readonly scope?: WritableScope;
  readonly timeout?: number;
  readonly trust?: boolean;
  readonly description?: string;
  readonly includeTools?: readonly string[];
  readonly excludeTools?: readonly string[];
}

/** Replaces a server of the same name. Starts nothing. */
export async function run(options: McpAddOptions, app: App): Promise<number> {
  const [name = '', ...words] = options.args;
  checkName(name);
  if (words.length === 0) {
    throw new AppError('usage', 'the command or address of the server is missing', {
      hint: `Example: gmn mcp add ${name} npx -y some-server`,
    });
  }
  const { entry } = createDefinition(words, options, {
    ...(await readOAuthFlag(options, app)),
    ...toCommonKeys(options),
  });
  const place = requireWritableFile(options.scope ?? 'user', app);
  const { scope, file } = place;
  let isReplaced = false;
  await editSettings(resolveSettingsFile(place, app), app, (document) => {
    isReplaced = definesServer(document, name);
    return [{ path: ['mcpServers', name], value: entry }];
  });
  const text = `${isReplaced ? 'Replaced' : 'Added'} ${name} in ${file}\n`;
  const notices = [...formatWithheld(words), ...(await collectRemarks(name, { scope, options, app }))];
  await printReport({ text, json: { name, scope, file, replaced: isReplaced }, notices }, options, app);
  return 0;
}

function checkName(name: string): void {
  if (name.trim() !== '' && sanitize(name) === name && name !== '__proto__' && !name.startsWith('-')) return;
  throw new AppError('usage', `${sanitize(JSON.stringify(name))} cannot be the name of a server`, {
    hint: 'Use letters, digits and hyphens, e.g. files',
  });
}

function toCommonKeys(options: McpAddOptions): JsonObject {
  const { timeout, trust, description, includeTools, excludeTools } = options;
  return {
    timeout,
    trust: trust || undefined,
    description,
    includeTools: includeTools && splitList(includeTools),
    excludeTools: excludeTools && splitList(excludeTools),
  };
}

function formatWithheld([commandOrUrl = '', ...args]: readonly string[]): readonly string[] {
  if (/^https?:/i.test(commandOrUrl)) return [];
  const names = new Set([commandOrUrl, ...args].flatMap(findWithheldVariables));
  return [...names].map(
    (name) =>
      `$${sanitize(name)} is not put into a command line, which others can read. Give it to the program: -e ${sanitize(name)}='$${sanitize(name)}'`,
  );
}

interface AddContext {
  readonly scope: WritableScope;
  readonly options: McpAddOptions;
  readonly app: App;
}

async function collectRemarks(name: string, { scope, options, app }: AddContext): Promise<readonly string[]> {
  const remarks: string[] = [];
  if (scope === 'project') {
    remarks.push('a server in the settings of a folder is used once you have approved it: gmn trust');
    if (options.trust) remarks.push("--trust does not count in a folder's settings: its tools ask first");
  }
  for (const settingsFile of listWritableFiles(app)) {
    const isAbove = scope === 'user' && settingsFile.scope === 'gmn';
    if (isAbove && definesServer(await readSettingsFile(settingsFile.file), name))
      remarks.push(`${settingsFile.file} defines ${name} too, and wins`);
  }
  for (const { scope: fileScope, file } of listWritableFiles(app)) {
    const isExcluded = readSetting(await readSettingsFile(file), 'mcp.excluded')?.includes(name);
    if (fileScope !== 'project' && isExcluded)
      remarks.push(`${name} is disabled in ${file}. To use it: gmn mcp enable ${name}`);
  }
  const { file, isDisabled } = readServerEnablement(app.homes().gemini);
  if (isDisabled(name)) remarks.push(`${name} is disabled in ${file}. To use it: gmn mcp enable ${name}`);
  return remarks;
}
