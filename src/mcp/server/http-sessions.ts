import { randomId } from '../../platform/random-id.ts';
import { protocolServer } from './protocol.ts';
import type { Sdk, SdkMessage } from './sdk.ts';
import type { SdkHttp, SdkHttpTransport } from './sdk-http.ts';
import type { Service } from './tool.ts';

/** More clients than this at once, and the one that was silent longest is let go. */
const MOST_SESSIONS = 64;

/** The clients that open with `initialize`: each has a session, and in it a protocol of its own. */
export interface HttpSessions {
  answer(request: Request, body: SdkMessage | undefined): Promise<Response>;
  close(): Promise<void>;
}

/** At most 64 of them. */
export function httpSessions(sdk: Sdk & SdkHttp, service: Service): HttpSessions {
  const open = new Map<string, SdkHttpTransport>();

  async function begin(): Promise<SdkHttpTransport> {
    const transport: SdkHttpTransport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomId,
      onsessioninitialized: (id) => void open.set(id, transport),
      onsessionclosed: (id) => void open.delete(id),
    });
    await protocolServer(sdk, service).connect(transport);
    const [oldest] = open;
    if (open.size >= MOST_SESSIONS && oldest !== undefined) {
      open.delete(oldest[0]);
      await oldest[1].close();
    }
    return transport;
  }

  return {
    async answer(request, body) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) return (await begin()).handleRequest(request, { parsedBody: body });
      const transport = open.get(id);
      if (transport === undefined) return Response.json(UNKNOWN, { status: 404 });
      // The last in the map is the one that was heard of last.
      open.delete(id);
      open.set(id, transport);
      return transport.handleRequest(request, { parsedBody: body });
    },
    async close() {
      await Promise.all([...open.values()].map((transport) => transport.close()));
      open.clear();
    },
  };
}

const UNKNOWN = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } } as const;
