import type { OpenedModel } from '../../app/model.ts';
import type { TurnEvent } from '../../core/event.ts';
import type { Out } from '../../core/io.ts';
import type { ModelRequest } from '../../core/model.ts';
import { NO_USAGE } from '../../core/usage.ts';
import { encodeDocument } from '../../render/json-text.ts';
import type { Renderer } from '../../render/renderer.ts';

/** The request that would be sent, as the text of the answer. */
export async function* preview(opened: OpenedModel, request: ModelRequest): AsyncGenerator<TurnEvent, void> {
  yield { type: 'text', delta: encodeDocument(await opened.preview(request)) };
  yield { type: 'end', finishReason: 'STOP', usage: NO_USAGE, model: request.model };
}

/** A preview is JSON already; only notices and failures need the chosen format. */
export function previewRenderer(render: Renderer, out: Out): Renderer {
  const warnings: string[] = [];
  return async (event) => {
    if (event.type === 'notice') warnings.push(event.message);
    if (event.type === 'notice' || event.type === 'failure') await render(event);
    if (event.type === 'text') {
      const shown = warnings.length === 0 ? {} : { warnings };
      await out.write(encodeDocument({ ...JSON.parse(event.delta), ...shown }));
    }
  };
}
