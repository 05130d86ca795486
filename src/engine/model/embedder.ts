import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { Usage } from '../../core/usage.ts';
import { EMBEDDING_MODEL } from '../../models/table.ts';
import type { Budget } from '../limits/budget.ts';
import { type BackendServiceOptions, openBackendService } from './backend-service.ts';
import { createQueries } from './queries.ts';

export interface EmbedderOptions extends BackendServiceOptions {
  /** One that embeds. */
  readonly model?: string;
  readonly taskType?: string;
  readonly dimensions?: number;
}

export interface Embedder {
  readonly model: string;
  /** Where its calls are billed. */
  readonly billedTo: string;
  /** One request. Throws AppError, or the signal's reason. */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly vectors: readonly (readonly number[])[]; readonly usage: Usage }>;
  close(): Promise<void>;
}

/** Throws AppError `usage` for wrong options, `auth` if the backend has no embeddings. Sends nothing yet. */
export async function openEmbedder(
  options: EmbedderOptions,
  app: App,
  { notify, budget }: { readonly notify: Notify; readonly budget?: Budget },
): Promise<Embedder> {
  const wanted = parseEmbedding(options);
  return openBackendService(options, app, { budget, notify }, async ({ opened, redaction, withDeadline }) => {
    if (opened.backend === 'code-assist') {
      throw new AppError('auth', 'Code Assist, which a Google login uses, has no embeddings', {
        hint: 'Use an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.',
      });
    }
    const queries = await createQueries(opened, app);
    return {
      model: wanted.model,
      billedTo: opened.billedTo,
      embed: (given, outer) =>
        withDeadline(outer, async (signal) =>
          queries.embed({ ...wanted, texts: await redaction.redact(given) }, signal),
        ),
    };
  });
}

/** Texts in one request: as many as the API takes. */
const BATCH = 100;
/** In characters: a request of long texts has fewer of them. */
const BATCH_LENGTH = 1_000_000;

/** What goes into one request each. */
export async function* batchTexts<Input extends { readonly text: string }>(
  inputs: AsyncIterable<Input> | Iterable<Input>,
): AsyncGenerator<readonly Input[], void> {
  let batch: Input[] = [];
  let length = 0;
  for await (const input of inputs) {
    if (batch.length === BATCH || (batch.length > 0 && length + input.text.length > BATCH_LENGTH)) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(input);
    length += input.text.length;
  }
  if (batch.length > 0) yield batch;
}

const TASK_TYPES: readonly string[] = [
  'SEMANTIC_SIMILARITY',
  'CLASSIFICATION',
  'CLUSTERING',
  'RETRIEVAL_DOCUMENT',
  'RETRIEVAL_QUERY',
  'CODE_RETRIEVAL_QUERY',
  'QUESTION_ANSWERING',
  'FACT_VERIFICATION',
];

function parseEmbedding({ model = EMBEDDING_MODEL, taskType: given, dimensions }: EmbedderOptions) {
  const taskType = given?.toUpperCase().replaceAll('-', '_');
  if (taskType !== undefined && !TASK_TYPES.includes(taskType)) {
    const names = TASK_TYPES.map((name) => name.toLowerCase().replaceAll('_', '-')).join(', ');
    throw new AppError('usage', `--task-type: "${given}" is not one of ${names}`, {
      hint: 'Example: --task-type retrieval-document',
    });
  }
  if (dimensions !== undefined && dimensions < 1) {
    throw new AppError('usage', `--dimensions: ${dimensions} is out of range`, { hint: 'Example: --dimensions 768' });
  }
  return { model, taskType, dimensions };
}
