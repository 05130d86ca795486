import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io, Out } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import {
  createTextBuffer,
  errorFields,
  fileFields,
  omitEmpty,
  resultFields,
  type TextBuffer,
  verifyFields,
} from './json-parts.ts';
import { encodeJson, encodeLine } from './json-text.ts';
import type { Renderer, RenderOptions } from './renderer.ts';

/**
 * In characters: how much text is kept for `partialResponse`, to bound memory. Beyond it, only the content events have
 * the text.
 */
const KEPT_LENGTH = 1_000_000;

/** `-o stream-json`: one object per line as things happen, `done` or `error` last; nothing on stderr. */
export function streamJsonRenderer({ out }: Io, options: RenderOptions): Renderer {
  const partial = boundedText();
  const files: JsonObject[] = [];
  const warnings: string[] = [];
  let hasStarted = false;
  const line = (value: JsonObject): Promise<void> => out.write(encodeLine(value));
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
        });
      case 'text':
        for (const text of event.pieces ?? [event.delta]) partial.add(text);
        return writeContent(out, event.pieces ?? [event.delta]);
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
        const { usage, cost, finishReason, sessionId, extracted, sources, serviceTier, notices = [] } = event;
        return line({
          type: 'done',
          usage,
          cost,
          finishReason,
          sessionId,
          extracted,
          sources,
          files: omitEmpty(files),
          serviceTier,
          ...warningFields([...warnings, ...notices]),
        });
      }
      case 'failure':
        return event.error.fault === 'pipe' ? undefined : line(errorLine(event, partial, warnings));
      default:
        return assertNever(event);
    }
  };
}

/** In characters: lines are written together up to about this length. */
const BLOCK_LENGTH = 16_384;

async function writeContent(out: Out, texts: readonly string[]): Promise<void> {
  let lines = '';
  for (const text of texts) {
    if (text !== '') lines += `{"type":"content","text":${encodeJson(text)}}\n`;
    if (lines.length < BLOCK_LENGTH) continue;
    await out.write(lines);
    lines = '';
  }
  if (lines !== '') await out.write(lines);
}

type Failure = Extract<TurnEvent, { readonly type: 'failure' }>;

function errorLine({ error, sessionId }: Failure, partial: BoundedText, warnings: readonly string[]): JsonObject {
  const { text } = partial;
  const notes = text === undefined ? [...warnings, 'partialResponse left out: join the content events'] : warnings;
  return {
    type: 'error',
    error: {
      ...errorFields(error),
      ...(text === undefined || text === '' ? {} : { partialResponse: text }),
      sessionId,
      ...warningFields(notes),
    },
  };
}

function warningFields(warnings: readonly string[]): JsonObject {
  return warnings.length === 0 ? {} : { warnings };
}

interface BoundedText {
  add(delta: string): void;
  readonly text: string | undefined;
}

function boundedText(): BoundedText {
  let kept: TextBuffer | undefined = createTextBuffer();
  return {
    add(delta) {
      kept?.add(delta);
      if (kept !== undefined && kept.length > KEPT_LENGTH) kept = undefined;
    },
    get text() {
      return kept?.pieces().join('');
    },
  };
}
