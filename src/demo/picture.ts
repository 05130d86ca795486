import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import { crc32, storeZlib } from '../platform/runtime/zlib.ts';
import type { Answer } from './answer.ts';
import { hashHex } from './embed.ts';
import { type DemoRequest, joinPartTexts } from './request.ts';

/** Pixels of the shorter side: small, so that tests are fast, but different for each size. */
const SIDES: Readonly<Record<string, number>> = { '512': 32, '1K': 64, '2K': 128, '4K': 256 };

export function isPictureModel(model: string): boolean {
  return /-image(?:-|$)|nano-banana/.test(model);
}

/** With a caption if the prompt asks to describe it. Undefined if the model makes none, or the request wants text alone. */
export function findPictureAnswer(request: DemoRequest, sign: (call: JsonObject) => string): Answer | undefined {
  const { responseModalities, imageConfig } = request.generationConfig;
  const modes = Array.isArray(responseModalities) ? responseModalities.map(String) : ['TEXT', 'IMAGE'];
  if (!isPictureModel(request.model) || !modes.includes('IMAGE')) return undefined;
  const prompt = joinPartTexts(request.contents.at(-1)?.parts ?? []).trim();
  const earlier = request.contents.flatMap(({ parts }) => parts.map(({ inlineData }) => toJsonObject(inlineData).data));
  const data = drawPicture(`${prompt}\n${earlier.join('')}`, toJsonObject(imageConfig)).toString('base64');
  const picture = { inlineData: { mimeType: 'image/png', data }, thoughtSignature: sign(toPictureCall(data)) };
  const caption = `demo: a picture of ${prompt.split('\n')[0] ?? ''}`;
  const hasCaption = modes.includes('TEXT') && /\bdescribe\b/i.test(prompt);
  return { chunks: [...(hasCaption ? [{ parts: [{ text: caption }] }] : []), { parts: [picture] }] };
}

function toPictureCall(data: string): JsonObject {
  return { name: 'picture', args: { print: [1, 2, 3].map((seed) => hashHex(data, seed)).join('') } };
}

export function checkPictureRequest(
  request: DemoRequest,
  isValid: (call: JsonObject, signature: unknown) => boolean,
): string | undefined {
  if (!isPictureModel(request.model)) return undefined;
  for (const [index, { role, parts }] of request.contents.entries()) {
    for (const { inlineData, thoughtSignature } of role === 'model' ? parts : []) {
      if (!isObject(inlineData)) continue;
      if (thoughtSignature === undefined) return `contents[${index}]: Image part is missing a thought_signature.`;
      const call = toPictureCall(String(toJsonObject(inlineData).data));
      if (!isValid(call, thoughtSignature)) return `contents[${index}]: Thought signature is not valid: image part.`;
    }
  }
  return undefined;
}

export function drawPicture(seed: string, { aspectRatio, imageSize }: JsonObject = {}): Buffer {
  const [across = 1, down = 1] = /^\d{1,2}:\d{1,2}$/.test(String(aspectRatio))
    ? String(aspectRatio).split(':').map(Number)
    : [];
  const side = SIDES[String(imageSize)] ?? 64;
  const scale = side / Math.min(across, down);
  const [width, height] = [Math.round(across * scale), Math.round(down * scale)];
  const from = toColor(hashHex(seed, 1));
  const to = toColor(hashHex(seed, 2));
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const share = (x + y) / (width + height);
      for (const channel of [0, 1, 2] as const) {
        const value = from[channel] + (to[channel] - from[channel]) * share;
        rows[y * (width * 3 + 1) + 1 + x * 3 + channel] = Math.round(value);
      }
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [toChunk('IHDR', header), toChunk('IDAT', storeZlib(rows)), toChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([mark, ...chunks]);
}

function toColor(hex: string): readonly [number, number, number] {
  const [red = 0, green = 0, blue = 0] = Buffer.from(hex, 'hex');
  return [red, green, blue];
}

function toChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
