import { filterObjects, isCount, isObject } from '../core/json.ts';
import type { Usage, UsageDetails } from '../core/usage.ts';

/** The counts that the Decisions and Interactions APIs send, under the names of `generateContent`. What is no count is dropped. */
export function parseTotalUsage(value: unknown): Usage & UsageDetails {
  if (!isObject(value)) return {};
  const toCount = (name: string): number | undefined => {
    const count = value[name];
    return isCount(count) ? count : undefined;
  };
  const modalities = filterObjects(value.input_tokens_by_modality).flatMap(
    ({ modality, tokens, token_count: count }) => {
      const tokenCount = tokens ?? count;
      return typeof modality === 'string' && isCount(tokenCount)
        ? [{ modality: modality.toUpperCase(), tokenCount }]
        : [];
    },
  );
  const usage = {
    promptTokenCount: toCount('total_input_tokens'),
    candidatesTokenCount: toCount('total_output_tokens'),
    totalTokenCount: toCount('total_tokens'),
    cachedContentTokenCount: toCount('total_cached_tokens'),
    thoughtsTokenCount: toCount('total_thought_tokens'),
    toolUsePromptTokenCount: toCount('total_tool_use_tokens'),
    promptTokensDetails: modalities.length === 0 ? undefined : modalities,
  };
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined));
}
