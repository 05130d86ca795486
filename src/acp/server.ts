import { isAbsolute } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { ClaimedStdout } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import type { JsonRpcMessage } from '../mcp/wire/message.ts';
import { createMessageStream } from '../mcp/wire/message-stream.ts';
import { isDirectory } from '../platform/files/path.ts';
import { nextTurn } from '../platform/runtime/clock.ts';
import { createClient, toErrorFields } from './client.ts';
import type { AcpOptions, SessionRequest } from './open.ts';
import type {
  AgentApp,
  AgentContext,
  AuthMethod,
  ClientCapabilities,
  InitializeResponse,
  NewSessionRequest,
  Sdk,
  Stream,
} from './sdk.ts';
import type { EditorSession } from './session.ts';
import { createSessions, type Sessions } from './sessions.ts';

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
    ...{ input, output, clock: app.clock },
    isSlow: (method) => method === 'session/prompt',
    answerFirst: (message) => tryInitialize(message, app),
  });
  // It takes as long to load as all that came before.
  await stream.begun;
  const { sdk } = await import('./sdk.ts');
  const connection = createAgent(sdk, { options, app, sessions }).connect(stream as Stream);
  await connection.closed;
  await sessions.closeAll();
}

/** The answer that the SDK would give to an `initialize`; undefined for what it has to look at itself. */
function tryInitialize(message: JsonRpcMessage, app: App): InitializeResponse | undefined {
  if (!('method' in message) || message.method !== 'initialize') return undefined;
  const { protocolVersion: version, clientCapabilities = {} } = message.params ?? {};
  const isVersion = Number.isInteger(version) && Number(version) >= 0 && Number(version) <= 0xffff;
  const isPlain = isObject(clientCapabilities) && isObject(clientCapabilities.auth ?? {});
  return isVersion && isPlain ? describeAgent(app, clientCapabilities) : undefined;
}

interface AgentParts {
  readonly options: AcpOptions;
  readonly app: App;
  readonly sessions: Sessions;
}

function createAgent({ agent, RequestError }: Sdk, { options, app, sessions }: AgentParts): AgentApp {
  const answerRequest = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (thrown) {
      const { code, message, data } = toErrorFields(thrown);
      throw new RequestError(code, message, data);
    }
  };
  const obeyRequest = async (work: () => Promise<void>): Promise<object> => {
    await answerRequest(work);
    return {};
  };
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

  return agent({ name: 'gmn' })
    .onRequest('initialize', ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return describeAgent(app, capabilities);
    })
    .onRequest('authenticate', ({ params }) => obeyRequest(() => requireSignedIn(params.methodId, options, app)))
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
    .onRequest('session/list', ({ params }) => answerRequest(() => sessions.list(params)))
    .onRequest('session/close', ({ params }) => obeyRequest(() => sessions.close(params.sessionId)))
    .onRequest('session/delete', ({ params }) => obeyRequest(() => sessions.remove(params.sessionId)))
    .onRequest('session/set_mode', ({ params }) =>
      obeyRequest(async () => sessions.require(params.sessionId).choose('mode', params.modeId)),
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

function describeAgent({ version }: App, capabilities: ClientCapabilities): InitializeResponse {
  return {
    protocolVersion: VERSION,
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

const VERSION = 1;
const [SET_KEY, FOUND] = ['set-key', 'found'] as const;

/** An editor that can runs this program with `args` after its own, in a terminal: see commands/acp.ts. */
function listAuthMethods({ auth }: ClientCapabilities): AuthMethod[] {
  const keeps = 'Asks for a key of Google AI Studio, and keeps it in the keyring of the system';
  const setKey = { type: 'terminal', id: SET_KEY, name: 'Enter an API key', description: keeps } as const;
  return [
    ...(auth?.terminal ? [{ ...setKey, args: ['auth', 'set-key'] }] : []),
    {
      id: FOUND,
      name: 'Use what is there',
      description:
        "The official CLI's sign-in, GEMINI_API_KEY, or a key of: gmn auth set-key, which you run in a terminal first",
    },
  ];
}

/** Either way a credential has to be there by then. Throws AppError. */
async function requireSignedIn(method: string, options: AcpOptions, app: App): Promise<void> {
  if (method !== SET_KEY && method !== FOUND)
    throw new AppError('usage', 'there is no such method', { hint: `There are ${SET_KEY} and ${FOUND}.` });
  await (await import('../engine/model/model.ts')).requireCredential(options, app);
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
