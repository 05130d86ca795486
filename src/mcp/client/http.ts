import { after } from '../../platform/clock.ts';
import { sendHttp } from '../../platform/http.ts';
import type { ClientContext } from './context.ts';
import type { RemoteDefinition, ServerDefinition } from './definition.ts';
import { fetchOver } from './fetch.ts';
import type { OpenLink } from './link.ts';

/** A server's own wish for when to come back is taken within these bounds. */
const SOONEST_MS = 250;
const LATEST_MS = 30_000;
const CLOSE_MS = 500;

/** Streamable HTTP. */
export const openHttp: OpenLink = async ({ definition }, context, sdk) => {
  const remote = remoteOf(definition);
  const { StreamableHTTPClientTransport } = await sdk;
  const transport = new StreamableHTTPClientTransport(new URL(remote.url), {
    fetch: fetchFor(context),
    requestInit: { headers: { ...remote.headers } },
    reconnectionOptions: {
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: LATEST_MS,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler: (reconnect, delayMs) => after(Math.min(Math.max(delayMs, SOONEST_MS), LATEST_MS), reconnect),
  });
  return {
    transport,
    era: 'auto',
    lastWords: async () => '',
    async close() {
      // A server that keeps sessions is told that this one is over, but not waited for.
      if (transport.sessionId !== undefined) await briefly(transport.terminateSession());
      await transport.close();
    },
  };
};

/** The older pair of an event stream and a place to post to. */
export const openSse: OpenLink = async ({ definition }, context, sdk) => {
  const remote = remoteOf(definition);
  const { SSEClientTransport } = await sdk;
  const transport = new SSEClientTransport(new URL(remote.url), {
    fetch: fetchFor(context),
    requestInit: { headers: { ...remote.headers } },
  });
  return { transport, era: 'legacy', lastWords: async () => '', close: () => transport.close() };
};

function remoteOf(definition: ServerDefinition): RemoteDefinition {
  if (definition.kind === 'stdio') throw new TypeError(definition.kind);
  return definition;
}

/** A tool may be silent for as long as its timeout allows, and a stream of events for ever. */
function fetchFor({ env, clock, httpTimers, trace }: ClientContext) {
  return fetchOver(
    sendHttp({ env, clock, trace, timers: { connectMs: httpTimers.connectMs, headersMs: 0, idleMs: 0 } }),
  );
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
