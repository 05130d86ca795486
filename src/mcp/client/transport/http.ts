import { AppError } from '../../../core/error.ts';
import { isLoopback } from '../../../core/text/url.ts';
import { sendHttp } from '../../../platform/http/send.ts';
import { after } from '../../../platform/runtime/clock.ts';
import { openRequests } from '../../wire/message.ts';
import type { NamedServer, RemoteDefinition } from '../definition.ts';
import { serverFault } from '../errors.ts';
import { type Fetch, fetchOver } from '../fetch.ts';
import { authorizationFor } from '../oauth/authorization.ts';
import { reachOf } from '../oauth/reach.ts';
import type { SdkTransport } from '../sdk.ts';
import type { ClientContext, OpenLink } from '../types.ts';

/** Bounds for the reconnection delay that a server asks for. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
const CLOSE_MS = 500;
/** Headers that carry credentials. */
const CREDENTIAL = /authorization|cookie|token|secret|key$/i;

export const openHttp: OpenLink = async (server, context, sdk) => {
  const remote = remoteOf(server);
  const { plain, lastWords, reach } = fetchFor(remote, context);
  const authorization = await authorizationFor(remote, context, { fetch: plain, reach });
  const { StreamableHTTPClientTransport } = await sdk;
  const transport = new StreamableHTTPClientTransport(new URL(remote.url), {
    fetch: authorization?.fetch ?? plain,
    ...(authorization === undefined ? {} : { authProvider: authorization.provider }),
    requestInit: { headers: { ...remote.headers } },
    reconnectionOptions: {
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: LATEST_MS,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler: (reconnect, delayMs) => after(Math.min(Math.max(delayMs, SOONEST_MS), LATEST_MS), reconnect),
  });
  if (authorization !== undefined) authorization.finish = (query) => transport.finishAuth(query);
  failBrokenAnswers(transport, lastWords);
  return {
    transport,
    era: 'auto',
    lastWords: async () => '',
    ...(authorization === undefined ? {} : { signIns: authorization.signIns, secrets: authorization.secrets }),
    async close() {
      await authorization?.close();
      // Tell the server that its session is over, but hardly wait for the response.
      if (transport.sessionId !== undefined) await briefly(transport.terminateSession());
      await transport.close();
    },
  };
};

/** The older HTTP+SSE transport: an event stream and an endpoint to post to. */
export const openSse: OpenLink = async (server, context, sdk) => {
  const remote = remoteOf(server);
  const { plain, lastWords, reach } = fetchFor(remote, context);
  const authorization = await authorizationFor(remote, context, { fetch: plain, reach });
  const { SSEClientTransport, SseError } = await sdk;
  const transport = new SSEClientTransport(new URL(remote.url), {
    fetch: authorization?.fetch ?? plain,
    ...(authorization === undefined ? {} : { authProvider: authorization.provider }),
    requestInit: { headers: { ...remote.headers } },
  });
  if (authorization !== undefined) authorization.finish = (query) => transport.finishAuth(query);
  // Responses come only on this stream: a new one would belong to another session, which got no requests.
  transport.onerror = (error) => void (error instanceof SseError && error.code === undefined && transport.close());
  return {
    transport,
    era: 'legacy',
    lastWords: async () => lastWords(),
    ...(authorization === undefined ? {} : { signIns: authorization.signIns, secrets: authorization.secrets }),
    async close() {
      await authorization?.close();
      await transport.close();
    },
  };
};

/** Throws AppError `mcp` if a credential would be sent over plain HTTP. */
function remoteOf(server: NamedServer): RemoteDefinition {
  const { definition } = server;
  if (definition.kind === 'stdio') throw new TypeError(definition.kind);
  const { protocol, hostname } = new URL(definition.url);
  const secret = Object.keys(definition.headers).find((name) => CREDENTIAL.test(name));
  if (secret === undefined || protocol === 'https:' || isLoopback(hostname)) return definition;
  throw serverFault(server, `its header ${secret} is not sent in the clear to ${hostname}`, {
    hint: 'Use an https address, or leave the header out.',
  });
}

/** No idle timeout: a tool may be silent up to its own timeout, and an event stream for ever. */
function fetchFor({ url }: RemoteDefinition, { env, clock, httpTimers, trace }: ClientContext) {
  let broken: AppError | undefined;
  const reach = reachOf(url, { env });
  const timers = { connectMs: httpTimers.connectMs, headersMs: 0, idleMs: 0 };
  const send = sendHttp({ env, clock, trace, timers, addresses: reach.addresses });
  const sending = fetchOver(send, (why) => {
    broken = why;
  });
  const plain: Fetch = (input, init) => {
    broken = undefined;
    return sending(input, init);
  };
  // Reset by the next request, since it describes one response.
  return { plain, reach, lastWords: (): string => broken?.message ?? '' };
}

function briefly(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(CLOSE_MS, resolve);
    const finish = (): void => {
      cancel();
      resolve();
    };
    work.then(finish, finish);
  });
}

/**
 * Any server may use this code; what identifies our error is the AppError in `data.cause`, which no JSON message can
 * hold.
 */
const BROKEN_OFF = -32000;

/**
 * Fails a request as soon as its response stream has ended and cannot be resumed; the SDK alone would wait for the
 * timeout. `why` gives the known reason. Must be called before the transport is started.
 */
function failBrokenAnswers(transport: SdkTransport, why: () => string): void {
  const requests = openRequests();
  const send = transport.send.bind(transport);
  // The SDK keeps this handler and calls it first.
  transport.onmessage = (message) => void requests.isExpected(message);
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const { id, method } = message;
    requests.sent(message);
    return send(message, {
      ...options,
      onRequestStreamEnd() {
        options?.onRequestStreamEnd?.();
        const cause = new AppError('mcp', [`its answer to ${method} broke off`, why()].filter(Boolean).join(': '));
        const answer = {
          jsonrpc: '2.0',
          id,
          error: { code: BROKEN_OFF, message: cause.message, data: { cause } },
        } as const;
        if (requests.isOpen(id)) transport.onmessage?.(answer);
      },
    });
  };
}
