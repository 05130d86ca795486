import { runTurn } from '../../agent/turn.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { settle, type TurnEvent } from '../../core/event.ts';
import type { Holds } from '../../mcp/server/concurrency.ts';
import type { Engine, TurnRequest } from '../../mcp/server/engine.ts';
import { outsideRoots } from '../../mcp/server/roots.ts';
import { knownModels } from '../../models/listing.ts';
import { type BuiltInModel, PLAIN_BUILT_IN } from '../../models/table.ts';
import { realPath } from '../../platform/files/path.ts';
import { isPublicAddress, sendPinned } from '../../platform/http/pinned.ts';
import { type Deadline, deadline } from '../../platform/runtime/clock.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { fetchBytes } from '../../tools/web-page.ts';
import { lazyWithholding, openAgent, timedOut } from '../agent.ts';
import { type ModelOptions, type OpenedModel, openModel } from '../model.ts';
import { modelsReport } from '../models-report.ts';
import { countTokens, patientInquiries } from '../queries.ts';
import { openOwnWorkspace, undoStoreOf } from '../toolbox.ts';
import { type OpenHistory, serveSessions } from './sessions.ts';
import { noteUnoffered, noting, type Permissions, toolOptions, unattended } from './tools.ts';

const EMBED_MODEL = 'gemini-embedding-001';

const USUAL_MS = 600_000;

/** The maximum depth of nested servers: gmn → MCP → gmn. */
const DEEPEST = 2;
const DEPTH = 'GMN_MCP_DEPTH';

interface EngineOptions {
  readonly app: App;
  readonly holds: Holds;
  /** The model for calls that name none. */
  readonly model: Pick<ModelOptions, 'model' | 'auth' | 'backend' | 'demo'>;
  readonly permissions: Permissions;
}

/** Turns, sessions and queries for the tools of the MCP server. Opens nothing until it is needed. */
export function serveEngine(options: EngineOptions): Engine {
  const { app, holds } = options;
  const sessions = serveSessions(app, holds);
  return {
    sessions: sessions.store,
    settled: sessions.settled,
    async startTurn(request) {
      checkDepth(app);
      const kept = await sessions.open(request.kept, request.onSession);
      const refused: string[] = [];
      const events = withSession(settle(turnEvents(options, request, { ...kept, refused })), kept);
      return { events, refused };
    },
    countTokens: (text, signal) =>
      withModel(options, PLAIN_BUILT_IN, async (opened) => {
        const contents = [{ role: 'user', parts: [{ text: await lazyWithholding(app).conceal(text) }] }] as const;
        return countTokens(opened, { model: opened.modelId, contents, generationConfig: {} }, { app, signal });
      }),
    embed: (given, signal) =>
      withModel(options, undefined, async (opened) => {
        const inquiries = await patientInquiries(opened, app);
        const text = await lazyWithholding(app).conceal(given);
        return { model: EMBED_MODEL, values: await inquiries.embed({ model: EMBED_MODEL, text }, signal) };
      }),
    fetchBytes: (url, signal) =>
      fetchBytes(url, sendPinned({ isAllowedAddress: isPublicAddress, timers: app.httpTimers }), signal),
    models() {
      const { text, json } = modelsReport(knownModels());
      return { text, document: json };
    },
  };
}

/** Adds the notices of the session, and its id to the last event if everything is saved. */
async function* withSession(
  events: AsyncIterable<TurnEvent>,
  { written, savedId, notices }: OpenHistory,
): AsyncGenerator<TurnEvent, void> {
  for await (const event of events) {
    // After a failure the caller may want to continue the session, so it must be in the file.
    if (event.type === 'failure') await written();
    for (const message of notices()) yield { type: 'notice', message };
    const sessionId = event.type === 'end' ? savedId() : undefined;
    yield event.type !== 'end' || sessionId === undefined ? event : { ...event, sessionId };
  }
}

interface Turn extends Pick<OpenHistory, 'history' | 'close'> {
  readonly refused: string[];
}

async function* turnEvents(
  options: EngineOptions,
  request: TurnRequest,
  { history, refused, close }: Turn,
): AsyncGenerator<TurnEvent, void> {
  const { timeoutMs = USUAL_MS } = request;
  const limit = deadline(request.signal, timeoutMs, () => timedOut(timeoutMs));
  let opened: OpenedModel | undefined;
  try {
    checkDirectory(request);
    const app = appFor(options.app, request.directory);
    opened = await openModel(modelOptions(options, request), app, limit.endsAt);
    for (const message of opened.notices) yield { type: 'notice', message };
    const agent = yield* agentFor(options, request, { app, opened, refused });
    // Check again: reading settings and context files took time.
    checkDirectory(request);
    for await (const event of runTurn(agent, { history, prompt: request.prompt, signal: limit.signal })) {
      noteUnoffered(event, agent, refused);
      yield event;
    }
  } finally {
    await finish(limit, opened, close);
  }
}

async function finish(limit: Deadline, opened: OpenedModel | undefined, close: () => void): Promise<void> {
  limit.clear();
  await opened?.close();
  close();
}

async function* agentFor(
  { permissions }: EngineOptions,
  request: TurnRequest,
  { app, opened, refused }: { readonly app: App; readonly opened: OpenedModel; readonly refused: string[] },
) {
  const { directory, systemText, generationConfig, safetySettings, isGrounded } = request;
  const system = systemText === undefined ? {} : { systemText };
  const lend = <Result>(work: () => Promise<Result>): Promise<Result> => work();
  const workspace =
    directory === undefined
      ? undefined
      : noting(await openOwnWorkspace({}, app, (roots) => undoStoreOf(app).journal(randomId(), roots)), (words) => {
          if (!refused.includes(words)) refused.push(words);
        });
  if (workspace !== undefined && workspace.roots[0] !== directory) throw outsideRoots(directory ?? '');
  const tools = workspace === undefined ? {} : toolOptions(permissions);
  const agent = yield* openAgent(
    { ...system, ...tools },
    { app, opened, lend, ...(workspace === undefined ? {} : { workspace }) },
  );
  const asked = {
    ...agent,
    request: {
      ...agent.request,
      generationConfig: { ...agent.request.generationConfig, ...generationConfig },
      ...(safetySettings === undefined ? {} : { safetySettings }),
      ...(isGrounded ? { tools: [{ googleSearch: {} }] } : {}),
    },
  };
  return workspace === undefined ? asked : unattended(asked, { permissions, workspace, refused });
}

/**
 * Checks again that the path has no symbolic links: a call may have waited long since the first check. Throws
 * CodedError.
 */
function checkDirectory({ directory }: TurnRequest): void {
  if (directory !== undefined && realPath(directory) !== directory) throw outsideRoots(directory);
}

/** The App in another directory, with the nesting depth in the environment of its children. */
function appFor(app: App, directory: string | undefined): App {
  const env = { ...app.env, [DEPTH]: String(depthOf(app) + 1) };
  return { ...app, env, ...(directory === undefined ? {} : { cwd: directory }) };
}

function depthOf({ env }: App): number {
  const depth = Number(env[DEPTH] ?? 0);
  return Number.isInteger(depth) && depth >= 0 ? depth : DEEPEST;
}

function checkDepth(app: App): void {
  if (depthOf(app) < DEEPEST) return;
  throw new AppError('limit', `gmn was started by gmn, which was started by gmn: it cannot be nested deeper`, {
    hint: `${DEPTH} counts it.`,
  });
}

function modelOptions({ model }: EngineOptions, { model: wanted, builtIn, sampling }: TurnRequest): ModelOptions {
  // JSON format, so that messages of the credential become notices instead of going to a terminal.
  const options = { ...model, ...sampling, outputFormat: 'json' } as const;
  return wanted === undefined ? unlessNamed(options, builtIn) : { ...options, model: wanted };
}

/** A tool's own built-in model takes precedence over the server's `-m`. */
function unlessNamed({ model, ...options }: ModelOptions, builtIn: BuiltInModel | undefined): ModelOptions {
  if (builtIn !== undefined) return { ...options, builtIn };
  return model === undefined ? options : { ...options, model };
}

async function withModel<Result>(
  { app, model }: EngineOptions,
  builtIn: BuiltInModel | undefined,
  work: (opened: OpenedModel) => Promise<Result>,
): Promise<Result> {
  checkDepth(app);
  const opened = await openModel(unlessNamed({ ...model, outputFormat: 'json' }, builtIn), app, () => undefined);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
