import { formatBatchLine } from '../../api/batches.ts';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import type { AnswerFormat } from '../../engine/answer/output-schema.ts';
import { DEFAULT_OUTPUT } from '../../engine/limits/budget.ts';
import { toBilledCall } from '../../engine/model/model.ts';
import type { BatchSetup } from '../requests/batch-setup.ts';
import type { BatchCosts } from '../requests/costs.ts';
import { guessTokens } from '../requests/row-request.ts';
import { MIN_FILE_LIFE_MS, type RowCodec } from './service.ts';

/** Converts a line of a batch to a result. An answer that does not match the schema is an error that can be retried. */
export function createResultReader(
  schema: AnswerFormat['schema'],
  costs: BatchCosts,
  { now }: Clock,
): RowCodec['toResult'] {
  return ({ reply, counted }, { ms, attempts }) => {
    // An answer that cannot be used is billed, too.
    const calls = counted ? [{ ...toBilledCall(counted, 'gemini-api', now()), isBatch: true }] : [];
    for (const call of calls) costs.add(call);
    if (reply instanceof AppError) return reply;
    const { text, model, usage, finishReason } = reply;
    try {
      return {
        response: schema === undefined ? text : undefined,
        json: schema?.parse(text),
        model,
        usage,
        ms,
        attempts,
        cost: costs.sum(calls),
        finishReason: finishReason === 'STOP' ? undefined : finishReason,
      };
    } catch (thrown) {
      return AppError.from(thrown).with({ retry: {} });
    }
  };
}

export function createRowCodec(setup: BatchSetup, costs: BatchCosts, clock: Clock): RowCodec {
  return {
    toResult: createResultReader(setup.schema, costs, clock),
    async prepare(row, signal) {
      try {
        const request = await setup.toRequest(row);
        const provided = await setup.provide(request, { signal, minLifeMs: MIN_FILE_LIFE_MS });
        const { model, generationConfig } = provided;
        const prompt = guessTokens(request);
        const output = Number(generationConfig.maxOutputTokens ?? DEFAULT_OUTPUT);
        const usage = { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output };
        return {
          model,
          line: (key) => formatBatchLine(key, provided, setup.opened.batchFields),
          cost: costs.estimate({ usage, model, isBatch: true }),
        };
      } catch (thrown) {
        // Only this row is wrong.
        if (thrown instanceof AppError && thrown.fault === 'usage') return thrown;
        throw thrown;
      }
    },
  };
}
