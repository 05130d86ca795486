import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

/** How long a text is for the model. */
export const countTokens = serverTool({
  name: 'count_tokens',
  title: 'Count tokens',
  description: 'How many tokens a text is, by the count of the service.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  input: { properties: { text: { type: 'string', description: 'The text to count.' } }, required: ['text'] },
  fail: plainFailure,
  async run({ text }, { host, signal }) {
    const engine = await host.engine();
    const { model, totalTokens } = await host.gate.pass(signal, () => engine.countTokens(text, signal));
    const metadata = { model, tokensUsed: totalTokens, tokenCount: totalTokens };
    return plainResult(host.pages, { text: `${totalTokens} tokens for ${model}`, metadata });
  },
});
