import type { RunTurn } from '../../agent/agent.ts';
import { runTurn } from '../../agent/turn.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { type Locks, loadOnce } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { settle, type TurnEvent, toNotices } from '../../core/event.ts';
import type { BilledCall } from '../../core/usage.ts';
import type { Engine, TurnRequest } from '../../mcp/server/engine.ts';
import { outsideRootsError } from '../../mcp/server/roots.ts';
import { listKnownModels } from '../../models/listing.ts';
import { sumCosts } from '../../models/prices.ts';
import { type BuiltInModel, EMBEDDING_MODEL, PLAIN_BUILT_IN } from '../../models/table.ts';
import { realPath } from '../../platform/files/path.ts';
import { createPinnedClient, isPublicAddress } from '../../platform/http/pinned.ts';
import { createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { appendUsage } from '../../session/usage-log.ts';
import { fetchBytes } from '../../tools/web-page.ts';
import { createLazyRedaction, openAgent } from '../agent.ts';
import type { Budget } from '../budget.ts';
import { chooseKept, type KeptOptions } from '../kept-setup.ts';
import { deadlineError, type ModelOptions, type OpenedModel, openModel } from '../model.ts';
import { createModelsReport } from '../models-report.ts';
import { countTokens, createQueries } from '../queries.ts';
import { type BackgroundHolder, openOwnWorkspace } from '../toolbox.ts';
import { createUndoStore } from '../undo-store.ts';
import { type OpenHistory, openServeSessions, type ServeSessions } from './sessions.ts';
import { denyQuestions, type Permissions, reportRefusals, reportUnoffered, toToolOptions } from './tools.ts';

const DEFAULT_TURN_MS = 600_000;

/** How deep gmn may be nested in gmn over MCP. */
const MAX_DEPTH = 2;
const DEPTH_VARIABLE = 'GMN_MCP_DEPTH';

interface EngineOptions {
  readonly app: App;
  /** In dollars, for all calls of this process together. */
  readonly maxCost?: number;
  readonly locks: Locks;
  readonly model: Pick<ModelOptions, 'model' | 'auth' | 'backend' | 'demo' | 'store'>;
  readonly permissions: Permissions;
}

/** Opens nothing until it is needed. */
export function createEngine(options: EngineOptions): Engine {
  const { app, locks } = options;
  const sessions = openServeSessions(app, locks);
  const budget = loadOnce(() => openServeBudget(options));
  const sendPinned = createPinnedClient({ isAllowedAddress: isPublicAddress, timers: app.httpTimers });
  return {
    sessions: sessions.store,
    waitForSaves: sessions.waitForSaves,
    async startTurn(request) {
      checkDepth(app);
      const kept = await sessions.open(request.storage, request.onSession);
      const refused: string[] = [];
      const calls: BilledCall[] = [];
      const turn = runEngineTurn(options, request, { ...kept, refused, calls, budget });
      const { saveLater } = sessions;
      const events = addCost(addSessionEvents(settle(turn), kept), { app, request, calls, saveLater, ...kept });
      return { events, refused };
    },
    countTokens: (text, signal) =>
      withModel(options, { builtIn: PLAIN_BUILT_IN }, async (opened) => {
        const contents = [{ role: 'user', parts: [{ text: await createLazyRedaction(app).redact(text) }] }] as const;
        return countTokens(opened, { model: opened.modelId, contents, generationConfig: {} }, { app, signal });
      }),
    embed: async (given, signal) =>
      withModel(options, { budget: await budget() }, async (opened) => {
        const queries = await createQueries(opened, app);
        const text = await createLazyRedaction(app).redact(given);
        const { vectors } = await queries.embed({ model: EMBEDDING_MODEL, texts: [text] }, signal);
        return { model: EMBEDDING_MODEL, values: vectors[0] ?? [] };
      }),
    fetchBytes: (url, signal) => fetchBytes(url, sendPinned, signal),
    describeModels() {
      const { text, json } = createModelsReport(listKnownModels());
      return { text, document: json };
    },
  };
}

async function openServeBudget({ maxCost, app }: EngineOptions): Promise<Budget | undefined> {
  if (maxCost === undefined) return undefined;
  const hint = 'Whoever runs this server can start it again, with a higher --max-cost.';
  return (await import('../budget.ts')).openBudget({ maxCost, hint }, app);
}

interface CostOptions extends Pick<OpenHistory, 'savedId'> {
  readonly app: App;
  readonly request: TurnRequest;
  readonly calls: readonly BilledCall[];
  readonly saveLater: ServeSessions['saveLater'];
}

/** Adds to the last event what the turn cost, and a line to the usage log if it is saved. */
async function* addCost(
  events: AsyncIterable<TurnEvent>,
  { app, request, calls, savedId, saveLater }: CostOptions,
): AsyncGenerator<TurnEvent, void> {
  for await (const event of events) {
    const id = event.type === 'end' || event.type === 'failure' ? savedId() : undefined;
    if (id !== undefined) {
      const cwd = request.directory ?? app.cwd;
      const record = { at: app.clock.now(), kind: 'serve', id, cwd, calls } as const;
      saveLater(async () => appendUsage(app.homes().gmn, record));
    }
    const cost =
      event.type === 'end' ? sumCosts(calls, readSetting((await app.settings()).document ?? {}, 'prices')) : undefined;
    yield event.type !== 'end' || cost === undefined ? event : { ...event, cost };
  }
}

async function* addSessionEvents(
  events: AsyncIterable<TurnEvent>,
  { waitForWrites, savedId, notices }: OpenHistory,
): AsyncGenerator<TurnEvent, void> {
  for await (const event of events) {
    // The caller may want to continue the session after a failure, so it must be in the file.
    if (event.type === 'failure') await waitForWrites();
    yield* toNotices(notices());
    const sessionId = event.type === 'end' ? savedId() : undefined;
    yield event.type !== 'end' || sessionId === undefined ? event : { ...event, sessionId };
  }
}

interface EngineTurn extends Pick<OpenHistory, 'history' | 'setup' | 'keepSetup' | 'close'> {
  readonly refused: string[];
  readonly calls: BilledCall[];
  readonly budget: () => Promise<Budget | undefined>;
}

async function* runEngineTurn(
  options: EngineOptions,
  request: TurnRequest,
  { history, setup, keepSetup, refused, close, calls, budget }: EngineTurn,
): AsyncGenerator<TurnEvent, void> {
  const { timeoutMs = DEFAULT_TURN_MS } = request;
  const deadline = createDeadline(request.signal, timeoutMs, deadlineError);
  let opened: OpenedModel | undefined;
  const background: BackgroundHolder = {};
  try {
    checkDirectory(request);
    const app = createTurnApp(options.app, request.directory);
    // A path that a person named once is not read for a caller.
    const { system: _, ...kept } = chooseKept(request, setup);
    opened = await openModel(toModelOptions(options, request, kept), app, {
      endsAt: deadline.endsAt,
      onCall: (call) => void calls.push(call),
      budget: await budget(),
    });
    if (request.timeoutMs === undefined) deadline.restart(Math.max(timeoutMs, opened.timeoutMs));
    yield* toNotices(opened.notices);
    const agent = yield* openTurnAgent(options, request, { app, opened, refused, background, kept });
    keepSetup(agent.setup);
    // Check again: reading settings and context files took time.
    checkDirectory(request);
    const run = await chooseServedRun(options, request, app);
    for await (const event of run(agent, { history, prompt: request.prompt, signal: deadline.signal })) {
      reportUnoffered(event, agent, refused);
      yield event;
    }
  } finally {
    await background.commands?.close();
    await closeTurn(deadline, opened, close);
  }
}

async function chooseServedRun(
  { permissions }: EngineOptions,
  { verify, directory }: TurnRequest,
  app: App,
): Promise<RunTurn> {
  if (verify === undefined) return runTurn;
  if (!permissions.shell || directory === undefined) throw new AppError('internal', 'verify is not allowed here');
  // The deadline of the turn ends it.
  return (await import('../verify.ts')).verifyTurn(runTurn, { app, command: verify, timeoutMs: 0 });
}

async function closeTurn(deadline: Deadline, opened: OpenedModel | undefined, close: () => void): Promise<void> {
  deadline.clear();
  await opened?.close();
  close();
}

interface TurnContext extends Pick<EngineTurn, 'refused'> {
  readonly app: App;
  readonly opened: OpenedModel;
  readonly background: BackgroundHolder;
  readonly kept: KeptOptions;
}

async function* openTurnAgent(
  { permissions }: EngineOptions,
  request: TurnRequest,
  { app, opened, refused, kept, background }: TurnContext,
) {
  const { directory, systemText, generationConfig, safetySettings, isGrounded } = request;
  const system = systemText === undefined ? {} : { systemText };
  const runPaused = <Result>(work: () => Promise<Result>): Promise<Result> => work();
  const workspace =
    directory === undefined
      ? undefined
      : reportRefusals(
          await openOwnWorkspace({}, app, (roots) => createUndoStore(app).createJournal(randomId(), roots)),
          (message) => {
            if (!refused.includes(message)) refused.push(message);
          },
        );
  if (workspace !== undefined && workspace.roots[0] !== directory) throw outsideRootsError(directory ?? '');
  const tools = workspace === undefined ? {} : toToolOptions(permissions);
  const agent = yield* openAgent({ ...kept, ...system, ...tools }, { app, opened, runPaused, background, workspace });
  const configured = {
    ...agent,
    request: {
      ...agent.request,
      generationConfig: { ...agent.request.generationConfig, ...generationConfig },
      safetySettings,
      ...(isGrounded ? { tools: [{ googleSearch: {} }] } : {}),
    },
  };
  return workspace === undefined ? configured : denyQuestions(configured, { permissions, workspace, refused });
}

/** Checks for symbolic links again: a call may have waited long since the first check. Throws AppError. */
function checkDirectory({ directory }: TurnRequest): void {
  if (directory !== undefined && realPath(directory) !== directory) throw outsideRootsError(directory);
}

/** The nesting depth goes into the environment of child processes. */
function createTurnApp(app: App, directory: string | undefined): App {
  const env = { ...app.env, [DEPTH_VARIABLE]: String(readDepth(app) + 1) };
  return { ...app, env, cwd: directory ?? app.cwd };
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

function toModelOptions(
  { model }: EngineOptions,
  { model: wanted, builtIn, sampling }: TurnRequest,
  { keptModel }: KeptOptions,
): ModelOptions {
  // In JSON format, messages of the credential become notices instead of going to a terminal.
  return { ...model, ...sampling, outputFormat: 'json', model: wanted ?? keptModel ?? model.model, builtIn };
}

async function withModel<Result>(
  { app, model }: EngineOptions,
  { builtIn, budget }: { readonly builtIn?: BuiltInModel; readonly budget?: Budget },
  work: (opened: OpenedModel) => Promise<Result>,
): Promise<Result> {
  checkDepth(app);
  const opened = await openModel({ ...model, builtIn, outputFormat: 'json' }, app, { budget });
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
