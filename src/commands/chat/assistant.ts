import { type AgentOptions, type OpenedAgent, openAgent } from '../../app/agent.ts';
import { type ModelLimits, type ModelOptions, type OpenedModel, openModel } from '../../app/model.ts';
import type { RosterOptions } from '../../app/servers/roster.ts';
import type { RemoteContext } from '../../app/servers/tools.ts';
import { type BackgroundHolder, chooseMode } from '../../app/toolbox.ts';
import type { RunPaused } from '../../approval/approve.ts';
import type { ApprovalMode } from '../../approval/policy.ts';
import type { Assistant, Servers, Setup } from '../../chat/assistant.ts';
import { loadSettings } from '../../config/settings.ts';
import type { App } from '../../core/app.ts';
import { createSerial } from '../../core/async.ts';
import type { McpTools } from '../../mcp/client/tools/toolset.ts';
import { listModelChoices, readListing, tryParseTier } from '../../models/listing.ts';
import { makesPictures } from '../../models/table.ts';
import { BUILTIN_NAMES } from '../../tools/builtins.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import { createChatServers } from './servers.ts';

export interface AssistantOptions extends ModelOptions, AgentOptions, RosterOptions {
  readonly timeout?: number;
  readonly noMcp?: boolean;
}

interface OpenedAssistant extends Assistant {
  readonly notices: readonly string[];
  close(): Promise<void>;
}

interface AssistantContext {
  readonly app: App;
  readonly runPaused: RunPaused;
  readonly workspace: Workspace;
  readonly onNotice: (notice: string) => void;
  readonly onCall: NonNullable<ModelLimits['onCall']>;
  readonly budget: ModelLimits['budget'];
}

interface Opened {
  readonly setup: Setup;
  readonly model: OpenedModel;
  readonly agent: OpenedAgent;
  readonly notices: readonly string[];
}

/** Opens the assistant of a chat; its setup can be changed later. Throws AppError: `config`, `auth` or `usage`. */
export async function openAssistant(options: AssistantOptions, context: AssistantContext): Promise<OpenedAssistant> {
  const servers = await openChatServers(options, context);
  try {
    const chosen = chooseMode(options, await context.app.settings());
    return await createAssistant(options, context, { servers, ...chosen });
  } catch (thrown) {
    await servers.close();
    throw thrown;
  }
}

interface RemoteServers {
  readonly current: ChatRemote | undefined;
  reload(): Promise<void>;
  watch(onChange: (notices: readonly string[]) => void): void;
  close(): Promise<void>;
}

async function openChatServers(options: AssistantOptions, context: AssistantContext): Promise<RemoteServers> {
  const { app } = context;
  const open = await prepareServers(options, context);
  let current = await open?.();
  let lifetime = new AbortController();
  const close = async (): Promise<void> => {
    lifetime.abort();
    await current?.tools.close();
    current = undefined;
  };
  return {
    get current() {
      return current;
    },
    async reload() {
      const settings = await loadSettings(app);
      const fresh = { ...context, app: { ...app, settings: async () => settings }, ignoresCache: true };
      // May throw, so call it while the current servers still run.
      const reopen = await prepareServers(options, fresh);
      await close();
      lifetime = new AbortController();
      current = await reopen?.();
    },
    watch: (onChange) => current?.tools.watch(onChange, AbortSignal.any([app.signal, lifetime.signal])),
    close,
  };
}

interface ChatRemote {
  readonly tools: McpTools;
  readonly servers: Servers;
}

async function prepareServers(
  options: AssistantOptions,
  context: AssistantContext & Pick<RemoteContext, 'ignoresCache'>,
): Promise<(() => Promise<ChatRemote>) | undefined> {
  if (options.noMcp) return undefined;
  const { servers = [], serverCommand } = await context.app.settings();
  const isNeeded = servers.length > 0 || options.mcpConfig !== undefined || options.allowedMcpServerNames !== undefined;
  if (!isNeeded && serverCommand === undefined) return undefined;
  const { prepareConfiguredServers } = await import('../../app/servers/tools.ts');
  const open = await prepareConfiguredServers(options, { ...context, signal: context.app.signal });
  if (open === undefined) return undefined;
  return async () => {
    const { tools, roster } = await open();
    return { tools, servers: createChatServers(roster, tools) };
  };
}

async function createAssistant(
  options: AssistantOptions,
  context: AssistantContext,
  { servers, mode, notices }: { readonly servers: RemoteServers } & ReturnType<typeof chooseMode>,
): Promise<OpenedAssistant> {
  const remembered = new Set<string>();
  // Read once: from then on the setup has the text.
  const { appendSystemPrompt: _, ...later } = options;
  const background: BackgroundHolder = {};
  const open = async (setup: Setup, before?: Opened): Promise<Opened> => {
    const isSame = before?.setup.model === setup.model && before?.setup.showThoughts === setup.showThoughts;
    const sameModel = isSame ? before?.model : undefined;
    const { onCall, budget } = context;
    const limits = { isTimedByRequest: true, onCall, budget };
    const model = sameModel ?? (await openModel({ ...options, ...toModelFlags(setup) }, context.app, limits));
    const isPicture = makesPictures(model.modelId);
    const remote = servers.current === undefined || isPicture ? {} : { remote: servers.current.tools };
    const parts = { ...context, ...remote, opened: model, remembered, background };
    const flags = toAgentFlags(before === undefined ? options : later, setup);
    // Models that make pictures take no functions; those that the user named are up to the service.
    const events = openAgent(isPicture && flags.namedTools !== undefined ? { ...flags, tools: 'none' } : flags, parts);
    const { agent, notices } = await collectAgent(events).catch(async (thrown: unknown) => {
      if (sameModel === undefined) await model.close();
      throw thrown;
    });
    const { model: name = setup.model, systemText, appendText, start = setup.start } = agent.setup;
    const known = { ...setup, model: name, system: undefined, systemText, appendText, start };
    return { setup: known, model, agent, notices: [...(sameModel === undefined ? model.notices : []), ...notices] };
  };
  let current = await open(createSetup(options, mode));
  const inOrder = createSerial();
  const change = (setup: Partial<Setup>): Promise<readonly string[]> =>
    inOrder(async () => {
      const before = current;
      current = await open({ ...before.setup, ...setup }, before);
      if (current.model !== before.model) await before.model.close();
      return current.notices;
    });
  // In the background: the next turn gets the current tools of the servers.
  const watchServers = (): void =>
    servers.watch((notices) => {
      const report = reportNew(current.notices, context.onNotice);
      report(notices);
      void change({}).then(report, () => undefined);
    });
  watchServers();
  return {
    notices: [...notices, ...current.notices, ...(servers.current?.tools.notices ?? [])],
    get servers() {
      return servers.current?.servers;
    },
    async reloadServers() {
      const before = servers.current;
      try {
        await servers.reload();
      } finally {
        // Also if reloading failed half way: a tool whose server has ended must not be offered.
        if (servers.current !== before) {
          await change({});
          watchServers();
        }
      }
      return servers.current?.tools.notices ?? [];
    },
    preconnect: () => current.model.preconnect(),
    get fileSupport() {
      return current.model.fileSupport;
    },
    allTools: BUILTIN_NAMES,
    serviceTools: SERVICE_TOOLS,
    service: options.demo ? 'demo' : current.model.backend,
    listModels() {
      const { backend, account, tier } = current.model;
      const owner = { backend, account: account(), tier: tryParseTier(tier()) };
      return listModelChoices(owner, options.demo ? undefined : readListing(context.app));
    },
    get setup() {
      return current.setup;
    },
    get agent() {
      return current.agent;
    },
    get tools() {
      return current.agent.chosen;
    },
    get contextText() {
      return current.agent.contextText ?? '';
    },
    change,
    close: async () => {
      await background.commands?.close();
      await servers.close();
      await current.model.close();
    },
  };
}

async function collectAgent(events: ReturnType<typeof openAgent>): Promise<Pick<Opened, 'agent' | 'notices'>> {
  const notices: string[] = [];
  for (;;) {
    const step = await events.next();
    if (step.done) return { agent: step.value, notices };
    if (step.value.type === 'notice') notices.push(step.value.message);
  }
}

function reportNew(
  reported: readonly string[],
  report: (notice: string) => void,
): (notices: readonly string[]) => void {
  return (notices) => notices.filter((notice) => !reported.includes(notice)).forEach(report);
}

function createSetup(options: AssistantOptions, mode: ApprovalMode): Setup {
  return {
    model: options.model ?? options.keptModel,
    system: options.system,
    systemText: options.systemText,
    appendText: options.appendText,
    tools: options.tools ?? chooseDefaultTools(options),
    start: options.start,
    mode,
    showThoughts: options.showThoughts ?? false,
    service: SERVICE_TOOLS.filter((name) => options[name]),
  };
}

const SERVICE_TOOLS = ['search', 'code', 'url'] as const satisfies readonly (keyof AssistantOptions)[];

/** `--shell` implies that the model may use it. */
function chooseDefaultTools({ shell }: AssistantOptions): string {
  return shell === undefined ? 'edit' : 'edit,run_shell_command';
}

function toModelFlags({ model, showThoughts }: Setup): Pick<AssistantOptions, 'model' | 'showThoughts'> {
  return { ...(model === undefined ? {} : { model }), showThoughts };
}

function toAgentFlags(
  { system: _, systemText: __, appendText: ___, yolo: ____, ...options }: AssistantOptions,
  setup: Setup,
): AgentOptions {
  const { system, systemText, appendText, tools, start, mode, service } = setup;
  // The default tools of a chat do not count as named by the user.
  const named = options.tools === undefined && tools === chooseDefaultTools(options) ? { namedTools: 'edit' } : {};
  return {
    ...options,
    tools,
    ...named,
    start,
    isChat: true,
    approvalMode: mode,
    ...Object.fromEntries(SERVICE_TOOLS.map((name) => [name, service.includes(name)])),
    // A text given now comes first.
    system,
    systemText: system === undefined ? systemText : undefined,
    appendText,
  };
}
