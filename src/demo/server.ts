import type { Clock } from '../core/io.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import { isServed, listModelResources, listPublisherModels, toModelResource } from './catalog.ts';
import { createCodeAssist } from './code-assist.ts';
import { createFaultBook, type DemoFault } from './fault.ts';
import { missingCredentialResponse, notFoundResponse, type Outcome } from './google-error.ts';
import { createModelHandler } from './model-call.ts';
import { parseBody } from './request.ts';
import { type Backend, findRoute, type Route } from './route.ts';
import type { ScriptLine } from './script.ts';
import { sendError, sendOutcome } from './send.ts';
import { createTokenEndpoint } from './token.ts';

export interface DemoOptions {
  readonly port?: number;
  /** Recorded responses; absent: the built-in answers. */
  readonly script?: readonly ScriptLine[];
  readonly faults?: readonly DemoFault[];
  readonly onRequest?: (request: ServedRequest) => void;
  /** One line per answered request, without secrets. */
  readonly log?: (line: string) => void;
  readonly clock: Clock;
}

interface DemoServer {
  /**
   * For GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL and CODE_ASSIST_ENDPOINT; the token endpoint is `/token` below
   * it.
   */
  readonly url: string;
  close(): Promise<void>;
}

/** On 127.0.0.1. Throws AppError `usage` if the port is not available. */
export async function startDemo(options: DemoOptions): Promise<DemoServer> {
  const { listen } = await import('../platform/http/server.ts');
  const answer = createDemoHandler(options);
  return listen({
    port: options.port ?? 0,
    async handler(request, reply) {
      options.onRequest?.(request);
      await answer(request, options.log === undefined ? reply : logReplies(request, reply, options.log));
    },
  });
}

function logReplies(request: ServedRequest, reply: ServedReply, log: (line: string) => void): ServedReply {
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

function createDemoHandler(options: DemoOptions): (request: ServedRequest, reply: ServedReply) => Promise<void> {
  const faults = createFaultBook(options.faults ?? []);
  const assist = createCodeAssist(faults, options.clock);
  const sendToken = createTokenEndpoint(faults);
  const callModel = createModelHandler({ faults, clock: options.clock, script: options.script });
  return async (request, reply) => {
    const location = faults.take(['redirect'])?.text;
    if (location !== undefined) return reply.send(307, { location }, '');
    const route = findRoute(request.method, request.path);
    if (route.kind === 'unknown') {
      return sendError(reply, notFoundResponse(`The demo has nothing at ${request.method} ${request.path}.`));
    }
    if (route.kind === 'token') return sendToken(request.body, reply);
    const backend = findBackend(route);
    if (!hasCredential(request, backend)) return sendError(reply, missingCredentialResponse(backend));
    switch (route.kind) {
      case 'model':
        return callModel(route, request, reply);
      case 'models':
        return sendOutcome(reply, answerModels(route, request.query));
      case 'operation':
        return sendOutcome(reply, assist.operation(route.name));
      case 'code-assist': {
        const body = parseBody(request.body === '' ? '{}' : request.body);
        return sendOutcome(reply, assist.call(route.method, body.ok ? body.value : {}));
      }
    }
  };
}

function findBackend(route: Exclude<Route, { kind: 'unknown' | 'token' }>): Backend {
  return route.kind === 'model' || route.kind === 'models' ? route.backend : 'code-assist';
}

function hasCredential({ headers, query }: ServedRequest, backend: Backend): boolean {
  if (/^Bearer \S/i.test(headers.authorization ?? '')) return true;
  return backend !== 'code-assist' && Boolean(headers['x-goog-api-key'] || query.get('key'));
}

function answerModels({ backend, id }: Extract<Route, { kind: 'models' }>, query: URLSearchParams): Outcome {
  if (id === undefined)
    return { ok: true, body: backend === 'vertex' ? listPublisherModels() : listModelResources(query) };
  if (isServed(id)) return { ok: true, body: toModelResource(id) };
  return { ok: false, error: notFoundResponse(`Model is not found: models/${id}.`) };
}
