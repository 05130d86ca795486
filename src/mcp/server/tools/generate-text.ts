import type { JsonObject } from '../../../core/json.ts';
import { THINKING_LEVELS } from '../../../core/model.ts';
import { PLAIN_BUILT_IN } from '../../../models/table.ts';
import { checkModelName, PLAIN_MODEL, serverTool } from '../tool.ts';
import { collectAnswer } from '../turn.ts';
import { plainFailure, plainResult, toMetadata } from './results.ts';

export const generateText = serverTool({
  name: 'generate_text',
  title: 'Generate text with Gemini',
  description:
    'One answer from a Gemini model, with full control of sampling, JSON output, search grounding and thinking. ' +
    'No files are read and nothing is saved; conversationId continues an earlier call of this server process.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: {
    properties: {
      prompt: { type: 'string', description: 'What to answer.' },
      model: PLAIN_MODEL,
      systemInstruction: { type: 'string', description: 'How the model should behave.' },
      temperature: { type: 'number', description: 'Randomness, 0 to 2.', default: 1, minimum: 0, maximum: 2 },
      maxTokens: { type: 'integer', description: 'The most output tokens.', minimum: 1 },
      topK: { type: 'integer', description: 'Sample from the k most likely tokens.', minimum: 0 },
      topP: { type: 'number', description: 'Sample from this share of probability.', minimum: 0, maximum: 1 },
      jsonMode: { type: 'boolean', description: 'Answer with JSON.', default: false },
      jsonSchema: { type: 'object', description: 'JSON Schema of the answer; implies jsonMode.' },
      grounding: { type: 'boolean', description: 'Ground the answer in Google Search.', default: false },
      safetySettings: {
        type: 'array',
        description: 'Safety filters: a list of { category, threshold }.',
        items: { type: 'object' },
      },
      thinkingLevel: {
        type: 'string',
        description: 'How hard to think; which levels there are depends on the model.',
        enum: THINKING_LEVELS,
      },
      conversationId: {
        type: 'string',
        description: 'Any name: calls with the same one are one conversation, which keeps its model and instruction.',
      },
    },
    required: ['prompt'],
  },
  fail: plainFailure,
  async run(args, { host, progress, signal }) {
    const { prompt, model, systemInstruction, safetySettings, conversationId, grounding } = args;
    const { temperature, topK, topP, maxTokens: maxOutputTokens, thinkingLevel } = args;
    checkModelName(model);
    const engine = await host.engine();
    const turn = {
      prompt: { role: 'user', parts: [{ text: prompt }] },
      builtIn: PLAIN_BUILT_IN,
      sampling: { temperature, topK, topP, maxOutputTokens, thinkingLevel },
      generationConfig: toResponseFormat(args),
      safetySettings,
      isGrounded: grounding ?? false,
      signal,
    } as const;
    const answer = await host.queue.run(
      () =>
        host.conversations.runTurn(conversationId, { model, systemText: systemInstruction }, (history, setup) =>
          collectAnswer(engine, { ...turn, ...setup, storage: { kind: 'history', history } }, { progress }),
        ),
      { signal, key: conversationId && `conversation ${conversationId}` },
    );
    return plainResult(host.pages, {
      text: answer.text,
      files: answer.files,
      notices: answer.notices,
      metadata: { ...(await toMetadata(answer, engine)), conversationId },
    });
  },
});

function toResponseFormat(args: { readonly jsonMode?: boolean; readonly jsonSchema?: JsonObject }): JsonObject {
  const { jsonMode, jsonSchema } = args;
  if (jsonSchema !== undefined) return { responseMimeType: 'application/json', responseJsonSchema: jsonSchema };
  return jsonMode ? { responseMimeType: 'application/json' } : {};
}
