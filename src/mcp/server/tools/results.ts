import type { AppError } from '../../../core/error.ts';
import type { AnswerFile } from '../../../core/event.ts';
import { type JsonObject, omitEmpty, omitUndefined } from '../../../core/json.ts';
import { formatSize } from '../../../core/text/format.ts';
import { countBase64Bytes } from '../../../core/text/media.ts';
import type { Engine } from '../engine.ts';
import { formatFailure } from '../errors.ts';
import type { Pages } from '../pages.ts';
import type { CallResult } from '../tool.ts';
import type { Answer } from '../turn.ts';

export function plainFailure(error: AppError): CallResult {
  return { content: [{ type: 'text', text: formatFailure(error) }], isError: true };
}

interface PlainAnswer {
  readonly text: string;
  readonly files?: readonly AnswerFile[];
  readonly refused?: readonly string[];
  readonly notices?: readonly string[];
  readonly metadata?: JsonObject;
  readonly meta?: JsonObject;
}

export function plainResult(
  pages: Pages,
  { text, files = [], refused = [], notices: given = [], metadata, meta = {} }: PlainAnswer,
): CallResult {
  const { text: first, next } = pages.split(text);
  const { blocks, omitted } = toBlocks(files);
  const notices = omitted.length === 0 ? given : [...given, describeOmitted(omitted)];
  const own = { refused: omitEmpty(refused), notices: omitEmpty(notices), next };
  const _meta = { ...meta, ...metadata, ...omitUndefined(own) };
  const notes = [...formatNext({ next }), ...formatNotices({ refused, notices })].map(
    (note) => ({ type: 'text', text: note }) as const,
  );
  return {
    content: [
      ...(first === '' && blocks.length > 0 ? [] : [{ type: 'text', text: first } as const]),
      ...blocks,
      ...notes,
    ],
    metadata,
    _meta: Object.keys(_meta).length === 0 ? undefined : _meta,
  };
}

/** In base64 digits, for all files of an answer: a message must stay readable for the client. */
const MAX_MEDIA = 20_000_000;

type MediaBlock = Exclude<CallResult['content'][number], { type: 'text' }>;

interface MediaBlocks {
  readonly blocks: readonly MediaBlock[];
  readonly omitted: readonly AnswerFile[];
}

function toBlocks(files: readonly AnswerFile[]): MediaBlocks {
  const blocks: MediaBlock[] = [];
  const omitted: AnswerFile[] = [];
  let length = 0;
  for (const file of files) {
    const { mimeType, data } = file;
    const [, type] = /^(image|audio)\//.exec(mimeType) ?? [];
    length += data.length;
    if (type === undefined || length > MAX_MEDIA) omitted.push(file);
    else blocks.push({ type: type === 'image' ? 'image' : 'audio', data, mimeType });
  }
  return { blocks, omitted };
}

export function describeOmitted(files: readonly AnswerFile[]): string {
  const kinds = files.map(({ mimeType, data }) => `${mimeType}, ${formatSize(countBase64Bytes(data))}`).join('; ');
  return `The answer also has files that are not in this result: ${kinds}`;
}

export function formatNext({ next }: { readonly next?: string }): readonly string[] {
  return next === undefined ? [] : [`The answer continues in the resource ${next}`];
}

export function formatNotices({
  refused = [],
  notices = [],
}: Pick<PlainAnswer, 'refused' | 'notices'>): readonly string[] {
  return [...formatBullets('Note:', notices), ...formatBullets('Refused by this server:', refused)];
}

function formatBullets(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.map((line) => `- ${line}`).join('\n')}`];
}

export async function toMetadata(
  { model, usage, cost, finishReason, sources }: Answer,
  { computeFlashCost }: Pick<Engine, 'computeFlashCost'>,
): Promise<JsonObject> {
  const { totalTokenCount } = usage;
  return {
    model,
    tokensUsed: totalTokenCount,
    finishReason,
    usage: { ...usage },
    cost,
    costWithFlash: cost === undefined ? undefined : await computeFlashCost(usage),
    grounding: sources && { sources: sources.map((source) => ({ ...source })) },
  };
}
