import type { Clock } from '../core/io.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import { createBatches } from './batches.ts';
import { isServed, listModelResources, listPublisherModels, toModelResource } from './catalog.ts';
import { createCodeAssist } from './code-assist.ts';
import { createDecisions } from './decisions.ts';
import { createFaultBook, type DemoFault, type FaultBook } from './fault.ts';
import { hasCredential } from './file-store.ts';
import { createDemoFiles, type DemoFiles } from './files.ts';
import { ApiError, type Backend, missingCredentialResponse, notFoundResponse } from './google-error.ts';
import { createInteractions } from './interactions.ts';
import { type DemoServer, type ServiceOptions, startService } from './listen.ts';
import { createModelHandler, VERBS } from './model-call.ts';
import { createQuotaBook } from './quota.ts';
import { cleanPath, parseBody } from './request.ts';
import type { ScriptLine } from './script.ts';
import { sendError, sendJson, toStreamFormat } from './send.ts';
import { createTokenEndpoint } from './token.ts';

export interface DemoOptions extends ServiceOptions {
  readonly script?: readonly ScriptLine[];
  readonly faults?: readonly DemoFault[];
  readonly clock: Clock;
}

/** The offline model, on 127.0.0.1. Throws AppError `usage` if the port is not available. */
export async function startDemo(options: DemoOptions): Promise<DemoServer> {
  const faults = createFaultBook(options.faults ?? []);
  const files = createDemoFiles({ faults, clock: options.clock });
  const handler = createDemoHandler({ ...options, faults, files });
  return startService({ handler, stream: files.receive, close: files.close }, options);
}

interface HandlerOptions extends Pick<DemoOptions, 'clock' | 'script'> {
  readonly faults: FaultBook;
  readonly files: DemoFiles;
}

function createDemoHandler(options: HandlerOptions): (request: ServedRequest, reply: ServedReply) => Promise<void> {
  const endpoints = listEndpoints(options).map(
    ([method, path, ...rest]) => [method, new RegExp(`^${path}$`), ...rest] as const,
  );
  const answer = async (request: ServedRequest, reply: ServedReply): Promise<void> => {
    for (const [method, path, backend, handle] of endpoints) {
      const match = method === request.method || method === ANY ? path.exec(cleanPath(request)) : null;
      if (match === null) continue;
      if (backend !== undefined && !hasCredential(request, backend)) {
        throw new ApiError(missingCredentialResponse(backend));
      }
      const [, first = '', second = ''] = match;
      return handle(request, reply, decodeSegment(first), second);
    }
    throw new ApiError(notFoundResponse(`The demo has nothing at ${request.method} ${request.path}.`));
  };
  return async (request, reply) => {
    const location = options.faults.take(['redirect'])?.text;
    if (location !== undefined) return reply.send(307, { location }, '');
    try {
      await answer(request, reply);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      sendError(reply, thrown.response, toStreamFormat(request));
    }
  };
}

const ANY = 'any';

/** The backend is the one whose credential is needed. What the groups of the path have matched comes last. */
type Endpoint = readonly [
  method: string,
  path: string,
  backend: Backend | undefined,
  handle: (request: ServedRequest, reply: ServedReply, first: string, second: string) => Promise<void> | void,
];

const MODELS = {
  gemini: '/(?:v1|v1alpha|v1beta|v1beta1)/models',
  vertex: '/(?:v1|v1beta1)/(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models',
} as const;
const BATCHES = '/(?:v1alpha|v1beta)/batches';
const INTERACTIONS = '/(?:v1|v1beta)/interactions';
const FILES = '/(?:download/)?(?:v1|v1alpha|v1beta)/files';
const ID = '/([^/:]+)';

function listEndpoints({ faults, files, clock, script }: HandlerOptions): readonly Endpoint[] {
  const assist = createCodeAssist(faults, clock);
  const sendToken = createTokenEndpoint(faults);
  const quotas = createQuotaBook(faults, clock);
  const models = createModelHandler({ faults, files, clock, script, quotas });
  const batches = createBatches({ faults, clock, files, answer: models.answer });
  const interactions = createInteractions({ faults, clock });
  const listModels =
    (backend: Backend): Endpoint[3] =>
    ({ query }, reply) =>
      sendJson(reply, backend === 'vertex' ? listPublisherModels() : listModelResources(query));
  const getModel: Endpoint[3] = (_request, reply, id) => {
    if (!isServed(id)) throw new ApiError(notFoundResponse(`Model is not found: models/${id}.`));
    sendJson(reply, toModelResource(id));
  };
  const callModel =
    (backend: Backend): Endpoint[3] =>
    (request, reply, model, verb) =>
      models.call({ backend, model, verb: verb as (typeof VERBS)[number] }, request, reply);
  const answerFile: Endpoint[3] = (request, reply, id, action) =>
    files.answer(id, request, reply, action === ':download');
  return [
    ['POST', '/(?:oauth2/)?token', undefined, ({ body }, reply) => sendToken(body, reply)],
    // Only an upload without a credential arrives here, and is refused; `files.receive` takes all others.
    ['POST', '/upload/(?:v1|v1alpha|v1beta)/files', 'gemini', () => {}],
    [
      'POST',
      `${MODELS.gemini}${ID}:batchGenerateContent`,
      'gemini',
      (request, reply, model) => batches.create(model, request, reply),
    ],
    ['GET', BATCHES, 'gemini', (request, reply) => sendJson(reply, batches.list(request))],
    ['GET', `${BATCHES}${ID}`, 'gemini', async (request, reply, id) => sendJson(reply, await batches.get(id, request))],
    ['POST', `${BATCHES}${ID}:cancel`, 'gemini', (request, reply, id) => sendJson(reply, batches.cancel(id, request))],
    ['DELETE', `${BATCHES}${ID}`, 'gemini', (request, reply, id) => sendJson(reply, batches.delete(id, request))],
    ['POST', INTERACTIONS, 'gemini', interactions.create],
    ['GET', `${INTERACTIONS}/([^/]+)`, 'gemini', interactions.get],
    ['POST', `${INTERACTIONS}/([^/]+)/cancel`, 'gemini', interactions.cancel],
    ['POST', '/v1beta/decisions', 'gemini', createDecisions({ faults, quotas })],
    ...(['gemini', 'vertex'] as const).flatMap((backend): readonly Endpoint[] => [
      ['GET', MODELS[backend], backend, listModels(backend)],
      ['GET', `${MODELS[backend]}${ID}`, backend, getModel],
      ['POST', `${MODELS[backend]}${ID}:(${VERBS.join('|')})`, backend, callModel(backend)],
    ]),
    ['GET', `${FILES}(?:/([a-z\\d-]+)(:download)?)?`, 'gemini', answerFile],
    ['DELETE', `${FILES}/([a-z\\d-]+)`, 'gemini', answerFile],
    ['GET', '/v1internal/(.+)', 'code-assist', (_request, reply, name) => sendJson(reply, assist.getOperation(name))],
    [
      'POST',
      '/v1internal()?:(generateContent|streamGenerateContent|countTokens)',
      'code-assist',
      callModel('code-assist'),
    ],
    [
      ANY,
      '/v1internal:(\\w+)',
      'code-assist',
      ({ method, body: text }, reply, name) => {
        const body = parseBody(text === '' ? '{}' : text);
        sendJson(reply, assist.call(method, name, body.ok ? body.value : {}));
      },
    ],
  ];
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
