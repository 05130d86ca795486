import { raceWithAbort } from '../../core/async.ts';
import { AppError, findStatus } from '../../core/error.ts';
import { formatDuration } from '../../core/text/format.ts';
import { createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import { createClientOptions, handleServerRequests } from './capabilities.ts';
import { createConnection } from './connection.ts';
import { MAX_TIMER_MS, type NamedServer } from './definition.ts';
import { mcpError, toServerError } from './errors.ts';
import { MAX_STRAY_MESSAGES, STRAY_REASON, toStartTimeout } from './limits.ts';
import { cacheLegacy, clearLegacy, isKnownLegacy } from './protocol-version.ts';
import type { Sdk } from './sdk.ts';
import { openHttp, openSse } from './transport/http.ts';
import { openStdio } from './transport/stdio.ts';
import type { ClientContext, Connect, Connection, ListKind, OpenTransport, ServerTransport } from './types.ts';

/** A handshake is tried again only after somebody has signed in. */
const MAX_ATTEMPTS = 3;

/**
 * The status with which an SSE-only server answers a Streamable HTTP request.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
 */
const SSE_FALLBACK_STATUSES: readonly (number | undefined)[] = [400, 404, 405];

/** A `url` definition is tried as Streamable HTTP, then as SSE if the server does not support that. */
export const connectServer: Connect = async (server, context, signal) => {
  signal.throwIfAborted();
  const { kind } = server.definition;
  if (kind !== 'url') return connectOver(kind, server, context, signal);
  try {
    return await connectOver('http', server, context, signal);
  } catch (thrown) {
    if (!SSE_FALLBACK_STATUSES.includes(findStatus(thrown))) throw thrown;
    try {
      return await connectOver('sse', server, context, signal);
    } catch (second) {
      signal.throwIfAborted();
      const { SseError } = await loadClientSdk();
      const isNoStream = second instanceof AppError && second.cause instanceof SseError;
      // If the server supports neither, report the first error: the address is most likely meant for that transport.
      const isSseFailure =
        second instanceof AppError &&
        (findStatus(second) === undefined ? !isNoStream : !SSE_FALLBACK_STATUSES.includes(findStatus(second)));
      throw isSseFailure ? second : thrown;
    }
  }
};

async function connectOver(
  kind: TransportKind,
  server: NamedServer,
  context: ClientContext,
  signal: AbortSignal,
): Promise<Connection> {
  const startMs = toStartTimeout(server);
  const deadline = createDeadline(signal, startMs, () => startTimeoutError(server, startMs));
  const { signIn } = context;
  const pausable = signIn === undefined ? context : { ...context, signIn: { ...signIn, pause: deadline.pause } };
  try {
    return await initialize(kind, { server, context: pausable, signal: deadline.signal, startMs });
  } finally {
    deadline.clear();
  }
}

function startTimeoutError(server: NamedServer, ms: number): AppError {
  return mcpError(server, `no answer to initialize within ${formatDuration(ms)}`, {
    hint: 'Start it by hand once to see what it waits for.',
    cause: new StartTimeout(),
  });
}

export class StartTimeout extends Error {}

interface Handshake {
  readonly server: NamedServer;
  readonly context: ClientContext;
  readonly signal: AbortSignal;
  readonly startMs: number;
  readonly rejectsOlderVersions?: boolean;
  readonly failsAtNewerVersion?: boolean;
}

async function initialize(kind: TransportKind, handshake: Handshake, attempt = 1): Promise<Connection> {
  const { server, context, signal } = handshake;
  const loading = loadClientSdk();
  // A stdio server boots while the SDK is loading.
  const [serverTransport, sdk] = await Promise.all([transports[kind](server, context, loading), loading]);
  const listeners = new Set<(kind: ListKind) => void>();
  const isLegacy =
    handshake.failsAtNewerVersion ||
    (serverTransport.protocolVersion === 'legacy' && !handshake.rejectsOlderVersions) ||
    isKnownLegacy(handshake);
  const client = new sdk.Client(
    { name: 'gmn', version: context.version },
    createClientOptions(context, isLegacy, (changed) => {
      for (const listener of listeners) listener(changed);
    }),
  );
  const deadlines = new Set<Deadline>();
  handleServerRequests(client, server, { ...context, ...pauseDuringQuestions(context, deadlines) });
  try {
    // The SDK's handshake does not honour the signal everywhere, and its timer can neither be paused nor reset by
    // incoming data, so our deadline decides.
    await raceWithAbort(client.connect(serverTransport.transport, { timeout: MAX_TIMER_MS }), signal);
  } catch (thrown) {
    const error = await toHandshakeError(thrown, handshake, { sdk, serverTransport });
    await serverTransport.close();
    if (signal.aborted) throw error;
    const isRefused = kind === 'stdio' && thrown instanceof sdk.ProtocolError && !handshake.rejectsOlderVersions;
    if (isRefused) return initialize(kind, { ...handshake, rejectsOlderVersions: true }, attempt);
    // Some servers answer an unknown request with HTTP 5xx instead of a protocol error.
    if (serverTransport.protocolVersion === 'auto' && !isLegacy && (findStatus(error) ?? 0) >= 500)
      return initialize(kind, { ...handshake, failsAtNewerVersion: true }, attempt);
    // The cached answer may be out of date: the server may have been updated.
    if (
      serverTransport.protocolVersion === 'auto' &&
      isLegacy &&
      !handshake.failsAtNewerVersion &&
      clearLegacy(handshake)
    )
      return initialize(kind, handshake, attempt);
    if (attempt < MAX_ATTEMPTS && (serverTransport.signIns?.() ?? 0) > 0)
      return initialize(kind, handshake, attempt + 1);
    throw error;
  }
  const isFound = !isLegacy || handshake.failsAtNewerVersion;
  if (serverTransport.protocolVersion === 'auto' && isFound && client.getProtocolEra() === 'legacy')
    await cacheLegacy(handshake);
  return createConnection({
    server,
    client,
    transport: closeAfterStrays(client, serverTransport),
    sdk,
    listeners,
    deadlines,
  });
}

function pauseDuringQuestions(
  { elicit }: ClientContext,
  deadlines: ReadonlySet<Deadline>,
): Pick<ClientContext, 'elicit'> {
  if (elicit === undefined) return {};
  return {
    elicit(question, signal) {
      const resumes = [...deadlines].map((deadline) => deadline.pause());
      return elicit(question, signal).finally(() => {
        for (const resume of resumes) resume();
      });
    },
  };
}

async function toHandshakeError(
  thrown: unknown,
  { server, signal, startMs }: Handshake,
  { sdk, serverTransport }: { readonly sdk: Sdk; readonly serverTransport: ServerTransport },
): Promise<unknown> {
  if (!signal.aborted)
    return toServerError(thrown, { server, sdk, transport: serverTransport, method: 'initialize', timeoutMs: startMs });
  const ending = await serverTransport.describeEnd();
  const { reason } = signal;
  const isTimeout = reason instanceof AppError && reason.fault === 'mcp';
  return isTimeout && ending !== ''
    ? mcpError(server, `${reason.shortMessage}. ${ending}`, { hint: reason.hint ?? '', cause: reason.cause })
    : reason;
}

/** Ignores responses to no request and the like, up to a limit; then closes the connection. */
function closeAfterStrays(client: InstanceType<Sdk['Client']>, serverTransport: ServerTransport): ServerTransport {
  let strays = 0;
  client.onerror = () => {
    strays += 1;
    if (strays === MAX_STRAY_MESSAGES) void serverTransport.close().finally(() => client.close());
  };
  return {
    ...serverTransport,
    closeReason: () => (strays >= MAX_STRAY_MESSAGES ? STRAY_REASON : serverTransport.closeReason?.()),
  };
}

/** The SDK is a third of a megabyte that only a run with a server needs. */
async function loadClientSdk(): Promise<Sdk> {
  const { sdk } = await import('./sdk.ts');
  return sdk;
}

type TransportKind = 'stdio' | 'http' | 'sse';

const transports: Readonly<Record<TransportKind, OpenTransport>> = {
  stdio: openStdio,
  http: openHttp,
  sse: openSse,
};
