import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import { type JsonObject, omitEmpty } from '../core/json.ts';
import { errorFields, fileFields, resultFields, verifyFields } from './json-parts.ts';
import { encodeLine } from './json-text.ts';
import type { Renderer, RenderOptions } from './renderer.ts';

/**
 * In characters: how much text is kept for `partialResponse`, to bound memory. Beyond it, only the content events have
 * the text.
 */
const KEPT_LENGTH = 1_000_000;

/** `-o stream-json`: one object per line as things happen, `done` or `error` last; nothing on stderr. */
export function streamJsonRenderer({ out }: Io, options: StreamJsonOptions): Renderer {
  return toStreamJson((event) => out.write(encodeLine(event)), options);
}

type StreamJsonOptions = Pick<RenderOptions, 'showThoughts' | 'turn'>;

/** The same objects for whoever takes them. */
export function toStreamJson(emit: (event: JsonObject) => Promise<void>, options: StreamJsonOptions): Renderer {
  let partial: string | undefined = '';
  const files: JsonObject[] = [];
  const warnings: string[] = [];
  let hasStarted = false;
  const line = (value: JsonObject): Promise<void> => emit({ type: value.type, turn: options.turn, ...value });
  return async (event: TurnEvent) => {
    switch (event.type) {
      case 'wait':
        return;
      case 'begin':
        if (hasStarted) return;
        hasStarted = true;
        return line({
          type: 'start',
          model: event.model,
          sessionId: event.isResumable ? event.sessionId : undefined,
          jobId: event.jobId,
        });
      case 'text':
        partial = addBounded(partial, event.delta);
        return event.delta === '' ? undefined : line({ type: 'content', text: event.delta });
      case 'thought':
        return options.showThoughts ? line({ type: 'thought', text: event.delta }) : undefined;
      case 'call':
        return line({ type: 'tool_call', id: event.id, name: event.name, args: event.args });
      case 'answer':
        return line({ type: 'tool_result', id: event.id, name: event.name, ...resultFields(event) });
      case 'verify':
        return line({ type: 'verify', ...verifyFields(event) });
      case 'service':
        return line({ type: 'service_step', ...event.step });
      case 'file': {
        const saved = fileFields(event);
        files.push(...saved);
        for (const fields of saved) await line({ type: 'file', ...fields });
        return;
      }
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end': {
        const { usage, cost, finishReason, sessionId, jobId, extracted, sources, serviceTier, notices = [] } = event;
        return line({
          type: 'done',
          usage,
          cost,
          finishReason,
          sessionId,
          jobId,
          extracted,
          sources,
          files: omitEmpty(files),
          serviceTier,
          warnings: omitEmpty([...warnings, ...notices]),
        });
      }
      case 'failure': {
        const { error, sessionId } = event;
        if (error.fault === 'pipe') return;
        if (partial === undefined) warnings.push('partialResponse left out: join the content events');
        if (partial && error.answer)
          partial = addBounded(partial, `${partial.endsWith('\n') ? '' : '\n'}${error.answer}`);
        const fields = { ...errorFields(error, partial || undefined), sessionId, warnings: omitEmpty(warnings) };
        return line({ type: 'error', error: fields });
      }
      default:
        return assertNever(event);
    }
  };
}

function addBounded(partial: string | undefined, delta: string): string | undefined {
  return partial === undefined || partial.length + delta.length > KEPT_LENGTH ? undefined : partial + delta;
}
