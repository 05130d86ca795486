import type { RunPaused } from '../../approval/approve.ts';
import { createTerminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import { splitList } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ReadResource } from '../../input/prompt-input.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import { type McpTools, openMcpTools } from '../../mcp/client/tools/toolset.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { noteProgress, withoutSpinner } from '../../render/spinner.ts';
import { BUILTIN_NAMES, isSelected } from '../../tools/builtins.ts';
import { readFile } from '../../tools/read-file.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import { openOwnWorkspace, type ToolOptions } from '../toolbox.ts';
import { createUndoStore } from '../undo-store.ts';
import { formatStep } from './progress.ts';
import { createResourceReader } from './resources.ts';
import { type Roster, type RosterOptions, readRoster } from './roster.ts';
import { listReadyServers, requireReadyServer } from './session.ts';

export interface RemoteContext {
  readonly app: App;
  readonly runPaused: RunPaused;
  readonly signal: AbortSignal;
  readonly isPreview?: boolean;
  readonly ignoresCache?: boolean;
}

/** For servers without a cached tool list. A one-shot has named its servers, so it waits for their own deadlines. */
const CHAT_WAIT_MS = 5000;
/** A person waits for the prompt; slower servers join later. */
const PROMPT_WAIT_MS = 1500;

/**
 * Uses the servers of `--allowed-mcp-server-names`, else all in the file of `--mcp-config`. Must be closed. Throws
 * AppError `mcp` for an unknown server, `config` for one that may not be used.
 */
export async function openNamedServers(
  options: RosterOptions & ToolOptions,
  context: RemoteContext,
): Promise<{ readonly workspace: Workspace; readonly remote: McpTools; readonly readResource: ReadResource }> {
  const { app } = context;
  const roster = await readRoster(options, app);
  const flagged = { ...roster, entries: roster.entries.filter(({ scope }) => scope === 'flag') };
  const isAll = options.allowedMcpServerNames === undefined;
  const servers = isAll ? listReadyServers(flagged) : requireNamedServers(roster, options);
  const notices = formatFaultyServers(isAll ? flagged : filterNamed(roster, options));
  const workspace = await openOwnWorkspace(options, app, (roots) =>
    createUndoStore(app).createJournal(randomId(), roots),
  );
  const remote = await openTools(servers, options, { ...context, maxWaitMs: 0, workspace, roster, notices });
  return { workspace, remote, readResource: createResourceReader(remote) };
}

/**
 * Undefined if no server is configured. The returned function starts them, so that errors in the settings show before
 * the servers in use are closed. A slow or failing server is skipped with a notice. Must be closed. Throws as
 * `openNamedServers` does.
 */
export async function prepareConfiguredServers(
  options: RosterOptions & ToolOptions,
  context: RemoteContext & { readonly workspace: Workspace },
): Promise<(() => Promise<ChatServers>) | undefined> {
  const roster = await readRoster(options, context.app);
  const servers =
    options.allowedMcpServerNames === undefined ? listReadyServers(roster) : requireNamedServers(roster, options);
  if (roster.entries.length === 0) return undefined;
  return async () => {
    const tools = await openTools(
      servers,
      { tools: 'edit', ...options },
      {
        ...context,
        maxWaitMs: isInteractive() && !context.ignoresCache ? PROMPT_WAIT_MS : CHAT_WAIT_MS,
        roster,
        notices: formatFaultyServers(roster),
      },
    );
    return { tools, roster };
  };
}

interface ChatServers {
  readonly tools: McpTools;
  readonly roster: Roster;
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

function openTools(
  servers: readonly ConfiguredServer[],
  options: ToolOptions,
  context: RemoteContext & {
    readonly workspace: Workspace;
    readonly maxWaitMs: number;
    readonly roster: Roster;
    readonly notices: readonly string[];
  },
): Promise<McpTools> {
  const {
    app,
    runPaused,
    workspace,
    signal,
    maxWaitMs,
    roster,
    notices,
    isPreview = false,
    ignoresCache = false,
  } = context;
  const askPaused: RunPaused = (work) => runPaused(() => withoutSpinner(app.io.err, work));
  const isText = (options.outputFormat ?? 'text') === 'text';
  // Without read_file the model could not read a stored output.
  const isReadable = isSelected(readFile.name, splitList([options.tools ?? 'none']));
  return openMcpTools(
    {
      servers,
      unused: roster.entries.filter(({ state }) => state.kind !== 'ready' || !servers.includes(state.server)),
      context: { ...app, roots: workspace.roots, ...(isText ? createTerminalElicit(app, askPaused) : {}) },
      reserved: BUILTIN_NAMES,
      allowedTools: splitList(options.allowedTools ?? []),
      storeOutput: isReadable ? workspace.keepUntrusted : undefined,
      onProgress: (step) => noteProgress(app.io.err, formatStep(step)),
      maxWaitMs,
      notices,
      isPreview,
      ignoresCache,
    },
    signal,
  );
}
