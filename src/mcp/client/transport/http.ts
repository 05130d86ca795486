import { AppError } from '../../../core/error.ts';
import { settlesWithin } from '../../../core/io.ts';
import { isLoopback } from '../../../core/text/url.ts';
import { createHttpClient } from '../../../platform/http/send.ts';
import { callAfter, systemClock } from '../../../platform/runtime/clock.ts';
import { trackRequests } from '../../wire/message.ts';
import type { NamedServer, RemoteDefinition } from '../definition.ts';
import { mcpError } from '../errors.ts';
import { createFetch, type Fetch } from '../fetch.ts';
import { openAuthorization } from '../oauth/authorization.ts';
import { createReach } from '../oauth/reach.ts';
import type { SdkTransport } from '../sdk.ts';
import type { ClientContext, OpenTransport } from '../types.ts';

/** Bounds for the reconnection delay that a server asks for. */
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
const CLOSE_MS = 500;

export const openHttp: OpenTransport = async (server, context, sdk) => {
  const { url, connection, authorization, breakReason, close } = await openRemote(server, context);
  const { StreamableHTTPClientTransport } = await sdk;
  const transport = new StreamableHTTPClientTransport(url, {
    ...connection,
    reconnectionOptions: {
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: MAX_RETRY_MS,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler: (reconnect, delayMs) =>
      callAfter(Math.min(Math.max(delayMs, MIN_RETRY_MS), MAX_RETRY_MS), reconnect),
  });
  if (authorization !== undefined) authorization.finish = (query) => transport.finishAuth(query);
  failBrokenResponses(transport, breakReason);
  return {
    transport,
    protocolVersion: 'auto',
    describeEnd: async () => '',
    signIns: authorization?.signIns,
    secrets: authorization?.secrets,
    close: close(async () => {
      // Say that the session is over, but hardly wait for the response.
      if (transport.sessionId !== undefined)
        await settlesWithin(
          transport.terminateSession().catch(() => {}),
          CLOSE_MS,
          systemClock,
        );
      await transport.close();
    }),
  };
};

/** The older HTTP+SSE transport: an event stream and an endpoint to post to. */
export const openSse: OpenTransport = async (server, context, sdk) => {
  const { url, connection, authorization, breakReason, close } = await openRemote(server, context);
  const { SSEClientTransport, SseError } = await sdk;
  const transport = new SSEClientTransport(url, connection);
  if (authorization !== undefined) authorization.finish = (query) => transport.finishAuth(query);
  // Responses come only on this stream: a new one would belong to another session, which got no requests.
  transport.onerror = (error) => void (error instanceof SseError && error.code === undefined && transport.close());
  return {
    transport,
    protocolVersion: 'legacy',
    describeEnd: async () => breakReason(),
    signIns: authorization?.signIns,
    secrets: authorization?.secrets,
    close: close(() => transport.close()),
  };
};

async function openRemote(server: NamedServer, context: ClientContext) {
  const remote = requireSafeRemote(server);
  const { plain, breakReason, reach, disconnect } = createTransportFetch(remote, context);
  const authorization = await openAuthorization(remote, context, { fetch: plain, reach });
  return {
    url: new URL(remote.url),
    connection: { fetch: authorization?.fetch ?? plain, authProvider: authorization?.provider },
    authorization,
    breakReason,
    close: (closeTransport: () => Promise<void>) => async (): Promise<void> => {
      await authorization?.close();
      await closeTransport();
      disconnect();
    },
  };
}

/** Any header may be a credential: only the user knows what they wrote it for. */
function requireSafeRemote(server: NamedServer): RemoteDefinition {
  const { definition } = server;
  if (definition.kind === 'stdio') throw new TypeError(definition.kind);
  const { protocol, hostname } = new URL(definition.url);
  const [header] = Object.keys(definition.headers);
  if (header === undefined || protocol === 'https:' || isLoopback(hostname)) return definition;
  throw mcpError(server, `its header ${header} is not sent in the clear to ${hostname}`, {
    hint: 'Use an https address, or one on this machine, such as the end of an ssh tunnel (http://127.0.0.1:…); or remove the header.',
  });
}

/** No idle timeout: a tool may be silent up to its own timeout, and an event stream for ever. */
function createTransportFetch({ url, headers }: RemoteDefinition, { env, clock, httpTimers, trace }: ClientContext) {
  let broken: AppError | undefined;
  const reach = createReach(url, { env });
  const timers = { connectMs: httpTimers.connectMs, headersMs: 0, idleMs: 0 };
  const client = createHttpClient({ env, clock, trace, timers, addresses: reach.addresses });
  const limitedFetch = createFetch(client.send, (why) => {
    broken = why;
  });
  const plain: Fetch = (input, init) => {
    broken = undefined;
    // Not left to the SDK, which would send the user's headers to the server's sign-in as well, wherever that is.
    const isOwn = new URL(input).origin === new URL(url).origin;
    return limitedFetch(input, isOwn ? { ...init, headers: addHeaders(headers, init?.headers) } : init);
  };
  // Describes one response, so the next request resets it.
  return { plain, reach, breakReason: (): string => broken?.message ?? '', disconnect: client.close };
}

function addHeaders(own: RemoteDefinition['headers'], given: RequestInit['headers']): Headers {
  const headers = new Headers(own);
  new Headers(given).forEach((value, name) => void headers.set(name, value));
  return headers;
}

/** Our own error is told from a server's by the AppError in `data.cause`, which no JSON message can hold. */
const BROKEN_OFF_CODE = -32000;

/** Fails a request when its stream has ended for good; the SDK would wait for the timeout. Call it before the start. */
function failBrokenResponses(transport: SdkTransport, why: () => string): void {
  const requests = trackRequests();
  const send = transport.send.bind(transport);
  // The SDK keeps this handler and calls it first.
  transport.onmessage = (message) => void requests.noteResponse(message);
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const { id, method } = message;
    requests.noteSent(message);
    return send(message, {
      ...options,
      onRequestStreamEnd() {
        options?.onRequestStreamEnd?.();
        const cause = new AppError('mcp', [`its answer to ${method} broke off`, why()].filter(Boolean).join(': '));
        const response = {
          jsonrpc: '2.0',
          id,
          error: { code: BROKEN_OFF_CODE, message: cause.message, data: { cause } },
        } as const;
        if (requests.isInFlight(id)) transport.onmessage?.(response);
      },
    });
  };
}
