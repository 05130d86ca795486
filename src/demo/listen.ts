import type { RequestHead, ServedReply, ServedRequest, ServeHandler, StreamHandler } from '../platform/http/server.ts';

export interface ServiceOptions {
  readonly port?: number;
  readonly onRequest?: (request: ServedRequest) => void;
  /** One line per answered request, without secrets. */
  readonly log?: (line: string) => void;
}

/** What answers requests. */
export interface Service {
  readonly handler: ServeHandler;
  /** Takes a request whose body is read as it arrives; undefined: `handler` gets it whole. */
  readonly stream?: (head: RequestHead) => StreamHandler | undefined;
  close?(): Promise<void>;
}

export interface DemoServer {
  /** For GOOGLE_GEMINI_BASE_URL and the like; the token endpoint is `/token` below it. */
  readonly url: string;
  close(): Promise<void>;
}

/** On 127.0.0.1. Throws AppError `usage` if the port is not available. */
export async function startService(service: Service, options: ServiceOptions): Promise<DemoServer> {
  const { listen } = await import('../platform/http/server.ts');
  const withLog = (head: RequestHead, reply: ServedReply): ServedReply =>
    options.log === undefined ? reply : logReplies(head, reply, options.log);
  const server = await listen({
    port: options.port ?? 0,
    async handler(request, reply) {
      options.onRequest?.(request);
      await service.handler(request, withLog(request, reply));
    },
    stream(head) {
      const receive = service.stream?.(head);
      if (receive === undefined) return undefined;
      options.onRequest?.({ ...head, body: '' });
      return (body, reply) => receive(body, withLog(head, reply));
    },
  });
  return {
    url: server.url,
    async close() {
      await server.close();
      await service.close?.();
    },
  };
}

function logReplies(request: RequestHead, reply: ServedReply, log: (line: string) => void): ServedReply {
  const logStatus = (status: number): void => log(`${request.method} ${request.path} ${status}`);
  return {
    ...reply,
    send(status, headers, body) {
      logStatus(status);
      reply.send(status, headers, body);
    },
    begin(status, headers) {
      logStatus(status);
      reply.begin(status, headers);
    },
  };
}
