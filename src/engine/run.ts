import { type Agent, PromptCount } from '../agent/agent.ts';
import { runTurn } from '../agent/turn.ts';
import type { Grant } from '../approval/grants.ts';
import type { ApprovalMode, ModeInForce } from '../approval/policy.ts';
import { type ContextText, hasConventionPlaces } from '../config/context-place.ts';
import { readSetting } from '../config/keys.ts';
import type { App, Settings } from '../core/app.ts';
import { createSerial } from '../core/async.ts';
import type { Confine } from '../core/confine.ts';
import type { Content } from '../core/content.ts';
import { type Notify, type TurnEvent, toNoticeEvent } from '../core/event.ts';
import type { CountedCall, RequestWatch } from '../core/model.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { BilledCall } from '../core/usage.ts';
import { findIgnoredSampling, findThinkingChange } from '../models/generation.ts';
import { makesPictures } from '../models/table.ts';
import type { BackgroundCommands } from '../platform/process/background.ts';
import type { Workspace } from '../tools/workspace/workspace.ts';
import { type OpenedAgent, openAgent } from './agent.ts';
import type { AnswerFormat } from './answer/output-schema.ts';
import type { Host } from './host.ts';
import { Limits } from './limits/limits.ts';
import { chooseTimeout, type OpenedModel, openModel, toBilledCall } from './model/model.ts';
import type { ModelSetup } from './model/setup.ts';
import { type Conversation, hasTools } from './session/conversation.ts';
import type { RunPatch, RunSetup } from './setup.ts';
import type { Conventions } from './tools/conventions.ts';
import type { Hooks } from './tools/hooks/hooks.ts';
import type { RunSandbox, Sandbox } from './tools/sandbox/sandbox.ts';
import type { RunServers } from './tools/servers/run-servers.ts';
import type { Servers } from './tools/servers/servers.ts';
import type { ToolSetup } from './tools/setup.ts';
import type { BackgroundHolder } from './tools/toolbox.ts';
import { loadAnswerFormat, type TurnOptions, takeTurn } from './turn.ts';

/** What a surface may know of a run. All of it may differ after `change`. */
export interface RunFacts {
  /** What is in force, with names and texts resolved. */
  readonly setup: RunSetup;
  readonly model: OpenedModel;
  readonly agent: Agent;
  /** The names of the enabled tools, including those that the approval mode withholds from the model. */
  readonly tools: readonly string[];
  readonly contextText: string;
  readonly contextFiles: readonly ContextText[];
  readonly servers: Servers | undefined;
  readonly schema: AnswerFormat['schema'];
  /** What was allowed by answers in this run; what is taken out is asked about again. */
  readonly granted: Grant[];
  /** Where commands are confined; undefined if they are not, or none can be run. */
  readonly sandbox: Sandbox | undefined;
}

export class Run {
  readonly limits: Limits;
  readonly #parts: RunParts;
  readonly #held: RunHoldings;
  readonly #runSerially = createSerial();
  #opened: RunState | undefined;
  #closing: Promise<void> | undefined;

  private constructor(parts: RunParts) {
    this.limits = parts.limits;
    this.#parts = parts;
    this.#held = {
      background: {},
      remembered: [],
      left: [],
      denied: new Set<string>(),
      toolCalls: [],
      inForce: {},
      onMode: (approvalMode) => {
        if (this.#opened === undefined) return;
        const { setup } = this.#opened;
        this.#opened = { ...this.#opened, setup: { ...setup, tools: { ...setup.tools, approvalMode } } };
      },
    };
  }

  /**
   * Opens answer format, limits, model, MCP servers, tools and instruction; notices go to the host. Throws AppError, and then
   * leaves nothing open.
   */
  static async open(given: RunSetup, app: App, host: Host): Promise<Run> {
    const format = await openAnswerFormat(given, app);
    const limits = await Limits.open(given.limits, app, chooseTimeout(undefined, given.model));
    const parts = { app, host: limits.pauseWhileAsked(host), limits, format };
    const run = new Run(parts);
    try {
      const { kept } = given.session;
      const setup = kept === undefined ? given : (await import('./session/kept-setup.ts')).applyKept(given, kept);
      run.#opened = await openState(setup, { parts, held: run.#held, notify: parts.host.notify });
      run.#watchServers();
      return run;
    } catch (thrown) {
      await run.close();
      throw thrown;
    }
  }

  get facts(): RunFacts {
    const { setup, model, agent } = this.#state;
    const { chosen: tools, contextText = '', contextFiles = [] } = agent;
    const { format } = this.#parts;
    return {
      setup,
      model,
      agent: format.agent(agent),
      tools,
      servers: this.#held.servers?.current?.servers,
      schema: format.schema,
      granted: this.#held.remembered,
      contextText,
      contextFiles,
      sandbox: this.#held.sandbox?.opened,
    };
  }

  /** The commands that tools have started in the background; undefined if there were none yet. */
  get background(): Pick<BackgroundCommands, 'list' | 'stop'> | undefined {
    return this.#held.background.commands;
  }

  /**
   * A prompt, and all that follows from it. Begins once and ends once: with `end`, or with `failure`. Never throws. Turns with
   * tools do not overlap.
   */
  turn(prompt: Content, options: TurnOptions): AsyncGenerator<TurnEvent, void> {
    const held = this.#held;
    const count = new PromptCount(this.#state.agent.maxTurns, this.#parts.host.notify);
    held.conversation = options.conversation;
    held.count = count;
    return takeTurn(prompt, options, { ...this.#parts, ...held, ...this.#state, count });
  }

  /** Between two turns. Throws AppError; then nothing changes. */
  change(patch: RunPatch): Promise<void> {
    return this.#runSerially(async () => {
      const before = this.#state;
      const parts = this.#parts;
      const notify = skipKnown(parts.host.notify, before.said);
      const setup = applyPatch(before.setup, patch);
      const after = await openState(setup, { parts, held: this.#held, before, notify });
      this.#opened = after;
      if (after.model !== before.model) await before.model.close();
    });
  }

  /** Starts the MCP servers again, as the settings are now. Throws AppError `config`; then nothing changes. */
  async reloadServers(): Promise<void> {
    const held = this.#held;
    const before = held.servers?.current;
    try {
      await held.servers?.reload();
    } finally {
      // Also if it failed half way: a tool whose server has ended must not be offered.
      if (held.servers?.current !== before) {
        await this.change({});
        this.#watchServers();
      }
    }
  }

  /**
   * Texts for the beginning of a prompt that is to follow these skills; from then on tools may read their folders. Throws AppError
   * `usage` if there is no such skill.
   */
  async activateSkills(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    return (await import('./tools/skills.ts')).activateSkills(names, this.#parts.app, this.#state.setup.tools);
  }

  /** Once, however often it is called. */
  close(): Promise<void> {
    this.#closing ??= this.#closeParts();
    return this.#closing;
  }

  async #closeParts(): Promise<void> {
    const held = this.#held;
    this.limits.close();
    await held.hooks?.close();
    await held.background.commands?.close();
    await held.servers?.close();
    // What was ended may have written last.
    for (const sandbox of [...held.left, held.sandbox?.opened]) {
      const notice = await sandbox?.reportMade();
      if (notice !== undefined) this.#parts.host.notify({ type: 'notice', message: notice, isUrgent: true });
    }
    await held.sandbox?.close();
    await this.#opened?.model.close();
  }

  get #state(): RunState {
    return this.#opened as RunState;
  }

  /** In the background: the next turn gets the tools that the servers have by then. */
  #watchServers(): void {
    this.#held.servers?.watch((notices) => {
      for (const notice of notices) this.#parts.host.notify(notice);
      void this.change({}).catch(() => undefined);
    });
  }
}

interface RunParts {
  readonly app: App;
  readonly host: Host;
  readonly limits: Limits;
  readonly format: AnswerFormat;
}

/** What stays the same when the setup changes. */
interface RunHoldings {
  readonly background: BackgroundHolder;
  readonly remembered: Grant[];
  /** What was denied in this turn, and has been said. */
  readonly denied: Set<string>;
  /** An answer changes the mode while a turn runs. */
  readonly onMode: (mode: ApprovalMode) => void;
  /** So that a change of the mode holds for a turn that runs, too. */
  readonly inForce: ModeInForce;
  /** Of the latest prompt. Tools and sub-agents ask for it when they need it: turns with tools do not overlap. */
  count?: PromptCount;
  /** Calls that tools have made since the last turn. */
  readonly toolCalls: BilledCall[];
  servers?: RunServers;
  /** Servers that start later ask for the one there is then. */
  sandbox?: RunSandbox;
  /** Closed ones, in which commands may still run. */
  readonly left: Sandbox[];
  hooks?: Hooks;
  /** Where the turn under way is kept. */
  conversation?: Conversation;
}

/** What `change` replaces. */
interface RunState {
  readonly setup: RunSetup;
  readonly model: OpenedModel;
  readonly agent: OpenedAgent;
  readonly said: readonly string[];
}

interface Opening {
  readonly parts: RunParts;
  readonly held: RunHoldings;
  /** Its model stays if the setup asks for the same. */
  readonly before?: RunState;
  readonly notify: Notify;
}

/** Model, MCP servers, tools and instruction. Throws AppError, and then leaves no model open. */
async function openState(setup: RunSetup, { parts, held, before, notify }: Opening): Promise<RunState> {
  const { app } = parts;
  const said: string[] = [];
  let isOpening = true;
  held.hooks ??= await openHooksIfAny(setup, parts, held);
  const host: Host = {
    ...(held.hooks?.watchPerson(parts.host) ?? parts.host),
    notify: (notice) => {
      const event = toNoticeEvent(notice);
      if (isOpening && event.type === 'notice') said.push(event.message);
      notify(event);
    },
  };
  const isSame = MODEL_KEYS.every((key) => before?.setup.model[key] === setup.model[key]);
  const model = (isSame && before?.model) || (await openRunModel(setup, parts, host.notify));
  const confined = held.sandbox;
  try {
    const workspace = setup.tools.workspace ?? (await openWorkspaceIfNeeded(setup.tools, app));
    const { sandbox, sandboxNet } = setup.tools;
    const isConfinedSo = before?.setup.tools.sandbox === sandbox && before?.setup.tools.sandboxNet === sandboxNet;
    if (before === undefined || !isConfinedSo)
      held.sandbox = await prepareSandboxIfWanted(setup.tools, app, workspace?.roots);
    // What the flag names must work, whether or not something is run; what the settings name, when something is.
    if (sandbox !== undefined) await held.sandbox?.open();
    held.servers ??= await openServersIfAny({ ...setup.tools, workspace }, parts, held);
    const isPicture = makesPictures(model.modelId);
    // Models that make pictures take no functions; those that the user named are up to the service.
    const tools = isPicture && setup.tools.namedTools !== undefined ? 'none' : setup.tools.tools;
    const remote = isPicture && setup.tools.servers === 'all' ? undefined : held.servers?.current?.tools;
    const conventions = setup.instruction.noContext
      ? undefined
      : await readConventionsIfAny(workspace, app, host.notify);
    const watch: RequestWatch = {
      onRequest: () => held.count?.onRequest(),
      onCall: (call: CountedCall) => void held.toolCalls.push(toBilledCall(call, model.billedTo, app.clock.now())),
    };
    const forAgents = {
      count: () => held.count,
      openModel: (name: string) =>
        openOtherModel({ ...setup, model: { ...setup.model, model: name } }, parts, skipKnown(host.notify, said)),
      openSession: async (report: (message: string) => void) =>
        held.conversation?.sessionId === undefined
          ? undefined
          : (await import('./session/sessions.ts')).openAgentSession(app, report),
    };
    const agent = await openAgent(
      { ...setup, tools: { ...setup.tools, tools } },
      { app, opened: model, host, workspace, remote, conventions, forAgents, watch, ...held },
    );
    if (held.sandbox !== confined) {
      if (confined?.opened !== undefined) held.left.push(confined.opened);
      await confined?.close();
    }
    return { setup: describeInForce({ ...setup, tools: { ...setup.tools, workspace } }, agent), model, agent, said };
  } catch (thrown) {
    if (held.sandbox !== confined) await held.sandbox?.close();
    held.sandbox = confined;
    if (model !== before?.model) await model.close();
    throw thrown;
  } finally {
    isOpening = false;
  }
}

/** What may change and is the model's; any other change leaves it open. */
const MODEL_KEYS = [
  'model',
  'showThoughts',
  'thinkingLevel',
  'thinkingBudget',
] as const satisfies readonly (keyof ModelSetup)[];

function skipKnown(notify: Notify, known: readonly string[]): Notify {
  return (notice) => {
    const event = toNoticeEvent(notice);
    if (event.type === 'notice' && !known.includes(event.message)) notify(event);
  };
}

function applyPatch(setup: RunSetup, { model, tools, instruction = {} }: RunPatch): RunSetup {
  // A new instruction replaces the text of the last one.
  const systemText = 'system' in instruction ? undefined : setup.instruction.systemText;
  return {
    ...setup,
    model: { ...setup.model, ...model },
    tools: { ...setup.tools, ...tools },
    instruction: { ...setup.instruction, systemText, ...instruction },
  };
}

async function openAnswerFormat({ answer: { outputSchema } }: RunSetup, app: App): Promise<AnswerFormat> {
  if (outputSchema === undefined) return { agent: (agent) => agent, run: runTurn };
  return loadAnswerFormat(outputSchema, app);
}

/** With the clock and the budget of the run. */
function openOtherModel(setup: RunSetup, parts: RunParts, notify: Notify): Promise<OpenedModel> {
  const { app, limits } = parts;
  const { timeout, timing } = limits.setup;
  return openModel(setup.model, app, {
    timeout,
    endsAt: limits.endsAt,
    isTimedByRequest: timing === 'request',
    // An upload does not count against the default timeout, but against one that the user set.
    pause: timeout === undefined ? limits.pause : undefined,
    budget: limits.budget,
    notify,
    showProgress: parts.host.showProgress,
  });
}

/** Its timeout, if the model takes longer than others, becomes that of the run. */
async function openRunModel(setup: RunSetup, parts: RunParts, notify: Notify): Promise<OpenedModel> {
  const model = await openOtherModel(setup, parts, notify);
  parts.limits.allow(model.timeoutMs);
  for (const find of [findIgnoredSampling, findThinkingChange]) find(model.modelId, setup.model).forEach(notify);
  return model;
}

async function openWorkspaceIfNeeded(setup: ToolSetup, app: App): Promise<Workspace | undefined> {
  if (!hasTools(setup)) return undefined;
  const { createLazyJournal, openOwnWorkspace } = await import('./tools/toolbox.ts');
  return openOwnWorkspace(setup, app, (roots) => createLazyJournal(app, roots));
}

async function prepareSandboxIfWanted(
  setup: ToolSetup,
  app: App,
  roots: readonly string[] | undefined,
): Promise<RunSandbox | undefined> {
  const { document = {} } = await app.settings();
  const isWanted = setup.sandbox !== undefined || readSetting(document, 'tools.sandbox') !== undefined;
  if (!isWanted || roots === undefined) return undefined;
  return (await import('./tools/sandbox/sandbox.ts')).prepareSandbox(setup, { app, roots });
}

/** Skills and sub-agents are for runs with tools. */
async function readConventionsIfAny(
  workspace: Workspace | undefined,
  app: App,
  notify: Notify,
): Promise<Conventions | undefined> {
  if (workspace === undefined) return undefined;
  const { extensions = [] } = await app.settings();
  if (extensions.length === 0 && !hasConventionPlaces(app)) return undefined;
  const { readConventions, formatSkipped } = await import('./tools/conventions.ts');
  const found = await readConventions(app);
  for (const notice of formatSkipped(found.skipped)) notify(notice);
  return found;
}

async function openHooksIfAny(
  setup: RunSetup,
  { app, host: { notify, withPerson } }: RunParts,
  held: RunHoldings,
): Promise<Hooks | undefined> {
  const { hooks = [] } = await app.settings();
  if (hooks.length === 0) return undefined;
  // A run without tools has no sandbox yet.
  const confine = async (): Promise<Confine | undefined> => {
    held.sandbox ??= await prepareSandboxIfWanted(setup.tools, app, [app.cwd]);
    return (await held.sandbox?.open())?.confine;
  };
  return (await import('./tools/hooks/hooks.ts')).openHooks({
    app,
    shell: setup.tools.shell,
    kind: setup.session.kind,
    notify,
    withPerson,
    confine,
  });
}

async function openServersIfAny(setup: ToolSetup, parts: RunParts, held: RunHoldings): Promise<RunServers | undefined> {
  const { app, host, limits } = parts;
  const { workspace, isPreview, servers = 'named' } = setup;
  const isNamed = setup.allowedMcpServerNames !== undefined || setup.mcpConfig !== undefined;
  if (servers === 'named' && !isNamed) traceUnused(await app.settings(), app);
  if (workspace === undefined || servers === 'none' || (servers === 'named' && !isNamed)) return undefined;
  const { openRunServers } = await import('./tools/servers/run-servers.ts');
  const confine = async (): Promise<Confine | undefined> => (await held.sandbox?.open())?.confine;
  return openRunServers(setup, { app, host, workspace, signal: limits.signal, isPreview, confine });
}

function traceUnused({ servers = [] }: Settings, { trace }: App): void {
  if (servers.length === 0) return;
  const names = servers.map(({ name }) => sanitize(name)).join(', ');
  trace(`MCP servers that are not used: ${names}; --allowed-mcp-server-names uses them`);
}

/** Later changes start from this: what a file or a session gave is a text by now. */
function describeInForce(setup: RunSetup, { setup: asked, mode = setup.tools.approvalMode }: OpenedAgent): RunSetup {
  const { model, systemText, appendText, start = setup.instruction.start } = asked;
  const texts = { system: undefined, appendSystemPrompt: undefined, systemText, appendText, start };
  return {
    ...setup,
    model: { ...setup.model, model, keptModel: undefined },
    tools: { ...setup.tools, approvalMode: mode, yolo: undefined },
    instruction: { ...setup.instruction, ...texts },
  };
}
