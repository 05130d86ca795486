import { formatHelp } from '../help.ts';
import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

export const countTokens = serverTool({
  name: 'count_tokens',
  title: 'Count tokens',
  description: 'How many tokens a text is, by the count of the service.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  input: { properties: { text: { type: 'string', description: 'The text to count.' } }, required: ['text'] },
  fail: plainFailure,
  async run({ text }, { host, signal }) {
    const engine = await host.engine();
    const { model, totalTokens } = await host.queue.run(() => engine.countTokens(text, signal), { signal });
    const metadata = { model, tokensUsed: totalTokens, tokenCount: totalTokens };
    return plainResult(host.pages, { text: `${totalTokens} tokens for ${model}`, metadata });
  },
});

export const embedText = serverTool({
  name: 'embed_text',
  title: 'Embed text',
  description: 'The embedding of a text, as a JSON list of numbers. Needs an API key or Vertex AI.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  input: { properties: { text: { type: 'string', description: 'The text to embed.' } }, required: ['text'] },
  fail: plainFailure,
  async run({ text }, { host, signal }) {
    const engine = await host.engine();
    const { model, values } = await host.queue.run(() => engine.embed(text, signal), { signal });
    return plainResult(host.pages, { text: JSON.stringify(values), metadata: { model, dimensions: values.length } });
  },
});

export const listModels = serverTool({
  name: 'list_models',
  title: 'List models',
  description: 'The Gemini models this server knows, what they can do, and their short names.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: { properties: {} },
  fail: plainFailure,
  async run(_, { host }) {
    const { text, document } = (await host.engine()).describeModels();
    return plainResult(host.pages, { text, metadata: document });
  },
});

export const getHelp = serverTool({
  name: 'get_help',
  title: 'Help',
  description: 'What this server can do, with its limits and the next steps when something is refused.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: { properties: {} },
  fail: plainFailure,
  run: async (_, { host }) => plainResult(host.pages, { text: formatHelp(host) }),
});
