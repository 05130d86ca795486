import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

/** A text as a vector. */
export const embedText = serverTool({
  name: 'embed_text',
  title: 'Embed text',
  description: 'The embedding of a text, as a JSON list of numbers. Needs an API key or Vertex AI.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  input: { properties: { text: { type: 'string', description: 'The text to embed.' } }, required: ['text'] },
  fail: plainFailure,
  async run({ text }, { host, signal }) {
    const engine = await host.engine();
    const { model, values } = await host.gate.pass(signal, () => engine.embed(text, signal));
    return plainResult(host.pages, { text: JSON.stringify(values), metadata: { model, dimensions: values.length } });
  },
});
