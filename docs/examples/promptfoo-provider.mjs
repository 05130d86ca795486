// A provider for promptfoo: see promptfoo.yaml beside it. Its `config` are the options of `ask`; the key is that of the environment.
import { ask } from 'gmn';

// biome-ignore lint/style/noDefaultExport: promptfoo asks for it
export default class GmnProvider {
  constructor({ id, config } = {}) {
    this.name = id ?? 'gmn';
    this.config = config ?? {};
  }

  id() {
    return this.name;
  }

  async callApi(prompt, _context, { abortSignal } = {}) {
    try {
      const turn = ask(prompt, { ...this.config, signal: abortSignal });
      const toolCalls = [];
      for await (const event of turn) {
        if (event.type === 'tool_call') toolCalls.push({ name: event.name, args: event.args });
      }
      const { text, json, usage, cost, model, finishReason } = await turn;
      return {
        output: json ?? text,
        cost,
        cached: false,
        tokenUsage: {
          total: usage.totalTokenCount,
          prompt: usage.promptTokenCount,
          completion: usage.candidatesTokenCount,
          cached: usage.cachedContentTokenCount,
        },
        metadata: { model, finishReason, toolCalls },
      };
    } catch (error) {
      return { error: [error.message, error.hint].filter(Boolean).join('. ') };
    }
  }
}
