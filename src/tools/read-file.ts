import { createSerial } from '../core/async.ts';
import type { MediaPart } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { formatSize, plural } from '../core/text/format.ts';
import { sniffMedia } from '../core/text/media.ts';
import { READ_TOOL, type ToolResult, UNTRUSTED } from '../core/tool.ts';
import type { OpenedFile } from '../platform/files/regular-file.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';
import { rejectExcluded } from './tree.ts';
import type { Place } from './workspace/fence.ts';
import { type LineWindow, readWindow, selectLines, type WantedLines } from './workspace/line-window.ts';
import { ALL_SHOWN, MAX_FILE_BYTES, type ShownLines } from './workspace/workspace.ts';

/** Base64 adds a third, and one request holds 20 MB. */
const MAX_MEDIA_BYTES = 14_000_000;
const HEAD_BYTES = 8192;
/** Larger files are read one at a time, however many calls run at once, to bound memory. */
const MAX_SHARED_BYTES = 1_000_000;

export const readFile = defineTool({
  name: READ_TOOL,
  classNames: ['ReadFileTool'],
  claudeNames: ['Read'],
  set: 'read',
  about: 'reads text by lines, attaches images, PDF, audio and video',
  description:
    'Reads a file. Text comes back as it is, up to 2000 lines at a time; if there is more, a first line in brackets ' +
    'says how to continue. Images, PDF, audio and video are attached.',
  effect: 'read',
  target: 'file_path',
  input: {
    properties: {
      file_path: { type: 'string' },
      start_line: { type: 'integer', minimum: 1 },
      end_line: { type: 'integer', minimum: 1 },
      start_column: { type: 'integer', minimum: 1, description: 'Where to begin in a very long line.' },
    },
    required: ['file_path'],
  },
  aliases: { path: 'file_path', absolute_path: 'file_path' },
  handle: ({ workspace }: Pick<ToolContext, 'workspace'>) => {
    const oneByOne = createSerial();
    return {
      root: workspace.roots[0],
      async run({ file_path, start_line = 1, end_line, start_column = 1 }, signal) {
        if (end_line !== undefined && end_line < start_line) {
          throw new AppError('usage', 'end_line is before start_line', { hint: 'Swap them, or leave one out.' });
        }
        const { place, file } = await workspace.open(file_path);
        try {
          rejectExcluded(workspace, place);
          const wanted = { first: start_line, last: end_line, column: start_column };
          if (file.size > MAX_FILE_BYTES) return markUntrusted(await readLarge(file, wanted, signal), place);
          const read = async (): Promise<ToolResult> => {
            signal.throwIfAborted();
            const bytes = await file.read(0, file.size);
            signal.throwIfAborted();
            const { result, shown } = toReading(place, bytes, wanted);
            workspace.remember(place, bytes, shown);
            return markUntrusted(result, place);
          };
          return await (file.size > MAX_SHARED_BYTES ? oneByOne(read) : read());
        } finally {
          await file.close();
        }
      },
    };
  },
});

function markUntrusted(result: ToolResult, { isUntrusted }: Place): ToolResult {
  return isUntrusted ? { ...result, response: { ...result.response, ...UNTRUSTED } } : result;
}

async function readLarge(file: OpenedFile, wanted: WantedLines, signal: AbortSignal): Promise<ToolResult> {
  const head = Buffer.from(await file.read(0, HEAD_BYTES));
  if (head.includes(0)) return toBinaryResult(file.size);
  const window = await readWindow(file, wanted, signal);
  return succeed(formatWindow(window, wanted), plural(window.lines.length, 'line'));
}

interface Reading {
  readonly result: ToolResult;
  readonly shown: ShownLines;
}

function toReading(place: Place, bytes: Uint8Array, wanted: WantedLines): Reading {
  const mimeType = sniffMedia(bytes, place.name);
  if (mimeType !== undefined) return { result: toMediaResult(bytes, mimeType), shown: ALL_SHOWN };
  const decoded = decodeText(bytes);
  if (decoded.isText) return toTextReading(decoded.text, wanted);
  if (decoded.reason === 'nul') return { result: toBinaryResult(bytes.length), shown: ALL_SHOWN };
  const latin = new TextDecoder('windows-1252').decode(bytes);
  return toTextReading(latin, wanted, 'not valid Unicode, shown as Windows-1252; it cannot be edited');
}

function toTextReading(text: string, wanted: WantedLines, label?: string): Reading {
  const window = selectLines(text, wanted);
  const { first, lines, isCut, total } = window;
  const result = succeed(formatWindow(window, wanted, label), plural(lines.length, 'line'));
  const isPartial = isCut || wanted.column > 1;
  return { result, shown: { first, last: isPartial ? first - 1 : first + lines.length - 1, total } };
}

function toMediaResult(bytes: Uint8Array, mimeType: string): ToolResult {
  const what = `${mimeType}, ${formatSize(bytes.length)}`;
  if (bytes.length > MAX_MEDIA_BYTES) return succeed(`${what}: too large to be attached.`, 'too large');
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  const media: readonly MediaPart[] = [{ inlineData: { mimeType, data } }];
  return { ...succeed(`Attached: ${what}.`, what), media };
}

function toBinaryResult(bytes: number): ToolResult {
  const size = formatSize(bytes);
  return succeed(`It is a binary file of ${size} and cannot be shown.`, `binary, ${size}`);
}

function formatWindow(window: LineWindow, { column }: WantedLines, label = ''): string {
  const { lines, first, total } = window;
  const last = first + lines.length - 1;
  if (lines.length === 0 && (first > 1 || total === undefined)) {
    throw new AppError('usage', 'it has no such line', {
      hint: total === undefined ? 'Read it from an earlier line.' : `It has ${total} lines.`,
    });
  }
  if (column > 1 && lines.every((line) => line === '')) {
    throw new AppError('usage', 'no line that was asked for is that long', {
      hint: 'Leave start_column out to see how long they are.',
    });
  }
  const isWhole = first === 1 && last === total;
  const notes = [
    ...(isWhole ? [] : [`lines ${first} to ${last} of ${total ?? 'more'}`]),
    ...(last === total ? [] : [`to continue, set start_line to ${last + 1}`]),
    ...formatCutNotes(window, column),
    ...(label === '' ? [] : [label]),
  ];
  return `${notes.length === 0 ? '' : `[${notes.join('; ')}]\n`}${lines.join('\n')}`;
}

function formatCutNotes({ lines, isCut, lineLimit }: LineWindow, column: number): readonly string[] {
  if (!isCut) return [];
  if (lines.length === 1) return [`the line is cut; to continue in it, set start_column to ${column + lineLimit}`];
  return [`lines are cut after ${lineLimit} characters; to read one, set start_line and end_line to it`];
}
