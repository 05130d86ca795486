import { printReport } from '../../app/report.ts';
import { readPairs } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { createTerminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { formatBlocks, toBlockJson } from '../../engine/tools/servers/content.ts';
import { suggestNames } from '../../engine/tools/servers/roster.ts';
import { withServer } from '../../engine/tools/servers/session.ts';
import type { Connection, PromptMessage } from '../../mcp/client/types.ts';
import type { InspectOptions } from './listing.ts';

/** Several messages are printed each under its role. */
export async function run(options: InspectOptions, app: App): Promise<number> {
  const [server = '', name = '', ...words] = options.args;
  const args = Object.fromEntries(await readPairs(words, app));
  const progress = openProgress(`${server} ${name}`, options, app);
  const elicit = options.json ? undefined : createTerminalElicit(app.io.err, progress.pause);
  return withServer(server, { options, app, elicit }, async (connection, notices) => {
    await checkPrompt(connection, { name, args }, app.signal);
    const { description, messages } = await connection.getPrompt(name, args, { signal: app.signal });
    await progress.end();
    const json = {
      description,
      messages: messages.map(({ role, content }) => ({ role, content: toBlockJson(content) })),
    };
    await printReport({ text: formatMessages(messages), json, notices, isVerbatim: true }, options, app);
    return 0;
  }).finally(progress.end);
}

/** If the list is incomplete, a prompt missing from it may still exist. */
async function checkPrompt(
  connection: Connection,
  { name, args }: { readonly name: string; readonly args: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<void> {
  const { items, omitted } = await connection.listPrompts({ signal });
  const found = items.find((prompt) => prompt.name === name);
  const server = sanitize(connection.name);
  if (found === undefined) {
    if (omitted !== undefined) return;
    const known = items.map((prompt) => prompt.name);
    throw new AppError('mcp', `MCP server ${server} has no prompt ${sanitize(name)}`, {
      hint: suggestNames(name, known, `To see its prompts, run: gmn mcp prompts ${server}`),
    });
  }
  const missing = found.arguments.filter((argument) => argument.isRequired && !Object.hasOwn(args, argument.name));
  if (missing.length > 0) {
    const names = missing.map((argument) => sanitize(argument.name));
    throw new AppError('usage', `the prompt ${sanitize(name)} needs ${names.join(', ')}`, {
      hint: `Add: ${names.map((argument) => `${argument}=…`).join(' ')}`,
    });
  }
}

function formatMessages(messages: readonly PromptMessage[]): string {
  const isOne = messages.length === 1;
  return messages
    .map(({ role, content }) => `${isOne ? '' : `${role}:\n`}${formatBlocks([content], false)}`)
    .join('\n');
}
