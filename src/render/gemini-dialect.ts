import { type TurnEvent, unreachable } from '../core/event.ts';
import type { Io } from '../core/io.ts';
import { geminiErrorFields } from './error-fields.ts';
import { geminiStats } from './gemini-stats.ts';
import { type Member, unlessEmpty, writeDocument } from './json-parts.ts';
import { keepText } from './kept-text.ts';
import type { Renderer, RenderOptions } from './renderer.ts';

/** `-o json` with the official CLI's field names; unlike there, an error is on stdout too. */
export function geminiJsonRenderer({ out }: Io, options: RenderOptions): Renderer {
  const response = keepText();
  const stats = geminiStats(options.clock);
  const warnings: string[] = [];
  const head = (id: string | undefined): Member => ({ key: 'session_id', value: id });
  return async (event: TurnEvent) => {
    stats.note(event);
    switch (event.type) {
      case 'wait':
      case 'begin':
      case 'thought':
      case 'call':
      case 'answer':
        return;
      case 'text':
        return response.add(event.delta);
      case 'notice':
        warnings.push(event.message);
        return;
      case 'end':
        return writeDocument(out, [
          head(event.sessionId),
          { key: 'response', text: response },
          { key: 'extracted', value: event.extracted },
          { key: 'sources', value: event.sources },
          { key: 'stats', value: stats.ofRun(event.model, event.usage) },
          { key: 'warnings', value: unlessEmpty([...warnings, ...(event.notices ?? [])]) },
        ]);
      case 'failure':
        if (event.error.fault === 'pipe') return;
        if (event.error.answer) response.add(event.error.answer);
        return writeDocument(out, [
          head(event.sessionId),
          ...(response.length > 0 ? [{ key: 'response', text: response }] : []),
          { key: 'error', value: geminiErrorFields(event.error) },
          { key: 'warnings', value: unlessEmpty(warnings) },
        ]);
      default:
        return unreachable(event);
    }
  };
}
