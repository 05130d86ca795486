import { orAborted } from '../../core/abort.ts';
import { AppError } from '../../core/error.ts';
import { formatDuration } from '../../core/text/format.ts';
import type { AnswerTime } from '../../platform/runtime/answer-time.ts';
import { deadline } from '../../platform/runtime/clock.ts';
import { clientOptions, serveClient } from './capabilities.ts';
import { type ChangeBoard, connectionOf } from './connection.ts';
import type { NamedServer } from './definition.ts';
import { faultOf, serverFault } from './errors.ts';
import { loadSdk } from './lazy.ts';
import { MAX_NONSENSE, NEVER_MS, STRAY_WORDS, startLimit } from './limits.ts';
import { forgetLegacy, isKnownLegacy, rememberLegacy } from './protocol-version.ts';
import type { Sdk } from './sdk.ts';
import { openHttp, openSse } from './transport/http.ts';
import { openStdio } from './transport/stdio.ts';
import type { ClientContext, Connect, Connection, Link, OpenLink } from './types.ts';

/** Attempts at the handshake; each but the first follows a sign-in. */
const MAX_ROUNDS = 3;

/**
 * The status with which an SSE-only server answers a Streamable HTTP request.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
 */
const NOT_HERE: readonly (number | undefined)[] = [400, 404, 405];

/**
 * See `Connect`. A definition of kind `url` is tried as Streamable HTTP, then as SSE if that is not supported there.
 */
export const connect: Connect = async (server, context, signal) => {
  signal.throwIfAborted();
  const { kind } = server.definition;
  if (kind !== 'url') return connectOver(kind, server, context, signal);
  try {
    return await connectOver('http', server, context, signal);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || !NOT_HERE.includes(thrown.status)) throw thrown;
    try {
      return await connectOver('sse', server, context, signal);
    } catch (second) {
      signal.throwIfAborted();
      const { SseError } = await loadSdk();
      const isNoStream = second instanceof AppError && second.cause instanceof SseError;
      // If both fail that way, report the first: it is the transport the address was most likely meant for.
      const isHere =
        second instanceof AppError && (second.status === undefined ? !isNoStream : !NOT_HERE.includes(second.status));
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
  const startMs = startLimit(server);
  const limit = deadline(signal, startMs, () => late(server, startMs));
  let isGreeting = true;
  const patient = withPause(context, {
    hold: () => isGreeting && limit.hold(),
    resume: () => isGreeting && limit.resume(),
  });
  try {
    return await greet(kind, { server, context: patient, signal: limit.signal, startMs });
  } finally {
    isGreeting = false;
    limit.clear();
  }
}

/** Stops the start deadline while a person signs in. */
function withPause(
  context: ClientContext,
  { hold, resume }: { readonly hold: () => void; readonly resume: () => void },
) {
  const { signIn } = context;
  if (signIn === undefined) return context;
  const onBegin = (): void => {
    hold();
    signIn.onBegin?.();
  };
  const onEnd = (): void => {
    resume();
    signIn.onEnd?.();
  };
  return { ...context, signIn: { ...signIn, onBegin, onEnd } };
}

function late(server: NamedServer, ms: number): AppError {
  return serverFault(server, `no answer to the greeting within ${formatDuration(ms)}`, {
    hint: 'Start it by hand once to see what it waits for.',
    cause: new LateStart(),
  });
}

/** The cause of the error when a server is still starting at its deadline. */
export class LateStart extends Error {}

interface Greeting {
  readonly server: NamedServer;
  readonly context: ClientContext;
  readonly signal: AbortSignal;
  readonly startMs: number;
  /** The server rejected the handshake of the older protocol versions. */
  readonly isModern?: boolean;
  /** The server failed at the handshake of the newer protocol version. */
  readonly isOld?: boolean;
}

/** Connects; tries again if somebody signed in during the last attempt, three attempts in all. */
async function greet(kind: TransportKind, greeting: Greeting, round = 1): Promise<Connection> {
  const { server, context, signal } = greeting;
  const loading = loadSdk();
  // A stdio server boots while the SDK is loading.
  const [link, sdk] = await Promise.all([transports[kind](server, context, loading), loading]);
  const changes: ChangeBoard = { listeners: new Set() };
  const isLegacy = greeting.isOld || (link.era === 'legacy' && !greeting.isModern) || isLegacyAddress(greeting);
  const client = new sdk.Client(
    { name: 'gmn', version: context.version },
    clientOptions(context, {
      isLegacy,
      onChanged(changed) {
        for (const listener of changes.listeners) listener(changed);
      },
    }),
  );
  const waiting = new Set<AnswerTime>();
  serveClient(client, server, { ...context, ...untimed(context, waiting) });
  try {
    // The SDK's handshake does not honour the signal everywhere, and its timer can neither be paused nor reset by
    // incoming data, so our deadline decides.
    await orAborted(client.connect(link.transport, { timeout: NEVER_MS }), signal);
  } catch (thrown) {
    const fault = await greetingFault(thrown, greeting, { sdk, link });
    await link.close();
    if (signal.aborted) throw fault;
    const isRefused = kind === 'stdio' && thrown instanceof sdk.ProtocolError && !greeting.isModern;
    if (isRefused) return greet(kind, { ...greeting, isModern: true });
    if (link.era === 'auto' && !isLegacy && isBreakdown(fault)) return greet(kind, { ...greeting, isOld: true }, round);
    // The cached answer may be out of date: the server may have been updated.
    if (link.era === 'auto' && isLegacy && !greeting.isOld && (await forgetAddress(greeting)))
      return greet(kind, greeting);
    if (round < MAX_ROUNDS && (link.signIns?.() ?? 0) > 0) return greet(kind, greeting, round + 1);
    throw fault;
  }
  const isNews = !isLegacy || greeting.isOld;
  if (link.era === 'auto' && isNews && client.getProtocolEra() === 'legacy') await rememberAddress(greeting);
  return connectionOf({ server, client, link: leftIfHopeless(client, link), sdk, changes, waiting });
}

/** Some servers answer an unknown request with HTTP 5xx instead of a protocol error. */
function isBreakdown(fault: unknown): boolean {
  return fault instanceof AppError && fault.status !== undefined && fault.status >= 500;
}

/** Pauses the deadline of every request in flight while a person answers a question. */
function untimed({ elicit }: ClientContext, waiting: ReadonlySet<AnswerTime>): Pick<ClientContext, 'elicit'> {
  if (elicit === undefined) return {};
  return {
    elicit(question, signal) {
      const held = [...waiting];
      for (const time of held) time.hold();
      return elicit(question, signal).finally(() => {
        for (const time of held) time.resume();
      });
    },
  };
}

async function greetingFault(
  thrown: unknown,
  { server, signal, startMs }: Greeting,
  { sdk, link }: { readonly sdk: Sdk; readonly link: Link },
): Promise<unknown> {
  if (!signal.aborted) return faultOf(thrown, { server, sdk, link, what: 'the greeting', timeoutMs: startMs });
  const said = await link.lastWords();
  const { reason } = signal;
  const isOurs = reason instanceof AppError && reason.fault === 'mcp';
  return isOurs && said !== ''
    ? serverFault(server, `${reason.words}. ${said}`, { hint: reason.hint ?? '', cause: reason.cause })
    : reason;
}

/** Ignores responses to no request and the like, up to a limit; then closes the connection. */
function leftIfHopeless(client: InstanceType<Sdk['Client']>, link: Link): Link {
  let nonsense = 0;
  client.onerror = () => {
    nonsense += 1;
    if (nonsense === MAX_NONSENSE) void link.close().finally(() => client.close());
  };
  return { ...link, left: () => (nonsense >= MAX_NONSENSE ? STRAY_WORDS : link.left?.()) };
}

function isLegacyAddress({ server: { definition }, context }: Greeting): boolean {
  return definition.kind !== 'stdio' && isKnownLegacy(definition.url, context);
}

async function rememberAddress({ server: { definition }, context }: Greeting): Promise<void> {
  if (definition.kind !== 'stdio') await rememberLegacy(definition.url, context);
}

/** True if there was a cached protocol version to clear. */
async function forgetAddress({ server: { definition }, context }: Greeting): Promise<boolean> {
  if (definition.kind === 'stdio') return false;
  await forgetLegacy(definition.url, context);
  return !isKnownLegacy(definition.url, context);
}

type TransportKind = 'stdio' | 'http' | 'sse';

const transports: Readonly<Record<TransportKind, OpenLink>> = {
  stdio: openStdio,
  http: openHttp,
  sse: openSse,
};
