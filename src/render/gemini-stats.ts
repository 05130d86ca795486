import type { TurnEvent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Usage } from '../core/usage.ts';
import type { RenderOptions } from './renderer.ts';

/** What the gemini dialect counts over a run. */
export interface GeminiStats {
  /** Takes note of any event; what does not count is ignored. */
  note(event: TurnEvent): void;
  /** `stats` of the json format. */
  ofRun(model: string, usage: Usage): JsonObject;
  /** `stats` of the `result` event. Without a model, a run that never got an answer. */
  ofStream(model: string | undefined, usage: Usage): JsonObject;
}

interface ToolCount {
  count: number;
  success: number;
  fail: number;
  durationMs: number;
}

const NO_DECISIONS = { accept: 0, reject: 0, modify: 0, auto_accept: 0 };

/**
 * Counts model calls, tools and time from the events alone; what they do not tell (decisions, lines changed) stays zero. A
 * call that was tried again counts once.
 */
export function geminiStats(clock: RenderOptions['clock']): GeminiStats {
  const startedMs = clock.now();
  const calledMs = new Map<string, number>();
  const byName = new Map<string, ToolCount>();
  let requests = 0;
  let isCounted = false;
  let hasAnswers = false;
  /** `begin` comes once a turn; after that, whatever comes once all tools have answered tells of the next call. */
  const isCall = ({ type }: TurnEvent): boolean =>
    type === 'begin' || (hasAnswers && calledMs.size === 0 && ['wait', 'thought', 'text'].includes(type));
  const elapsedMs = (): number => clock.now() - startedMs;
  return {
    note(event) {
      if (!isCounted && isCall(event)) {
        requests += 1;
        isCounted = true;
      }
      if (event.type === 'call') calledMs.set(event.id, clock.now());
      if (event.type !== 'answer') return;
      const tool = byName.get(event.name) ?? { count: 0, success: 0, fail: 0, durationMs: 0 };
      tool.count += 1;
      tool[event.outcome.ok ? 'success' : 'fail'] += 1;
      tool.durationMs += clock.now() - (calledMs.get(event.id) ?? clock.now());
      byName.set(event.name, tool);
      calledMs.delete(event.id);
      hasAnswers = true;
      isCounted = false;
    },
    ofRun(model, usage) {
      const api = { totalRequests: requests, totalErrors: 0, totalLatencyMs: elapsedMs() };
      const tokens = runTokens(usage);
      return {
        models: { [model]: { api: { ...api, errorsByType: {} }, tokens, roles: { main: { ...api, tokens } } } },
        tools: toolStats(byName),
        files: { totalLinesAdded: 0, totalLinesRemoved: 0 },
      };
    },
    ofStream(model, usage) {
      const tokens = streamTokens(usage);
      return {
        ...tokens,
        duration_ms: elapsedMs(),
        tool_calls: sum(byName, 'count'),
        models: model === undefined ? {} : { [model]: tokens },
      };
    },
  };
}

function runTokens(usage: Usage): JsonObject {
  const prompt = usage.promptTokenCount ?? 0;
  const cached = usage.cachedContentTokenCount ?? 0;
  return {
    input: Math.max(0, prompt - cached),
    prompt,
    candidates: usage.candidatesTokenCount ?? 0,
    total: usage.totalTokenCount ?? 0,
    cached,
    thoughts: usage.thoughtsTokenCount ?? 0,
    tool: usage.toolUsePromptTokenCount ?? 0,
  };
}

function streamTokens(usage: Usage): JsonObject {
  const prompt = usage.promptTokenCount ?? 0;
  const cached = usage.cachedContentTokenCount ?? 0;
  return {
    total_tokens: usage.totalTokenCount ?? 0,
    input_tokens: prompt,
    output_tokens: usage.candidatesTokenCount ?? 0,
    cached,
    input: Math.max(0, prompt - cached),
  };
}

function toolStats(byName: ReadonlyMap<string, ToolCount>): JsonObject {
  return {
    totalCalls: sum(byName, 'count'),
    totalSuccess: sum(byName, 'success'),
    totalFail: sum(byName, 'fail'),
    totalDurationMs: sum(byName, 'durationMs'),
    totalDecisions: NO_DECISIONS,
    byName: Object.fromEntries([...byName].map(([name, tool]) => [name, { ...tool, decisions: NO_DECISIONS }])),
  };
}

function sum(byName: ReadonlyMap<string, ToolCount>, key: keyof ToolCount): number {
  let total = 0;
  for (const tool of byName.values()) total += tool[key];
  return total;
}
