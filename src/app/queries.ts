import { isModelGone } from '../api/fallback.ts';
import { type Queries, withRetries } from '../api/queries.ts';
import type { App } from '../core/app.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Out } from '../core/io.ts';
import type { ModelRequest } from '../core/model.ts';
import { NO_USAGE } from '../core/usage.ts';
import { encodeDocument, encodeLine } from '../render/json-text.ts';
import type { Renderer } from '../render/renderer.ts';
import type { OpenedModel } from './model.ts';
import type { OpenedBackend } from './opened-backend.ts';

type QueryTarget = Pick<OpenedBackend, 'inquiries' | 'retryBaseMs'> & { readonly retries?: number | undefined };

/** Opens the queries of a backend, each with retries. */
export async function openQueries({ inquiries: open, retryBaseMs, retries }: QueryTarget, app: App): Promise<Queries> {
  const inquiries = await open();
  const patience = { clock: app.clock, random: app.random, trace: app.trace, retryBaseMs, retries };
  return {
    countTokens: (request, signal) => withRetries(() => inquiries.countTokens(request, signal), patience, signal),
    listModels: (signal) => withRetries(() => inquiries.listModels(signal), patience, signal),
    embed: (request, signal) => withRetries(() => inquiries.embed(request, signal), patience, signal),
    standing: (signal) => withRetries(() => inquiries.standing(signal), patience, signal),
  };
}

interface TokenCount {
  readonly model: string;
  readonly totalTokens: number;
}

/**
 * The server's token count of `request`. If the default model is gone, the fallback model counts. Throws AppError
 * `auth` or `api`.
 */
export async function countTokens(
  opened: OpenedModel,
  request: ModelRequest,
  { app, signal }: { readonly app: App; readonly signal: AbortSignal },
): Promise<TokenCount> {
  const inquiries = await openQueries(opened, app);
  const count = async (model: string): Promise<TokenCount> => ({
    model,
    totalTokens: await inquiries.countTokens({ ...request, model }, signal),
  });
  try {
    return await count(request.model);
  } catch (thrown) {
    const { successor } = opened;
    if (successor === undefined || successor === request.model) throw thrown;
    if (!isModelGone(thrown)) throw thrown;
    return count(successor);
  }
}

/** The count as turn events, as if the model had answered with the number. Throws as `countTokens` does. */
export async function* countEvents(
  opened: OpenedModel,
  request: ModelRequest,
  context: { readonly app: App; readonly signal: AbortSignal },
): AsyncGenerator<TurnEvent, void> {
  if (request.tools !== undefined && opened.backend === 'code-assist') {
    yield { type: 'notice', message: 'the tools are not in the count: Code Assist has no place for them' };
  }
  yield { type: 'wait', what: request.model };
  const { model, totalTokens } = await countTokens(opened, request, context);
  yield { type: 'text', delta: `${totalTokens}\n` };
  yield { type: 'end', finishReason: 'STOP', usage: NO_USAGE, model };
}

/** Renders `countEvents`: the number and a newline in text, `{"model","totalTokens"}` in the JSON formats. */
export function countRenderer(render: Renderer, out: Out, format: 'text' | 'json' | 'stream-json'): Renderer {
  if (format === 'text') return render;
  const notices: string[] = [];
  let totalTokens = 0;
  return async (event) => {
    if (event.type === 'notice') notices.push(event.message);
    if (event.type === 'text') totalTokens = Number(event.delta);
    if (event.type === 'end') {
      const warnings = notices.length > 0 ? { warnings: notices } : {};
      const counted = { model: event.model, totalTokens, ...warnings };
      await out.write(format === 'json' ? encodeDocument(counted) : encodeLine(counted));
    }
    if (event.type === 'notice' || event.type === 'failure') await render(event);
  };
}
