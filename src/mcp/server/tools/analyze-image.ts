import { AppError } from '../../../core/error.ts';
import type { ArgumentsOf } from '../../../core/schema.ts';
import { sniffMedia } from '../../../core/text/media.ts';
import { PLAIN_BUILT_IN } from '../../../models/table.ts';
import { readBytes } from '../../../platform/files/read.ts';
import type { Engine } from '../engine.ts';
import type { Roots } from '../roots.ts';
import { checkModelName, PLAIN_MODEL, serverTool } from '../tool.ts';
import { collectAnswer } from '../turn.ts';
import { plainFailure, plainResult, toMetadata } from './results.ts';

const INPUT = {
  properties: {
    prompt: { type: 'string', description: 'What to find out about the image.' },
    imagePath: { type: 'string', description: 'The path of an image file, absolute or below the first root.' },
    imageUrl: { type: 'string', description: 'The https address of an image.' },
    imageBase64: { type: 'string', description: 'The image itself, in base64.' },
    mimeType: { type: 'string', description: 'What imageBase64 is, e.g. image/png; found out if it is not given.' },
    model: PLAIN_MODEL,
    mediaResolution: {
      type: 'string',
      description: 'How closely to look; more costs more tokens.',
      enum: ['media_resolution_low', 'media_resolution_medium', 'media_resolution_high'],
      default: 'media_resolution_medium',
    },
  },
  required: ['prompt'],
} as const;

export const analyzeImage = serverTool({
  name: 'analyze_image',
  title: 'Analyze an image with Gemini',
  description:
    'Answer a question about an image: imagePath (a file inside a root of this server), imageUrl (https) or imageBase64.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: INPUT,
  fail: plainFailure,
  async run(args, { host, progress, signal }) {
    const { prompt, model, mediaResolution = 'media_resolution_medium' } = args;
    checkModelName(model);
    const engine = await host.engine();
    const describe = async () => {
      progress.report('reading the image');
      const image = await readImage(args, { roots: host.roots, engine, signal });
      const answer = await host.conversations.runTurn(undefined, { model }, (history, setup) =>
        collectAnswer(
          engine,
          {
            prompt: { role: 'user', parts: [{ inlineData: image }, { text: prompt }] },
            ...setup,
            builtIn: PLAIN_BUILT_IN,
            storage: { kind: 'history', history },
            generationConfig: { mediaResolution: mediaResolution.toUpperCase() },
            signal,
          },
          { progress },
        ),
      );
      const { text, notices } = answer;
      return plainResult(host.pages, { text, notices, metadata: await toMetadata(answer, engine) });
    };
    return host.queue.run(describe, { signal });
  },
});

const MAX_BYTES = 20_000_000;

const TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/heic', 'image/heif'];

type ImageArguments = ArgumentsOf<typeof INPUT>;

interface ImageContext {
  readonly roots: Roots;
  readonly engine: Engine;
  readonly signal: AbortSignal;
}

/** The type is that of the bytes. Throws AppError `usage`, and `api` if it cannot be fetched. */
async function readImage(
  args: ImageArguments,
  context: ImageContext,
): Promise<{ readonly mimeType: string; readonly data: string }> {
  const { imagePath, imageUrl, imageBase64 } = args;
  const ways = [imagePath, imageUrl, imageBase64].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw imageError('give the image in exactly one way', 'Use one of imagePath, imageUrl and imageBase64.');
  }
  const bytes = await readImageBytes(args, context);
  const mimeType = sniffMedia(bytes, imagePath ?? '');
  if (mimeType === undefined || !TYPES.includes(mimeType)) {
    throw imageError(
      `this is not an image that Gemini accepts${mimeType ? `, but ${mimeType}` : ''}`,
      `It takes ${TYPES.join(', ')}.`,
    );
  }
  if (args.mimeType !== undefined && imageBase64 !== undefined && args.mimeType.toLowerCase() !== mimeType) {
    throw imageError(
      `mimeType says ${args.mimeType.slice(0, 60)}, but the image is ${mimeType}`,
      'Leave mimeType out.',
    );
  }
  return { mimeType, data: Buffer.from(bytes).toString('base64') };
}

async function readImageBytes(
  { imagePath: name, imageUrl, imageBase64 }: ImageArguments,
  context: ImageContext,
): Promise<Uint8Array> {
  if (imageUrl !== undefined) return fetchImage(imageUrl, context);
  if (name === undefined) return decodeImage(imageBase64 ?? '');
  const limits = { maxBytes: MAX_BYTES, tooLarge: imageTooLargeError, links: 'never' } as const;
  return readBytes(context.roots.requireFile(name), { name, ...limits });
}

async function fetchImage(url: string, { engine, signal }: ImageContext): Promise<Uint8Array> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:')
    throw imageError('imageUrl must be an https address', 'Example: https://…/photo.png');
  const bytes = await engine.fetchBytes(parsed, signal);
  if (bytes.length > MAX_BYTES) throw imageTooLargeError();
  return bytes;
}

function decodeImage(text: string): Uint8Array {
  const base64 = text.replace(/^data:[\w/+.-]+;base64,/, '').replace(/\s+/g, '');
  if (base64 === '' || !/^[\w+/-]+={0,2}$/.test(base64))
    throw imageError('imageBase64 is not base64', 'Send the bytes.');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > MAX_BYTES) throw imageTooLargeError();
  return bytes;
}

function imageTooLargeError(): AppError {
  return imageError('the image is larger than 20 MB', 'Send a smaller one.');
}

function imageError(message: string, hint: string): AppError {
  return new AppError('usage', message, { hint });
}
