import { PLAIN_BUILT_IN } from '../../../models/table.ts';
import { checkedModel } from '../model-name.ts';
import { serverTool } from '../tool.ts';
import { answerTo } from '../turn.ts';
import { metadataOf } from './genai.ts';
import { imageOf } from './image.ts';
import { plainFailure, plainResult } from './results.ts';

/** One question about one picture. */
export const analyzeImage = serverTool({
  name: 'analyze_image',
  title: 'Analyze an image with Gemini',
  description:
    'Answer a question about an image: imagePath (a file inside a root of this server), imageUrl (https) or imageBase64.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: {
    properties: {
      prompt: { type: 'string', description: 'What to find out about the image.' },
      imagePath: { type: 'string', description: 'The path of an image file, absolute or below the first root.' },
      imageUrl: { type: 'string', description: 'The https address of an image.' },
      imageBase64: { type: 'string', description: 'The image itself, in base64.' },
      mimeType: { type: 'string', description: 'What imageBase64 is, e.g. image/png; found out if it is not given.' },
      model: { type: 'string', description: 'Model id or alias.', default: PLAIN_BUILT_IN.id },
      mediaResolution: {
        type: 'string',
        description: 'How closely to look; more costs more tokens.',
        enum: ['media_resolution_low', 'media_resolution_medium', 'media_resolution_high'],
        default: 'media_resolution_medium',
      },
    },
    required: ['prompt'],
  },
  fail: plainFailure,
  async run(args, { host, progress, signal }) {
    const { prompt, model, mediaResolution = 'media_resolution_medium' } = args;
    checkedModel(model);
    const engine = await host.engine();
    return host.gate.pass(signal, async () => {
      progress.say('reading the image');
      const image = await imageOf(args, { roots: host.roots, engine, signal });
      const answer = await host.conversations.turn(undefined, (history) =>
        answerTo(
          engine,
          {
            prompt: { role: 'user', parts: [{ inlineData: image }, { text: prompt }] },
            model,
            builtIn: PLAIN_BUILT_IN,
            kept: { kind: 'history', history },
            generationConfig: { mediaResolution: mediaResolution.toUpperCase() },
            signal,
          },
          { progress },
        ),
      );
      return plainResult(host.pages, { text: answer.text, notices: answer.notices, metadata: metadataOf(answer) });
    });
  },
});
