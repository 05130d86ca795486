import type { JsonObject } from '../core/json.ts';

/** What the sampling flags may set; everything absent gets the documented default. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly seed?: number;
  readonly showThoughts?: boolean;
}

/** The `generationConfig` of a request. An explicit 0 is kept. */
export function generationConfig(model: string, sampling: Sampling): JsonObject {
  const {
    temperature = 1,
    topP = 0.95,
    topK = 40,
    maxOutputTokens = outputLimit(model),
    seed,
    showThoughts,
  } = sampling;
  return {
    temperature,
    topP,
    topK,
    maxOutputTokens,
    ...(seed === undefined ? {} : { seed }),
    ...(showThoughts ? { thinkingConfig: { includeThoughts: true } } : {}),
  };
}

/** Models that think spend output tokens on it, so the classic 8,192 would leave them without an answer. */
function outputLimit(model: string): number {
  return /^gemini-(2\.5|[3-9]|(pro|flash|flash-lite)-latest)/.test(model) ? 65_536 : 8192;
}
