import { isAbsolute } from 'node:path';
import type { App } from '../core/app.ts';
import { loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { createMessageStream } from '../mcp/wire/message-stream.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { nextTurn } from '../platform/runtime/clock.ts';
import type { ClaimedStdout } from '../platform/terminal/claimed-stdout.ts';
import { createClient } from './client.ts';
import { sessionNotFoundError, toProtocolError } from './failure.ts';
import type { AcpOptions, SessionRequest } from './open.ts';
import {
  type AgentApp,
  type AgentContext,
  type AuthMethod,
  type ClientCapabilities,
  type InitializeResponse,
  type NewSessionRequest,
  type SessionInfo,
  type Stream,
  sdk,
} from './sdk.ts';
import type { EditorSession } from './session.ts';

interface ServeOptions {
  readonly options: AcpOptions;
  readonly app: App;
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: ClaimedStdout;
}

/** The Agent Client Protocol, version 1, until the editor is gone. Whatever happens, all sessions are saved. Never throws. */
export async function serveEditor({ options, app, input, output }: ServeOptions): Promise<void> {
  const sessions = createSessions(options, app);
  const stream = createMessageStream({
    input,
    output,
    clock: app.clock,
    isSlow: (method) => method === 'session/prompt',
  });
  const connection = createAgent(options, app, sessions).connect(stream as Stream);
  await connection.closed;
  await sessions.closeAll();
}

function createAgent(options: AcpOptions, app: App, sessions: Sessions): AgentApp {
  let capabilities: ClientCapabilities = {};
  const open = (client: AgentContext, request: SessionRequest): Promise<EditorSession> =>
    sessions.open(request, (sessionId) => createClient(client, { sessionId, capabilities }));
  /** The answer must come first: some editors know the session only then. */
  const announceLater = (session: EditorSession): void =>
    void nextTurn()
      .then(() => session.announce())
      .catch((thrown) => app.trace(`acp: ${AppError.from(thrown).message}`));

  const load = async (client: AgentContext, params: NewSessionRequest & { sessionId: string }, isReplayed: boolean) => {
    const session = await open(client, toSessionRequest(params, params.sessionId));
    if (isReplayed) await session.replay();
    announceLater(session);
    return session.choices;
  };

  return sdk
    .agent({ name: 'gmn' })
    .onRequest('initialize', ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return describeAgent(app, capabilities);
    })
    .onRequest('authenticate', ({ params }) => answerRequest(() => requireCredential(params.methodId, options, app)))
    .onRequest('session/new', ({ params, client }) =>
      answerRequest(async () => {
        const session = await open(client, toSessionRequest(params));
        announceLater(session);
        return { sessionId: session.id, ...session.choices };
      }),
    )
    .onRequest('session/load', ({ params, client }) => answerRequest(() => load(client, params, true)))
    .onRequest('session/resume', ({ params, client }) =>
      answerRequest(() => load(client, { ...params, mcpServers: params.mcpServers ?? [] }, false)),
    )
    .onRequest('session/list', ({ params }) => answerRequest(() => sessions.list(params.cwd, params.cursor)))
    .onRequest('session/close', ({ params }) => answerRequest(() => sessions.close(params.sessionId)))
    .onRequest('session/delete', ({ params }) => answerRequest(() => sessions.remove(params.sessionId)))
    .onRequest('session/set_mode', ({ params }) =>
      answerRequest(async () => {
        await sessions.require(params.sessionId).choose('mode', params.modeId);
        return {};
      }),
    )
    .onRequest('session/set_config_option', ({ params }) =>
      answerRequest(async () => {
        const session = sessions.require(params.sessionId);
        await session.choose(params.configId, params.value);
        return { configOptions: session.choices.configOptions };
      }),
    )
    .onRequest('session/prompt', ({ params, signal }) =>
      answerRequest(async () => ({
        stopReason: await sessions.require(params.sessionId).prompt(params.prompt, signal),
      })),
    )
    .onNotification('session/cancel', ({ params }) => sessions.find(params.sessionId)?.cancel());
}

async function answerRequest<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw toProtocolError(thrown);
  }
}

function describeAgent({ version }: App, capabilities: ClientCapabilities): InitializeResponse {
  return {
    protocolVersion: sdk.PROTOCOL_VERSION,
    agentInfo: { name: 'gmn', title: 'gmn (Gemini)', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
    },
    authMethods: listAuthMethods(capabilities),
  };
}

const FOUND_METHOD = 'found';

/** An editor that can runs this program with `args` after its own, in a terminal: see commands/acp.ts. */
function listAuthMethods({ auth }: ClientCapabilities): AuthMethod[] {
  const keeps = 'Asks for a key of Google AI Studio, and keeps it in the keyring of the system';
  const setKey = { type: 'terminal', id: 'set-key', name: 'Enter an API key', description: keeps } as const;
  return [
    ...(auth?.terminal ? [{ ...setKey, args: ['auth', 'set-key'] }] : []),
    {
      id: FOUND_METHOD,
      name: 'Use what is there',
      description:
        "The official CLI's sign-in, GEMINI_API_KEY, or a key of: gmn auth set-key, which you run in a terminal first",
    },
  ];
}

/** Throws AppError `auth` if there is no credential. */
async function requireCredential(methodId: string, options: AcpOptions, app: App): Promise<object> {
  if (methodId !== FOUND_METHOD) {
    throw new AppError('usage', 'there is no such method', { hint: `Choose ${FOUND_METHOD}.` });
  }
  const { openModel } = await import('../engine/model.ts');
  const opened = await openModel(options, app, { notify: () => {} });
  await opened.close();
  return {};
}

/** Throws AppError `usage`. */
function toSessionRequest(
  { cwd, additionalDirectories = [], mcpServers }: NewSessionRequest,
  resume?: string,
): SessionRequest {
  for (const path of [cwd, ...additionalDirectories]) {
    if (isAbsolute(path) && !path.includes('\0') && isDirectory(path)) continue;
    throw new AppError('usage', `this is no directory: ${JSON.stringify(path).slice(0, 300)}`, {
      hint: 'A session works in directories that exist, named by absolute paths.',
    });
  }
  return { cwd, directories: additionalDirectories, servers: mcpServers, resume };
}

type Sessions = ReturnType<typeof createSessions>;
const PAGE = 100;
/** The sessions that are open, by id, and those that are saved. */
function createSessions(options: AcpOptions, app: App) {
  const opened = new Map<string, EditorSession>();
  const opening = new Set<Promise<EditorSession>>();
  let isOver = false;
  const openBudget = loadOnce(async () => {
    const { maxCost } = options;
    const hint = 'Start gmn acp with a higher --max-cost.';
    return maxCost === undefined ? undefined : (await import('../engine/budget.ts')).openBudget({ maxCost, hint }, app);
  });
  const openStore = loadOnce(async () => {
    const { openStore: open } = await import('../engine/sessions.ts');
    return open(app, (message) => app.trace(`acp: ${message}`), { by: 'chat' });
  });
  const requireSaved = async (id: string): Promise<SessionSummary> => {
    const found = await (await openStore()).findById(id);
    if (found === undefined) throw sessionNotFoundError();
    return found;
  };
  const close = async (id: string): Promise<void> => {
    const session = opened.get(id);
    opened.delete(id);
    await session?.close();
  };
  const openNow = async (
    request: SessionRequest,
    toClient: Parameters<Sessions['open']>[1],
  ): Promise<EditorSession> => {
    const { resume } = request;
    if (resume !== undefined) {
      // An editor that forgot it asks for it again.
      await close(resume);
      await requireSaved(resume);
    }
    const { openEditorSession } = await import('./open.ts');
    const session = await openEditorSession(request, {
      app,
      options,
      budget: await openBudget(),
      createClient: toClient,
    });
    opened.set(session.id, session);
    return session;
  };
  return {
    async open(request: SessionRequest, toClient: (sessionId: string) => ReturnType<typeof createClient>) {
      if (isOver) throw new AppError('interrupted', 'gmn is about to end');
      const work = openNow(request, toClient);
      opening.add(work);
      return work.finally(() => opening.delete(work));
    },
    find: (id: string): EditorSession | undefined => opened.get(id),
    require(id: string): EditorSession {
      const session = opened.get(id);
      if (session === undefined) throw sessionNotFoundError();
      return session;
    },
    async close(id: string): Promise<object> {
      if (!opened.has(id)) throw sessionNotFoundError();
      await close(id);
      return {};
    },
    /** To the trash, from where `gmn sessions restore` takes it. */
    async remove(id: string): Promise<object> {
      await close(id);
      await (await openStore()).discard(await requireSaved(id));
      return {};
    },
    async list(cwd: string | null | undefined, cursor: string | null | undefined) {
      const start = parseCursor(cursor);
      const wanted = cwd && (realPath(cwd) ?? cwd);
      const all = (await (await openStore()).list()).filter(
        (summary) => summary.source === 'chat' && isAbsolute(summary.cwd) && (!wanted || summary.cwd === wanted),
      );
      const end = start + PAGE;
      return {
        sessions: all.slice(start, end).map(toSessionInfo),
        nextCursor: end < all.length ? String(end) : undefined,
      };
    },
    async closeAll(): Promise<void> {
      isOver = true;
      await Promise.allSettled(opening);
      await Promise.allSettled([...opened.keys()].map(close));
    },
  };
}

function parseCursor(cursor: string | null | undefined): number {
  if (cursor === undefined || cursor === null) return 0;
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor);
  throw new AppError('usage', 'this cursor is none of gmn', { hint: 'Begin again without one.' });
}

function toSessionInfo({ id, cwd, name, title, updatedAt }: SessionSummary): SessionInfo {
  return { sessionId: id, cwd, title: name ?? title, updatedAt: new Date(updatedAt).toISOString() };
}
