import { isModelGone } from '../../api/fallback.ts';
import { type Queries, withRetries } from '../../api/queries.ts';
import type { App } from '../../core/app.ts';
import type { ModelRequest } from '../../core/model.ts';
import type { OpenedBackend } from './backend.ts';
import type { OpenedModel } from './model.ts';

type QueryTarget = Pick<OpenedBackend, 'queries' | 'retryBaseMs' | 'notify'> & {
  readonly retries?: number;
};

export async function createQueries(target: QueryTarget, app: App): Promise<Queries> {
  const { retryBaseMs, retries, notify } = target;
  const queries = await target.queries();
  const retrying = { clock: app.clock, random: app.random, trace: app.trace, retryBaseMs, retries, notify };
  return {
    countTokens: (request, signal) => withRetries(() => queries.countTokens(request, signal), retrying, signal),
    listModels: (signal) => withRetries(() => queries.listModels(signal), retrying, signal),
    embed: (batch, signal) => withRetries(() => queries.embed(batch, signal), retrying, signal),
    checkAccount: (signal) => withRetries(() => queries.checkAccount(signal), retrying, signal),
  };
}

/** If the default model is gone, the fallback model counts. Throws AppError `auth` or `api`. */
export async function countTokens(
  opened: OpenedModel,
  request: ModelRequest,
  { app, signal }: { readonly app: App; readonly signal: AbortSignal },
) {
  const queries = await createQueries(opened, app);
  const count = async (model: string) => ({
    model,
    totalTokens: await queries.countTokens({ ...request, model }, signal),
  });
  try {
    return await count(request.model);
  } catch (thrown) {
    const { fallback } = opened;
    if (fallback === undefined || fallback === request.model || !isModelGone(thrown)) throw thrown;
    return count(fallback);
  }
}
