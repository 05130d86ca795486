import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { BUILT_IN } from '../../models/table.ts';
import { createDeadline } from '../../platform/runtime/clock.ts';
import { createLazyRedaction } from '../agent.ts';
import { deadlineError } from '../limits/limits.ts';
import { DEFAULT_TIMEOUT_MS, type ModelLimits, type OpenedModel, openModel } from './model.ts';
import type { ModelSetup } from './setup.ts';

export interface BackendServiceOptions extends Pick<ModelSetup, 'auth' | 'backend' | 'demo' | 'retries'> {
  /** In milliseconds, for each request. */
  readonly timeout?: number;
}

interface BackendServiceParts {
  readonly opened: OpenedModel;
  readonly redaction: ReturnType<typeof createLazyRedaction>;
  readonly withDeadline: <Result>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
}

/** What a backend offers besides models: embeddings, decisions, research. Sends nothing yet. `create` may throw. */
export async function openBackendService<Service>(
  { auth, backend, demo, retries, timeout: timeoutMs = DEFAULT_TIMEOUT_MS }: BackendServiceOptions,
  app: App,
  limits: Pick<ModelLimits, 'budget' | 'notify'>,
  create: (parts: BackendServiceParts) => Promise<Service>,
): Promise<Service & Pick<OpenedModel, 'close'>> {
  const opened = await openModel({ auth, backend, demo, retries, builtIn: BUILT_IN }, app, limits);
  const withDeadline: BackendServiceParts['withDeadline'] = async (signal, work) => {
    const deadline = createDeadline(signal, timeoutMs, () => deadlineError(timeoutMs));
    try {
      return await work(deadline.signal);
    } finally {
      deadline.clear();
    }
  };
  try {
    const service = await create({ opened, redaction: createLazyRedaction(app), withDeadline });
    return { ...service, close: opened.close };
  } catch (thrown) {
    await opened.close();
    throw thrown;
  }
}

/** Only the Gemini API has it. */
export function missingServiceError(what: string, { backend }: OpenedModel): AppError {
  const name = backend === 'vertex' ? 'Vertex AI, as gmn asks it,' : 'Code Assist, which a Google login uses,';
  return new AppError('auth', `${name} has no ${what}; the Gemini API does`, {
    hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), then --auth gemini-api-key',
  });
}
