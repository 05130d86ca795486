import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { filterObjects, toTimestamp } from '../core/json.ts';
import { formatDuration } from '../core/text/format.ts';
import { redactKnown } from '../core/text/secrets.ts';
import { modelPath } from './backend.ts';
import { type CodeAssistEndpoint, codeAssistUrl, type Onboardings } from './code-assist.ts';
import { toOneLine } from './google-error.ts';
import { callJson, type Fields, parseCount, type Queries, type QueryContext } from './queries.ts';

interface CodeAssistQueriesOptions {
  readonly place: CodeAssistEndpoint;
  readonly caller: QueryContext;
  readonly onboardings: Onboardings;
  readonly clock: Pick<Clock, 'now'>;
}

/** Code Assist queries other than model calls. It has no model list; the models with a quota take its place. */
export function codeAssistQueries({ place, caller, onboardings, clock }: CodeAssistQueriesOptions): Queries {
  const fetchQuota = async (project: string, signal: AbortSignal): Promise<readonly QuotaBucket[]> =>
    parseBuckets(
      await callJson(
        caller,
        { url: codeAssistUrl(place, ':retrieveUserQuota'), body: { project }, asks: 'a list of quotas' },
        signal,
      ),
    );
  return {
    async countTokens({ model, contents, systemInstruction }, signal) {
      // This method has no field for a system instruction, so it is counted as one more content.
      const counted = systemInstruction === undefined ? contents : [systemInstruction, ...contents];
      const body = { request: { model: decodeURIComponent(modelPath(model)), contents: counted } };
      const answer = await callJson(caller, { url: codeAssistUrl(place, ':countTokens'), body, model }, signal);
      return parseCount({ totalTokens: 0, ...answer });
    },
    embed: async () => {
      throw new AppError('usage', 'Code Assist has no embeddings', {
        hint: 'Use an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.',
      });
    },
    async listModels(signal) {
      const { project } = await onboardings.current(signal);
      const ids = new Set((await fetchQuota(project, signal)).map(({ model }) => model));
      return [...ids].map((id) => ({ id }));
    },
    async checkAccount(signal) {
      const { project, tier } = await onboardings.ask(signal);
      const buckets = await fetchQuota(project, signal);
      const quote = (text: string, max: number): string => toOneLine(redactKnown(text, caller.identity.secrets), max);
      const served = `Code Assist serves it: project ${quote(project, 100)}, ${quote(tier, 60)}.`;
      return { lines: [served, ...buckets.map((bucket) => formatBucket(bucket, clock.now()))] };
    },
  };
}

interface QuotaBucket {
  readonly model: string;
  readonly unit?: string;
  readonly amount?: string;
  readonly fraction?: number;
  readonly resetsAt?: number;
}

function parseBuckets({ buckets }: Fields): readonly QuotaBucket[] {
  return filterObjects(buckets).flatMap((bucket) => {
    const { modelId, tokenType, remainingAmount, remainingFraction, resetTime } = bucket;
    if (typeof modelId !== 'string' || !/^[\w.@:-]+$/.test(modelId)) return [];
    return [
      {
        model: modelId,
        unit: typeof tokenType === 'string' ? tokenType : undefined,
        amount: typeof remainingAmount === 'string' && /^\d+$/.test(remainingAmount) ? remainingAmount : undefined,
        fraction: typeof remainingFraction === 'number' ? remainingFraction : undefined,
        resetsAt: toTimestamp(resetTime),
      },
    ];
  });
}

function formatBucket({ model, unit, amount, fraction, resetsAt }: QuotaBucket, now: number): string {
  const percent = fraction === undefined ? [] : [`${Math.floor(fraction * 100)} % left`];
  const name = unit === undefined ? '' : ` ${toOneLine(unit, 40).toLowerCase()}`;
  const count = amount === undefined ? [] : [`${amount}${name}`];
  const reset = resetsAt === undefined || resetsAt <= now ? [] : [`resets in ${formatDuration(resetsAt - now)}`];
  return `${model}: ${[...percent, ...count, ...reset].join(', ') || 'quota unknown'}`;
}
