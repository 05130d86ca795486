import { randomId } from '../../../platform/runtime/random-id.ts';
import { createProtocolServer } from '../protocol/server.ts';
import type { Sdk, SdkMessage } from '../sdk.ts';
import type { SdkHttp, SdkHttpTransport } from '../sdk-http.ts';
import type { Service } from '../tool.ts';

/** Beyond this, the session that was silent longest is closed, unless one of its requests is in flight. */
const MAX_SESSIONS = 64;

interface Client {
  readonly transport: SdkHttpTransport;
  inFlight: number;
}

/** For clients that begin with `initialize`: each gets a session with an SDK server of its own. */
export function createHttpSessions(sdk: Sdk & SdkHttp, service: Service) {
  const open = new Map<string, Client>();

  function makeRoom(newest: string): void {
    for (const [id, { transport, inFlight }] of open) {
      if (open.size <= MAX_SESSIONS) return;
      if (inFlight > 0 || id === newest) continue;
      open.delete(id);
      void transport.close();
    }
  }

  async function openClient(): Promise<Client> {
    const client: Client = {
      inFlight: 0,
      transport: new sdk.WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomId,
        onsessioninitialized: (id) => {
          open.set(id, client);
          makeRoom(id);
        },
        onsessionclosed: (id) => void open.delete(id),
      }),
    };
    await createProtocolServer(sdk, service).connect(client.transport);
    return client;
  }

  async function handleRequest(client: Client, request: Request, body: SdkMessage | undefined): Promise<Response> {
    if (request.method === 'POST') {
      client.inFlight += 1;
      // Fires also after a complete response.
      request.signal.addEventListener('abort', () => (client.inFlight -= 1), { once: true });
    }
    const response = await client.transport.handleRequest(request, { parsedBody: body });
    const cancelledId = findCancelledId(body);
    // A cancelled call gets no response, so nothing else would end its stream.
    if (cancelledId !== undefined) client.transport.closeSSEStream(cancelledId);
    return response;
  }

  return {
    async respond(request: Request, body: SdkMessage | undefined): Promise<Response> {
      const id = request.headers.get('mcp-session-id');
      if (id === null) {
        const isInitialize = body !== undefined && 'method' in body && body.method === 'initialize';
        return isInitialize
          ? handleRequest(await openClient(), request, body)
          : Response.json(NO_SESSION, { status: 400 });
      }
      const client = open.get(id);
      if (client === undefined) return Response.json(UNKNOWN_SESSION, { status: 404 });
      open.delete(id);
      open.set(id, client);
      return handleRequest(client, request, body);
    },
    async close(): Promise<void> {
      await Promise.all([...open.values()].map(({ transport }) => transport.close()));
      open.clear();
    },
  };
}

function findCancelledId(body: SdkMessage | undefined): string | number | undefined {
  if (body === undefined || !('method' in body) || body.method !== 'notifications/cancelled') return undefined;
  const id = body.params?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

const UNKNOWN_SESSION = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } } as const;
const NO_SESSION = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32600, message: 'Invalid Request: begin with initialize, then send its Mcp-Session-Id' },
} as const;
