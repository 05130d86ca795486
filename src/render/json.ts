import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import { type JsonObject, omitEmpty } from '../core/json.ts';
import { errorFields, fileFields, resultFields, verifyFields, writeDocument } from './json-parts.ts';
import { encodeDocument } from './json-text.ts';
import type { Renderer } from './renderer.ts';

/** `-o json`: one object on stdout when the run has ended or failed; nothing on stderr. */
export function jsonRenderer({ out }: Io): Renderer {
  const response: string[] = [];
  const calls: JsonObject[] = [];
  const verify: JsonObject[] = [];
  const steps: JsonObject[] = [];
  const files: JsonObject[] = [];
  const warnings: string[] = [];
  const happened = (): JsonObject => ({
    toolCalls: omitEmpty(calls),
    verify: omitEmpty(verify),
    serviceSteps: omitEmpty(steps),
    files: omitEmpty(files),
  });
  return async (event: TurnEvent) => {
    switch (event.type) {
      case 'wait':
      case 'begin':
      case 'thought':
        return;
      case 'text':
        response.push(event.delta);
        return;
      case 'call':
        calls.push({ id: event.id, name: event.name, args: event.args });
        return;
      case 'answer': {
        const call = calls.find(({ id, result }) => id === event.id && result === undefined);
        if (call !== undefined) Object.assign(call, resultFields(event));
        return;
      }
      case 'verify':
        verify.push(verifyFields(event));
        return;
      case 'service':
        steps.push(event.step);
        return;
      case 'file':
        files.push(...fileFields(event));
        return;
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end': {
        const {
          model,
          extracted,
          sources,
          usage,
          cost,
          finishReason,
          sessionId,
          jobId,
          serviceTier,
          notices = [],
        } = event;
        const answer = { model, response: '', extracted, sources, usage, cost, finishReason, sessionId, jobId };
        const rest = { ...happened(), serviceTier, warnings: omitEmpty([...warnings, ...notices]) };
        return writeDocument(out, { ...answer, ...rest }, 'response', response);
      }
      case 'failure': {
        const { error, sessionId } = event;
        if (error.fault === 'pipe') return;
        const hasText = response.some((text) => text !== '');
        if (hasText && error.answer) response.push(...(response.at(-1)?.endsWith('\n') ? [] : ['\n']), error.answer);
        const fields = errorFields(error, hasText ? '' : undefined);
        const document = { error: { ...fields, sessionId, ...happened(), warnings: omitEmpty(warnings) } };
        if (!hasText) return out.write(encodeDocument(document));
        return writeDocument(out, document, 'partialResponse', response);
      }
      default:
        return assertNever(event);
    }
  };
}
