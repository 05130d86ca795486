import type { Agent } from '../../agent/agent.ts';
import { readSetting } from '../../config/keys.ts';
import { loadSettings } from '../../config/settings.ts';
import type { App } from '../../core/app.ts';
import { type Locks, loadOnce } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { settle, type TurnEvent, toNoticeEvent } from '../../core/event.ts';
import type { KeptSetup } from '../../core/session.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import type { Host } from '../../engine/host.ts';
import type { Budget } from '../../engine/limits/budget.ts';
import { openModel } from '../../engine/model/model.ts';
import { countTokens } from '../../engine/model/queries.ts';
import type { ModelSetup } from '../../engine/model/setup.ts';
import { Run } from '../../engine/run.ts';
import { chooseKept } from '../../engine/session/kept-setup.ts';
import type { RunSetup } from '../../engine/setup.ts';
import type { SandboxOptions } from '../../engine/tools/sandbox/sandbox.ts';
import { createLazyJournal, openOwnWorkspace } from '../../engine/tools/toolbox.ts';
import type { TurnOptions } from '../../engine/turn.ts';
import type { Engine, TurnRequest } from '../../mcp/server/engine.ts';
import { outsideRootsError } from '../../mcp/server/roots.ts';
import { listKnownModels } from '../../models/listing.ts';
import { FLASH_MODEL, PLAIN_BUILT_IN } from '../../models/table.ts';
import { realPath } from '../../platform/files/path.ts';
import { createPinnedClient, isPublicAddress } from '../../platform/http/pinned.ts';
import { fetchBytes } from '../../tools/web-page.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import { createModelsReport } from '../models-report.ts';
import { openServeSessions, type ServedConversation } from './sessions.ts';
import { denyServed, type Permissions, reportRefusals, reportUnoffered, toServedTools } from './tools.ts';

const DEFAULT_TURN_MS = 600_000;

/** How deep gmn may be nested in gmn over MCP. */
const MAX_DEPTH = 2;
const DEPTH_VARIABLE = 'GMN_MCP_DEPTH';

interface EngineOptions {
  readonly app: App;
  /** In dollars, for all calls of this process together. */
  readonly maxCost?: number;
  readonly locks: Locks;
  readonly model: Pick<ModelSetup, 'model' | 'auth' | 'backend' | 'demo' | 'store'>;
  readonly permissions: Permissions;
  readonly sandbox?: SandboxOptions;
}

export function createEngine(options: EngineOptions): Engine {
  const { app, locks } = options;
  const { model: _, store: __, ...service } = options.model;
  const sessions = openServeSessions(app, locks);
  const budget = loadOnce(async () => {
    const { maxCost } = options;
    const hint = 'Whoever runs this server can start it again, with a higher --max-cost.';
    return maxCost === undefined
      ? undefined
      : (await import('../../engine/limits/budget.ts')).openBudget({ maxCost, hint }, app);
  });
  const sendPinned = createPinnedClient({ isAllowedAddress: isPublicAddress, timers: app.httpTimers });
  return {
    sessions: sessions.store,
    async startTurn(request) {
      checkDepth(app);
      const limit = await budget();
      const conversation = await sessions.open(request.storage, request.onSession);
      const refused: string[] = [];
      const events = settle(serveTurn(options, request, conversation, refused, limit));
      return { events, refused };
    },
    async countTokens(text, signal) {
      checkDepth(app);
      const opened = await openModel({ ...options.model, builtIn: PLAIN_BUILT_IN }, app, { notify: () => {} });
      try {
        const contents = [{ role: 'user', parts: [{ text: await createLazyRedaction(app).redact(text) }] }] as const;
        return await countTokens(opened, { model: opened.modelId, contents, generationConfig: {} }, { app, signal });
      } finally {
        await opened.close();
      }
    },
    async embed(text, signal) {
      checkDepth(app);
      const { openEmbedder } = await import('../../engine/model/embedder.ts');
      const embedder = await openEmbedder(service, app, { budget: await budget(), notify: () => {} });
      try {
        const { vectors } = await embedder.embed([text], signal);
        return { model: embedder.model, values: vectors[0] ?? [] };
      } finally {
        await embedder.close();
      }
    },
    async decide({ text, questions }, signal) {
      checkDepth(app);
      const { openDecider } = await import('../../engine/model/decide.ts');
      const decider = await openDecider(service, app, { budget: await budget(), notify: () => {} });
      try {
        const { call: _, ...decision } = await decider.decide({ input: [{ text }], questions }, signal);
        return decision;
      } finally {
        await decider.close();
      }
    },
    fetchBytes: (url, signal) => fetchBytes(url, sendPinned, signal),
    async computeFlashCost(usage) {
      const { computeCost } = await import('../../models/prices.ts');
      const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
      return computeCost(usage, { model: FLASH_MODEL, at: app.clock.now(), overrides });
    },
    describeModels() {
      const { text, json } = createModelsReport(listKnownModels());
      return { text, document: json };
    },
  };
}

async function* serveTurn(
  options: EngineOptions,
  request: TurnRequest,
  conversation: ServedConversation,
  refused: string[],
  budget: Budget | undefined,
): AsyncGenerator<TurnEvent, void> {
  const { prompt, verify: command } = request;
  const said: TurnEvent[] = [];
  let run: Run | undefined;
  try {
    checkDirectory(request);
    const app = createTurnApp(options.app, request.directory);
    const workspace = await openTurnWorkspace(request, app, refused);
    const setup = toServedSetup(options, request, { kept: conversation.setup, workspace, budget });
    run = await Run.open(setup, app, createServeHost(said, refused));
    const { agent } = run.facts;
    // Check again: reading settings and context files took time.
    checkDirectory(request);
    if (command !== undefined && !(options.permissions.shell && workspace)) {
      throw new AppError('internal', 'verify is not allowed here');
    }
    const verify = command === undefined ? undefined : { command };
    const fields = toRequestFields(agent, request);
    for await (const event of run.turn(prompt, { conversation, request: fields, verify, isLast: true })) {
      reportUnoffered(event, agent, refused);
      yield* said.splice(0);
      yield event;
    }
  } catch (thrown) {
    yield* said.splice(0);
    throw thrown;
  } finally {
    await run?.close();
    await conversation.close();
  }
}

/** Nobody can be asked: what is not allowed is denied at once, and added to `refused`. */
function createServeHost(said: TurnEvent[], refused: string[]): Host {
  return {
    notify(notice) {
      const event = toNoticeEvent(notice);
      if (event.type !== 'notice' || !event.isDenial) said.push(event);
    },
    async explainDenial(call) {
      const denial = denyServed(call);
      refused.push(`${call.tool.name}: ${denial.advice}`);
      return denial;
    },
  };
}

function toServedSetup(
  { model, permissions, sandbox }: EngineOptions,
  request: TurnRequest,
  own: { readonly kept: KeptSetup; readonly workspace?: Workspace; readonly budget?: Budget },
): RunSetup {
  const { builtIn, sampling, timeoutMs, signal } = request;
  // A path that a person named once is not read for a caller.
  const { keptModel, systemText, appendText, start } = chooseKept(request, own.kept);
  const { workspace, budget } = own;
  const allowed = workspace && toServedTools(permissions);
  const confined = workspace && sandbox;
  return {
    model: { ...model, ...sampling, model: request.model ?? keptModel ?? model.model, builtIn },
    tools: { ...allowed, ...confined, workspace, servers: 'none' },
    instruction: { systemText: request.systemText ?? systemText, appendText, start },
    limits: { budget, signal, timeout: timeoutMs, leastMs: DEFAULT_TURN_MS },
    answer: { showsCost: true },
    session: { kind: 'serve' },
  };
}

async function openTurnWorkspace(
  { directory }: TurnRequest,
  app: App,
  refused: string[],
): Promise<Workspace | undefined> {
  if (directory === undefined) return undefined;
  const workspace = await openOwnWorkspace({}, app, (roots) => createLazyJournal(app, roots));
  if (workspace.roots[0] !== directory) throw outsideRootsError(directory);
  return reportRefusals(workspace, (message) => {
    if (!refused.includes(message)) refused.push(message);
  });
}

function toRequestFields({ request }: Agent, asked: TurnRequest): TurnOptions['request'] {
  const { generationConfig, safetySettings, isGrounded } = asked;
  return {
    generationConfig: { ...request.generationConfig, ...generationConfig },
    safetySettings,
    tools: isGrounded ? [{ googleSearch: {} }] : request.tools,
  };
}

/** Checks for symbolic links again: a call may have waited long since the first check. Throws AppError. */
function checkDirectory({ directory }: TurnRequest): void {
  if (directory !== undefined && realPath(directory) !== directory) throw outsideRootsError(directory);
}

/** With the settings of that directory, so that no hook of another one runs in it. The nesting depth goes into the environment of child processes. */
function createTurnApp(app: App, directory = app.cwd): App {
  const env = { ...app.env, [DEPTH_VARIABLE]: String(readDepth(app) + 1) };
  const own = { ...app, env, cwd: directory };
  return directory === app.cwd ? own : { ...own, settings: loadOnce(() => loadSettings(own)) };
}

function readDepth({ env }: App): number {
  const depth = Number(env[DEPTH_VARIABLE] ?? 0);
  return Number.isInteger(depth) && depth >= 0 ? depth : MAX_DEPTH;
}

function checkDepth(app: App): void {
  if (readDepth(app) < MAX_DEPTH) return;
  throw new AppError('limit', `gmn was started by gmn, which was started by gmn: it cannot be nested deeper`, {
    hint: `${DEPTH_VARIABLE} counts the levels.`,
  });
}
