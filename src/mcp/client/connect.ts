import { raceWithAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { formatDuration } from '../../core/text/format.ts';
import { createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import { clientOptions, handleServerRequests } from './capabilities.ts';
import { createConnection, type ListChanges } from './connection.ts';
import type { NamedServer } from './definition.ts';
import { mcpError, toServerError } from './errors.ts';
import { loadSdk } from './lazy.ts';
import { MAX_STRAY_MESSAGES, MAX_TIMER_MS, STRAY_REASON, startTimeout } from './limits.ts';
import { cacheLegacy, clearLegacy, isKnownLegacy } from './protocol-version.ts';
import type { Sdk } from './sdk.ts';
import { openHttp, openSse } from './transport/http.ts';
import { openStdio } from './transport/stdio.ts';
import type { ClientContext, Connect, Connection, OpenTransport, ServerTransport } from './types.ts';

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
    if (!(thrown instanceof AppError) || !SSE_FALLBACK_STATUSES.includes(thrown.status)) throw thrown;
    try {
      return await connectOver('sse', server, context, signal);
    } catch (second) {
      signal.throwIfAborted();
      const { SseError } = await loadSdk();
      const isNoStream = second instanceof AppError && second.cause instanceof SseError;
      // If both fail that way, report the first: it is the transport the address was most likely meant for.
      const isHere =
        second instanceof AppError &&
        (second.status === undefined ? !isNoStream : !SSE_FALLBACK_STATUSES.includes(second.status));
      throw isHere ? second : thrown;
    }
  }
};

async function connectOver(
  kind: TransportKind,
  server: NamedServer,
  context: ClientContext,
  signal: AbortSignal,
): Promise<Connection> {
  const startMs = startTimeout(server);
  const limit = createDeadline(signal, startMs, () => startTimeoutError(server, startMs));
  const { signIn } = context;
  const patient = signIn === undefined ? context : { ...context, signIn: { ...signIn, pause: limit.pause } };
  try {
    return await initialize(kind, { server, context: patient, signal: limit.signal, startMs });
  } finally {
    limit.clear();
  }
}

function startTimeoutError(server: NamedServer, ms: number): AppError {
  return mcpError(server, `no answer to initialize within ${formatDuration(ms)}`, {
    hint: 'Start it by hand once to see what it waits for.',
    cause: new StartTimeout(),
  });
}

/** The cause of the error when a server does not start in time. */
export class StartTimeout extends Error {}

interface Handshake {
  readonly server: NamedServer;
  readonly context: ClientContext;
  readonly signal: AbortSignal;
  readonly startMs: number;
  /** Set when the server rejected the handshake of the older protocol versions. */
  readonly isModern?: boolean;
  /** Set when the server failed at the handshake of the newer protocol version. */
  readonly isOld?: boolean;
}

async function initialize(kind: TransportKind, handshake: Handshake, round = 1): Promise<Connection> {
  const { server, context, signal } = handshake;
  const loading = loadSdk();
  // A stdio server boots while the SDK is loading.
  const [serverTransport, sdk] = await Promise.all([transports[kind](server, context, loading), loading]);
  const changes: ListChanges = { listeners: new Set() };
  const isLegacy =
    handshake.isOld ||
    (serverTransport.protocolVersion === 'legacy' && !handshake.isModern) ||
    isLegacyAddress(handshake);
  const client = new sdk.Client(
    { name: 'gmn', version: context.version },
    clientOptions(context, {
      isLegacy,
      onChanged(changed) {
        for (const listener of changes.listeners) listener(changed);
      },
    }),
  );
  const waiting = new Set<Deadline>();
  handleServerRequests(client, server, { ...context, ...pauseDuringQuestions(context, waiting) });
  try {
    // The SDK's handshake does not honour the signal everywhere, and its timer can neither be paused nor reset by
    // incoming data, so our deadline decides.
    await raceWithAbort(client.connect(serverTransport.transport, { timeout: MAX_TIMER_MS }), signal);
  } catch (thrown) {
    const fault = await toHandshakeError(thrown, handshake, { sdk, serverTransport });
    await serverTransport.close();
    if (signal.aborted) throw fault;
    const isRefused = kind === 'stdio' && thrown instanceof sdk.ProtocolError && !handshake.isModern;
    if (isRefused) return initialize(kind, { ...handshake, isModern: true }, round);
    if (serverTransport.protocolVersion === 'auto' && !isLegacy && isServerFailure(fault))
      return initialize(kind, { ...handshake, isOld: true }, round);
    // The cached answer may be out of date: the server may have been updated.
    if (
      serverTransport.protocolVersion === 'auto' &&
      isLegacy &&
      !handshake.isOld &&
      (await clearLegacyAddress(handshake))
    )
      return initialize(kind, handshake, round);
    if (round < MAX_ATTEMPTS && (serverTransport.signIns?.() ?? 0) > 0) return initialize(kind, handshake, round + 1);
    throw fault;
  }
  const isNews = !isLegacy || handshake.isOld;
  if (serverTransport.protocolVersion === 'auto' && isNews && client.getProtocolEra() === 'legacy')
    await cacheLegacyAddress(handshake);
  return createConnection({
    server,
    client,
    transport: closeAfterStrays(client, serverTransport),
    sdk,
    changes,
    waiting,
  });
}

/** Some servers answer an unknown request with HTTP 5xx instead of a protocol error. */
function isServerFailure(fault: unknown): boolean {
  return fault instanceof AppError && fault.status !== undefined && fault.status >= 500;
}

function pauseDuringQuestions(
  { elicit }: ClientContext,
  waiting: ReadonlySet<Deadline>,
): Pick<ClientContext, 'elicit'> {
  if (elicit === undefined) return {};
  return {
    elicit(question, signal) {
      const resumes = [...waiting].map((deadline) => deadline.pause());
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
    return toServerError(thrown, { server, sdk, transport: serverTransport, what: 'initialize', timeoutMs: startMs });
  const said = await serverTransport.describeEnd();
  const { reason } = signal;
  const isOurs = reason instanceof AppError && reason.fault === 'mcp';
  return isOurs && said !== ''
    ? mcpError(server, `${reason.words}. ${said}`, { hint: reason.hint ?? '', cause: reason.cause })
    : reason;
}

/** Ignores responses to no request and the like, up to a limit; then closes the connection. */
function closeAfterStrays(client: InstanceType<Sdk['Client']>, serverTransport: ServerTransport): ServerTransport {
  let nonsense = 0;
  client.onerror = () => {
    nonsense += 1;
    if (nonsense === MAX_STRAY_MESSAGES) void serverTransport.close().finally(() => client.close());
  };
  return {
    ...serverTransport,
    closeReason: () => (nonsense >= MAX_STRAY_MESSAGES ? STRAY_REASON : serverTransport.closeReason?.()),
  };
}

function isLegacyAddress({ server: { definition }, context }: Handshake): boolean {
  return definition.kind !== 'stdio' && isKnownLegacy(definition.url, context);
}

async function cacheLegacyAddress({ server: { definition }, context }: Handshake): Promise<void> {
  if (definition.kind !== 'stdio') await cacheLegacy(definition.url, context);
}

/** False if the cache still has it, for example on a full disk: another try would find the same. */
async function clearLegacyAddress({ server: { definition }, context }: Handshake): Promise<boolean> {
  if (definition.kind === 'stdio') return false;
  await clearLegacy(definition.url, context);
  return !isKnownLegacy(definition.url, context);
}

type TransportKind = 'stdio' | 'http' | 'sse';

const transports: Readonly<Record<TransportKind, OpenTransport>> = {
  stdio: openStdio,
  http: openHttp,
  sse: openSse,
};
