import type { Clock } from '../core/io.ts';
import type { RequestHead, ServedReply, ServedRequest } from '../platform/http/server.ts';
import { createBatches } from './batches.ts';
import { isServed, listModelResources, listPublisherModels, toModelResource } from './catalog.ts';
import { createCodeAssist } from './code-assist.ts';
import { createFaultBook, type DemoFault, type FaultBook } from './fault.ts';
import { hasCredential } from './file-store.ts';
import { createDemoFiles, type DemoFiles } from './files.ts';
import { missingCredentialResponse, notFoundResponse, type Outcome } from './google-error.ts';
import { createModelHandler } from './model-call.ts';
import { createQuotaBook } from './quota.ts';
import { parseBody } from './request.ts';
import { type Backend, findRoute, type Route } from './route.ts';
import type { ScriptLine } from './script.ts';
import { sendError, sendOutcome } from './send.ts';
import { createTokenEndpoint } from './token.ts';

export interface DemoOptions {
  readonly port?: number;
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
  const faults = createFaultBook(options.faults ?? []);
  const files = createDemoFiles({ faults, clock: options.clock });
  const answer = createDemoHandler({ ...options, faults, files });
  const withLog = (head: RequestHead, reply: ServedReply): ServedReply =>
    options.log === undefined ? reply : logReplies(head, reply, options.log);
  const server = await listen({
    port: options.port ?? 0,
    async handler(request, reply) {
      options.onRequest?.(request);
      await answer(request, withLog(request, reply));
    },
    stream(head) {
      const receive = files.receive(head);
      if (receive === undefined) return undefined;
      options.onRequest?.({ ...head, body: '' });
      return (body, reply) => receive(body, withLog(head, reply));
    },
  });
  return {
    url: server.url,
    async close() {
      await server.close();
      await files.close();
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

interface HandlerOptions extends Pick<DemoOptions, 'clock' | 'script'> {
  readonly faults: FaultBook;
  readonly files: DemoFiles;
}

function createDemoHandler(options: HandlerOptions): (request: ServedRequest, reply: ServedReply) => Promise<void> {
  const { faults, files } = options;
  const assist = createCodeAssist(faults, options.clock);
  const sendToken = createTokenEndpoint(faults);
  const quotas = createQuotaBook(faults, options.clock);
  const models = createModelHandler({ faults, files, clock: options.clock, script: options.script, quotas });
  const batches = createBatches({ faults, clock: options.clock, files, answer: models.answer });
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
        return models.call(route, request, reply);
      case 'batch-creation':
        return batches.create(route.model, request, reply);
      case 'batches':
        return sendOutcome(reply, await batches[route.action](route.id, request));
      case 'models':
        return sendOutcome(reply, answerModels(route, request.query));
      case 'files':
        return files.answer(route, request, reply);
      // Only an upload without a credential arrives here; `files.receive` takes all others.
      case 'upload':
        return sendError(reply, missingCredentialResponse(backend));
      case 'operation':
        return sendOutcome(reply, assist.getOperation(route.name));
      case 'code-assist': {
        const body = parseBody(request.body === '' ? '{}' : request.body);
        return sendOutcome(reply, assist.call(route.method, body.ok ? body.value : {}));
      }
    }
  };
}

function findBackend(route: Exclude<Route, { kind: 'unknown' | 'token' }>): Backend {
  if (route.kind === 'model' || route.kind === 'models') return route.backend;
  return route.kind === 'operation' || route.kind === 'code-assist' ? 'code-assist' : 'gemini';
}

function answerModels({ backend, id }: Extract<Route, { kind: 'models' }>, query: URLSearchParams): Outcome {
  if (id === undefined)
    return { ok: true, body: backend === 'vertex' ? listPublisherModels() : listModelResources(query) };
  if (isServed(id)) return { ok: true, body: toModelResource(id) };
  return { ok: false, error: notFoundResponse(`Model is not found: models/${id}.`) };
}
