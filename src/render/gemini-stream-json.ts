import { type TurnEvent, unreachable } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import type { ToolOutcome } from '../core/tool.ts';
import { NO_USAGE } from '../core/usage.ts';
import { geminiErrorFields } from './error-fields.ts';
import { geminiStats } from './gemini-stats.ts';
import { encode, encodeLine } from './json-text.ts';
import type { Renderer, RenderOptions } from './renderer.ts';

/** `-o stream-json` with the official CLI's event names: `init` first, `result` always last. */
export function geminiStreamJsonRenderer({ out }: Io, options: RenderOptions): Renderer {
  const stats = geminiStats(options.clock);
  const timestamp = (): string => new Date(options.clock.now()).toISOString();
  const line = (type: string, fields: JsonObject): Promise<void> =>
    out.write(encodeLine({ type, timestamp: timestamp(), ...fields }));
  // The only event the official CLI has for words to the person is `error`; that a file was attached is none.
  const warnings: string[] = [];
  let isBegun = false;
  const begin = async (model: string, sessionId: string | undefined): Promise<void> => {
    if (isBegun) return;
    isBegun = true;
    await line('init', { session_id: sessionId, model });
    await line('message', { role: 'user', content: options.prompt });
  };
  const result = (fields: JsonObject, model?: string, usage = NO_USAGE): Promise<void> =>
    line('result', { ...fields, stats: stats.ofStream(model, usage), ...(warnings.length > 0 ? { warnings } : {}) });
  return async (event: TurnEvent) => {
    stats.note(event);
    switch (event.type) {
      case 'wait':
      case 'thought':
        return;
      case 'begin':
        return begin(event.model, event.sessionId);
      case 'text':
        return event.delta === '' ? undefined : out.write(messageLines(timestamp(), event.pieces ?? [event.delta]));
      case 'call':
        return line('tool_use', { tool_name: event.name, tool_id: event.id, parameters: event.args });
      case 'answer':
        return line('tool_result', { tool_id: event.id, ...outcomeFields(event.outcome) });
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end':
        warnings.push(...(event.notices ?? []));
        return result({ status: 'success', ...addedFields(event) }, event.model, event.usage);
      case 'failure':
        return event.error.fault === 'pipe'
          ? undefined
          : result({ status: 'error', error: geminiErrorFields(event.error), response: event.error.answer });
      default:
        return unreachable(event);
    }
  };
}

/** What the official CLI has no names for. */
function addedFields({ extracted, sources }: Extract<TurnEvent, { type: 'end' }>): JsonObject {
  return { extracted, sources };
}

function messageLines(timestamp: string, pieces: readonly string[]): string {
  const opening = `{"type":"message","timestamp":"${timestamp}","role":"assistant","content":`;
  return pieces.map((text) => `${opening}${encode(text)},"delta":true}\n`).join('');
}

function outcomeFields({ ok, response }: ToolOutcome): JsonObject {
  if (ok) return { status: 'success', output: shownResult(response.output, response) };
  const message = shownResult(response.error, response);
  return { status: 'error', output: message, error: { type: 'TOOL_EXECUTION_ERROR', message } };
}

/** The official CLI shows a string; a result that has none is shown as its JSON. */
function shownResult(value: unknown, response: JsonObject): string {
  return typeof value === 'string' ? value : encode(response);
}
