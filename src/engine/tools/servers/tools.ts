import { splitList } from '../../../core/text/names.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import type { ConfiguredServer } from '../../../mcp/client/servers.ts';
import { type McpTools, openMcpTools } from '../../../mcp/client/tools/toolset.ts';
import type { Progress } from '../../../mcp/client/types.ts';
import { isInteractive } from '../../../platform/terminal/io.ts';
import { BUILTIN_NAMES, isSelected } from '../../../tools/builtins.ts';
import { readFile } from '../../../tools/read-file.ts';
import { splitRules } from '../../../tools/rules.ts';
import { readAllowedSetting } from '../permissions.ts';
import type { ToolSetup } from '../setup.ts';
import { obeySchema } from './elicitation.ts';
import { type Roster, type RosterOptions, readRoster } from './roster.ts';
import { createServers, type Servers, type ServersContext } from './servers.ts';
import { confineServer, listReadyServers, requireReadyServer } from './session.ts';

export interface OpenedServers {
  readonly tools: McpTools;
  readonly servers: Servers;
}

/** For servers without a cached tool list. A one-shot has named its servers, so it waits for their own deadlines. */
const CHAT_WAIT_MS = 5000;
/** A person waits for the prompt; slower servers join later. */
const PROMPT_WAIT_MS = 1500;

/** Uses the servers of `--allowed-mcp-server-names`, else all in the file of `--mcp-config`. */
export async function openNamedServers(options: ToolSetup, context: ServersContext): Promise<OpenedServers> {
  const roster = await readRoster(options, context.app);
  const flagged = { ...roster, entries: roster.entries.filter(({ scope }) => scope === 'flag') };
  const isAll = options.allowedMcpServerNames === undefined;
  const ready = isAll ? listReadyServers(flagged) : requireNamedServers(roster, options);
  const notices = formatFaultyServers(isAll ? flagged : filterNamed(roster, options));
  return connectServers(ready, options, { ...context, maxWaitMs: 0, roster, notices });
}

/** The returned function starts them: errors in the settings must show before the servers in use are closed. */
export async function prepareConfiguredServers(
  options: ToolSetup,
  context: ServersContext,
): Promise<(() => Promise<OpenedServers>) | undefined> {
  const roster = await readRoster(options, context.app);
  const ready =
    options.allowedMcpServerNames === undefined ? listReadyServers(roster) : requireNamedServers(roster, options);
  if (roster.entries.length === 0) return undefined;
  const maxWaitMs = isInteractive() && !context.ignoresCache ? PROMPT_WAIT_MS : CHAT_WAIT_MS;
  const notices = formatFaultyServers(roster);
  return () => connectServers(ready, options, { ...context, maxWaitMs, roster, notices });
}

function requireNamedServers(
  roster: Roster,
  { allowedMcpServerNames = [] }: RosterOptions,
): readonly ConfiguredServer[] {
  const wanted = splitList(allowedMcpServerNames);
  const isFaulty = (name: string): boolean =>
    roster.entries.some((entry) => entry.name === name && entry.state.kind === 'faulty');
  // An invalid entry is skipped with a notice.
  for (const name of wanted) if (!isFaulty(name)) requireReadyServer(roster, name);
  return listReadyServers(roster);
}

function filterNamed(roster: Roster, { allowedMcpServerNames = [] }: RosterOptions): Roster {
  const wanted = splitList(allowedMcpServerNames);
  return { ...roster, entries: roster.entries.filter(({ name }) => wanted.includes(name)) };
}

function formatFaultyServers({ entries }: Roster): readonly string[] {
  return entries.flatMap(({ name, file, state }) =>
    state.kind === 'faulty' ? [`${file}: MCP server ${sanitize(name)} is not used: ${state.why}`] : [],
  );
}

interface ConnectContext extends ServersContext {
  readonly maxWaitMs: number;
  readonly roster: Roster;
  readonly notices: readonly string[];
}

async function connectServers(
  ready: readonly ConfiguredServer[],
  options: ToolSetup,
  { app, host, workspace, signal, maxWaitMs, roster, notices, isPreview, ignoresCache, confine }: ConnectContext,
): Promise<OpenedServers> {
  // Without read_file the model could not read a stored output.
  const isReadable = isSelected(readFile.name, splitList([options.tools ?? 'none']));
  const tools = await openMcpTools(
    {
      servers: ready.map((server) => confineServer(server, confine)),
      unused: roster.entries.filter(({ state }) => state.kind !== 'ready' || !ready.includes(state.server)),
      context: { ...app, roots: workspace.roots, elicit: host.elicit && obeySchema(host.elicit) },
      reserved: BUILTIN_NAMES,
      allowedTools: splitRules(options.allowedTools ?? []),
      allowedBySettings: options.ignoresPermissions ? [] : readAllowedSetting(await app.settings()).patterns,
      storeOutput: isReadable ? workspace.keepUntrusted : undefined,
      onProgress: (step) => host.showProgress?.(formatStep(step)),
      maxWaitMs,
      notices,
      isPreview,
      ignoresCache,
    },
    signal,
  );
  for (const notice of tools.notices) host.notify(notice);
  return { tools, servers: createServers(roster, tools) };
}

export function formatStep({ progress: done, total, message }: Progress): string {
  const share = total !== undefined && total > 0 ? `${Math.min(100, Math.floor((done / total) * 100))} %` : '';
  return [share, message === undefined ? '' : sanitize(message).slice(0, 200)].filter((word) => word !== '').join(' ');
}
