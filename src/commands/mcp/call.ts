import { parseToolArguments, readJsonArguments, readPairs } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { sanitizeLines } from '../../app/servers/view.ts';
import { createTerminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { sanitize, stripControls } from '../../core/text/terminal.ts';
import { toOfficialName } from '../../core/tool.ts';
import {
  collectMedia,
  createMediaTarget,
  formatBlock,
  formatBlocks,
  type SaveMedia,
} from '../../engine/tools/servers/content.ts';
import { findArgumentFault } from '../../engine/tools/servers/elicitation.ts';
import { suggestNames } from '../../engine/tools/servers/roster.ts';
import { type SessionOptions, withServer } from '../../engine/tools/servers/session.ts';
import { isWantedTool, type NamedServer } from '../../mcp/client/definition.ts';
import { simplifyMessage } from '../../mcp/client/errors.ts';
import type { CallResult, Connection, RemoteTool } from '../../mcp/client/types.ts';
import { encodeDocument } from '../../render/json-text.ts';
import { createStderr } from '../../render/stderr.ts';

/** The beginning of an error usually says what is wrong; more would bury it. */
const MAX_FAILURE_CHARS = 10_000;

interface McpCallOptions extends SessionOptions {
  readonly args: readonly string[];
  readonly json?: string;
  readonly outputFormat?: 'text' | 'json';
  readonly outputFile?: string;
  readonly quiet?: boolean;
}

/** Prints text as it is, and structured content without text as JSON. */
export async function run(options: McpCallOptions, app: App): Promise<number> {
  const [server = '', tool = '', ...words] = options.args;
  if (options.json !== undefined && words.length > 0) {
    throw new AppError('usage', '--json cannot be combined with name=value words', { hint: 'Use one of them.' });
  }
  // No argument has such a name: it is JSON, as other clients take it.
  const json = options.json ?? (words.length === 1 && words[0]?.startsWith('{') ? words[0] : undefined);
  const given = json === undefined ? undefined : await readJsonArguments(json, app);
  const pairs = json === undefined ? await readPairs(words, app) : [];
  const save = await createMediaTarget(options.outputFile, app);
  const isText = options.outputFormat !== 'json';
  const progress = openProgress(`${server} ${tool}`, { quiet: options.quiet, json: !isText }, app);
  const elicit = isText ? createTerminalElicit(app.io.err, progress.pause) : undefined;
  let configured: NamedServer | undefined;
  const check = (found: NamedServer): void => {
    configured = found;
    // The official name of a tool is checked by its own.
    if (!tool.startsWith(toOfficialName({ server: found.name, tool: '' }))) checkIsWanted(found, tool);
  };
  return withServer(server, { options, app, check, elicit }, async (connection, notices) => {
    const { name, inputSchema } = await requireTool(connection, tool, app.signal);
    if (configured !== undefined) checkIsWanted(configured, name);
    const args = given ?? parseToolArguments(pairs, inputSchema);
    checkArguments(args, inputSchema, { server, tool: name });
    const result = await connection
      .callTool(name, args, { signal: app.signal, onProgress: progress.onProgress })
      .catch((thrown: unknown) => {
        const hint = 'The server was asked to stop; what the tool had done by then is not undone.';
        throw thrown === app.signal.reason ? AppError.from(thrown).with({ hint }) : thrown;
      });
    await progress.end();
    if (result.isError) throw toolError(connection, tool, result);
    await printResult(result, { notices, options, save }, app);
    return 0;
  }).finally(progress.end);
}

/** A tool that the settings keep from the model is not run by hand either. */
function checkIsWanted({ name, definition }: NamedServer, tool: string): void {
  if (isWantedTool(definition, tool)) return;
  const shown = sanitize(name);
  throw new AppError('config', `the settings of MCP server ${shown} exclude its tool ${sanitize(tool)}`, {
    hint: `To use it, change its includeTools or excludeTools. To see them, run: gmn mcp get ${shown}`,
  });
}

/** What is surely wrong is told before the tool runs. Throws AppError `usage`. */
function checkArguments(
  args: JsonObject,
  schema: JsonObject,
  { server, tool }: { readonly server: string; readonly tool: string },
): void {
  const fault = findArgumentFault(schema, args);
  if (fault === undefined) return;
  throw new AppError('usage', `${sanitize(tool)} does not take these arguments: ${sanitize(fault)}`, {
    hint: `To see what it takes, run: gmn mcp tools ${sanitize(server)}`,
  });
}

/** If the list is incomplete, a tool missing from it may still exist. */
async function requireTool(
  connection: Connection,
  name: string,
  signal: AbortSignal,
): Promise<Pick<RemoteTool, 'name' | 'inputSchema'>> {
  const { items, omitted } = await connection.listTools({ signal });
  const isMeant = (tool: RemoteTool): boolean => toOfficialName({ server: connection.name, tool: tool.name }) === name;
  const found = items.find((tool) => tool.name === name) ?? items.find(isMeant);
  if (found !== undefined) return found;
  if (omitted !== undefined) return { name, inputSchema: {} };
  const server = sanitize(connection.name);
  const known = items.map((tool) => tool.name);
  throw new AppError('mcp', `MCP server ${server} has no tool ${sanitize(name)}`, {
    hint: suggestNames(name, known, `To see its tools, run: gmn mcp tools ${server}`),
  });
}

function toolError(connection: Connection, tool: string, { content, structuredContent }: CallResult): AppError {
  const notes = content
    .flatMap((block) => formatBlock(block) ?? [])
    .join('\n')
    .trim();
  const reason = notes !== '' || structuredContent === undefined ? notes : JSON.stringify(structuredContent);
  const server = sanitize(connection.name);
  const shown =
    reason === '' ? 'it gave no reason' : shortenFailure(sanitizeLines(connection.redact(simplifyMessage(reason))));
  return new AppError('mcp', `MCP server ${server}: ${sanitize(tool)} failed: ${shown}`, {
    hint: `To see what it takes, run: gmn mcp tools ${server}`,
  });
}

function shortenFailure(reason: string): string {
  if (reason.length <= MAX_FAILURE_CHARS) return reason;
  return `${reason.slice(0, MAX_FAILURE_CHARS).toWellFormed()}… (${reason.length - MAX_FAILURE_CHARS} more characters)`;
}

async function printResult(
  result: CallResult,
  {
    notices,
    options,
    save,
  }: { readonly notices: readonly string[]; readonly options: McpCallOptions; readonly save: SaveMedia },
  app: App,
): Promise<void> {
  const { content, structuredContent, omitted = [] } = result;
  const { out, err } = app.io;
  const unknown = [...new Set(omitted)].map(
    (kind) => `a part of the type ${sanitize(kind)} was skipped: gmn does not support it`,
  );
  const notes = [...notices, ...unknown, ...(await save(collectMedia(content)))];
  if (options.outputFormat === 'json') {
    return out.write(encodeDocument(notes.length === 0 ? result : { ...result, warnings: notes }));
  }
  if (!options.quiet) for (const notice of notes) await createStderr(err).notice(notice);
  const hasContent = content.length > 0 || structuredContent === undefined;
  const text = hasContent ? formatBlocks(content, options.outputFile !== undefined) : encodeDocument(structuredContent);
  await out.write(out.isTerminal ? stripControls(text) : text);
}
