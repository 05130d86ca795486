import { assertNever, type TurnEvent } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { errorFields, fileFields, type Member, omitEmpty, toolLog, verifyFields, writeDocument } from './json-parts.ts';
import type { Renderer } from './renderer.ts';

/** `-o json`: one object on stdout when the run has ended or failed; nothing on stderr. */
export function jsonRenderer({ out }: Io): Renderer {
  const response: string[] = [];
  const tools = toolLog();
  const verify: JsonObject[] = [];
  const steps: JsonObject[] = [];
  const files: JsonObject[] = [];
  const warnings: string[] = [];
  return async (event: TurnEvent) => {
    switch (event.type) {
      case 'wait':
      case 'begin':
      case 'thought':
        return;
      case 'text':
        if (event.delta !== '') response.push(event.delta);
        return;
      case 'call':
        return tools.call(event);
      case 'answer':
        return tools.result(event);
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
      case 'end':
        return writeDocument(out, [
          { key: 'model', value: event.model },
          { key: 'response', texts: response },
          { key: 'extracted', value: event.extracted },
          { key: 'sources', value: event.sources },
          { key: 'usage', value: event.usage },
          { key: 'cost', value: event.cost },
          { key: 'finishReason', value: event.finishReason },
          { key: 'sessionId', value: event.sessionId },
          { key: 'toolCalls', value: omitEmpty(tools.entries()) },
          { key: 'verify', value: omitEmpty(verify) },
          { key: 'serviceSteps', value: omitEmpty(steps) },
          { key: 'files', value: omitEmpty(files) },
          { key: 'serviceTier', value: event.serviceTier },
          { key: 'warnings', value: omitEmpty([...warnings, ...(event.notices ?? [])]) },
        ]);
      case 'failure': {
        if (event.error.fault === 'pipe') return;
        const members: Member[] = Object.entries(errorFields(event.error)).map(([key, value]) => ({ key, value }));
        if (response.length > 0) members.push({ key: 'partialResponse', texts: response });
        members.push({ key: 'sessionId', value: event.sessionId });
        members.push({ key: 'toolCalls', value: omitEmpty(tools.entries()) });
        members.push({ key: 'verify', value: omitEmpty(verify) });
        members.push({ key: 'serviceSteps', value: omitEmpty(steps) });
        members.push({ key: 'files', value: omitEmpty(files) });
        members.push({ key: 'warnings', value: omitEmpty(warnings) });
        return writeDocument(out, [{ key: 'error', members }]);
      }
      default:
        return assertNever(event);
    }
  };
}
