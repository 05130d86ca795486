import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

/** What `gmn models` knows, without asking anyone. */
export const listModels = serverTool({
  name: 'list_models',
  title: 'List models',
  description: 'The Gemini models this server knows, what they can do, and their short names.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: { properties: {} },
  fail: plainFailure,
  async run(_, { host }) {
    const { text, document } = (await host.engine()).models();
    return plainResult(host.pages, { text, metadata: document });
  },
});
