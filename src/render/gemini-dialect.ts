import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import { type JsonObject, omitEmpty } from '../core/json.ts';
import type { ToolResult } from '../core/tool.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import { fileFields, geminiErrorFields, writeDocument } from './json-parts.ts';
import { encodeDocument, encodeJson, encodeLine } from './json-text.ts';
import type { Renderer, RenderOptions } from './renderer.ts';

/** `-o json` with the official CLI's field names; unlike there, errors are on stdout too. */
export function geminiJsonRenderer({ out }: Io, options: RenderOptions): Renderer {
  const response: string[] = [];
  const stats = createGeminiStats(options.clock);
  const files: JsonObject[] = [];
  const warnings: string[] = [];
  return async (event: TurnEvent) => {
    stats.count(event);
    switch (event.type) {
      case 'wait':
      case 'begin':
      case 'thought':
      case 'call':
      case 'answer':
      case 'verify':
      case 'service':
        return;
      case 'file':
        files.push(...fileFields(event));
        return;
      case 'text':
        response.push(event.delta);
        return;
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end':
        return writeDocument(
          out,
          {
            session_id: event.sessionId,
            response: '',
            extracted: event.extracted,
            sources: event.sources,
            files: omitEmpty(files),
            stats: stats.ofRun(event.model, event.usage),
            warnings: omitEmpty([...warnings, ...(event.notices ?? [])]),
          },
          'response',
          response,
        );
      case 'failure': {
        const { error, sessionId } = event;
        if (error.fault === 'pipe') return;
        if (error.answer) response.push(error.answer);
        const rest = { error: geminiErrorFields(error), warnings: omitEmpty(warnings) };
        if (response.every((text) => text === '')) return out.write(encodeDocument({ session_id: sessionId, ...rest }));
        return writeDocument(out, { session_id: sessionId, response: '', ...rest }, 'response', response);
      }
      default:
        return assertNever(event);
    }
  };
}

/** `-o stream-json` with the official CLI's event names: `init` first, `result` always last. */
export function geminiStreamJsonRenderer({ out }: Io, options: RenderOptions): Renderer {
  const stats = createGeminiStats(options.clock);
  const timestamp = (): string => new Date(options.clock.now()).toISOString();
  const line = (type: string, fields: JsonObject): Promise<void> =>
    out.write(encodeLine({ type, timestamp: timestamp(), ...fields }));
  // The official CLI has only `error` for messages to the user, and a notice is not an error; so notices go into
  // `result`.
  const warnings: string[] = [];
  const files: JsonObject[] = [];
  let isBegun = false;
  const begin = async (model: string, sessionId: string | undefined): Promise<void> => {
    if (isBegun) return;
    isBegun = true;
    await line('init', { session_id: sessionId, model });
    await line('message', { role: 'user', content: options.prompt });
  };
  const result = (fields: JsonObject, model?: string, usage = NO_USAGE): Promise<void> =>
    line('result', { ...fields, stats: stats.ofStream(model, usage), warnings: omitEmpty(warnings) });
  return async (event: TurnEvent) => {
    stats.count(event);
    switch (event.type) {
      case 'wait':
      case 'thought':
      case 'verify':
      case 'service':
        return;
      case 'file':
        files.push(...fileFields(event));
        return;
      case 'begin':
        return begin(event.model, event.sessionId);
      case 'text':
        if (event.delta === '') return;
        return line('message', { role: 'assistant', content: event.delta, delta: true });
      case 'call':
        return line('tool_use', { tool_name: event.name, tool_id: event.id, parameters: event.args });
      case 'answer':
        return line('tool_result', { tool_id: event.id, ...toolResultFields(event.outcome) });
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end':
        warnings.push(...(event.notices ?? []));
        return result(
          { status: 'success', extracted: event.extracted, sources: event.sources, files: omitEmpty(files) },
          event.model,
          event.usage,
        );
      case 'failure':
        return event.error.fault === 'pipe'
          ? undefined
          : result({ status: 'error', error: geminiErrorFields(event.error), response: event.error.answer });
      default:
        return assertNever(event);
    }
  };
}

function toolResultFields({ ok, response }: ToolResult): JsonObject {
  if (ok) return { status: 'success', output: toOutputText(response.output, response) };
  const message = toOutputText(response.error, response);
  return { status: 'error', output: message, error: { type: 'TOOL_EXECUTION_ERROR', message } };
}

/** The official CLI gives a string; a response without one is given as JSON. */
function toOutputText(value: unknown, response: JsonObject): string {
  return typeof value === 'string' ? value : encodeJson(response);
}

interface ToolCount {
  count: number;
  success: number;
  fail: number;
  durationMs: number;
}

const NO_DECISIONS = { accept: 0, reject: 0, modify: 0, auto_accept: 0 };

/**
 * Counts model calls, tools and time from the events alone; what they do not contain (decisions, changed lines) stays
 * zero. A retried call counts once.
 */
function createGeminiStats(clock: RenderOptions['clock']) {
  const startedMs = clock.now();
  const calledMs = new Map<string, number>();
  const byName = new Map<string, ToolCount>();
  let requests = 0;
  let isCounted = false;
  let hasAnswers = false;
  /** `begin` comes once per turn; later model calls show by the first event after all tools have answered. */
  const isCall = ({ type }: TurnEvent): boolean =>
    type === 'begin' || (hasAnswers && calledMs.size === 0 && ['wait', 'thought', 'text'].includes(type));
  const elapsedMs = (): number => clock.now() - startedMs;
  return {
    count(event: TurnEvent): void {
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
    ofRun(model: string, usage: Usage): JsonObject {
      const api = { totalRequests: requests, totalErrors: 0, totalLatencyMs: elapsedMs() };
      const tokens = runTokens(usage);
      return {
        models: { [model]: { api: { ...api, errorsByType: {} }, tokens, roles: { main: { ...api, tokens } } } },
        tools: toolStats(byName),
        files: { totalLinesAdded: 0, totalLinesRemoved: 0 },
      };
    },
    ofStream(model: string | undefined, usage: Usage): JsonObject {
      const tokens = streamTokens(usage);
      return {
        ...tokens,
        duration_ms: elapsedMs(),
        tool_calls: sumTools(byName, 'count'),
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
    totalCalls: sumTools(byName, 'count'),
    totalSuccess: sumTools(byName, 'success'),
    totalFail: sumTools(byName, 'fail'),
    totalDurationMs: sumTools(byName, 'durationMs'),
    totalDecisions: NO_DECISIONS,
    byName: Object.fromEntries([...byName].map(([name, tool]) => [name, { ...tool, decisions: NO_DECISIONS }])),
  };
}

function sumTools(byName: ReadonlyMap<string, ToolCount>, key: keyof ToolCount): number {
  let total = 0;
  for (const tool of byName.values()) total += tool[key];
  return total;
}
