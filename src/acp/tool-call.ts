import { isAbsolute, resolve } from 'node:path';
import { escapeText, escapeValue, markBlanks, questionView } from '../approval/view.ts';
import type { MediaPart } from '../core/content.ts';
import { type JsonObject, toNonEmptyString } from '../core/json.ts';
import { formatCodeBlock } from '../core/text/code-block.ts';
import { formatCount } from '../core/text/format.ts';
import { sanitize, stripControls } from '../core/text/terminal.ts';
import type { Effect, FileTexts, Preview, Tool, ToolResult } from '../core/tool.ts';
import { formatCall } from '../render/tool-line.ts';
import type { ContentBlock, ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from './sdk.ts';

const KINDS: Readonly<Record<Effect, ToolKind>> = {
  read: 'read',
  write: 'edit',
  execute: 'execute',
  network: 'fetch',
};

const MAX_TITLE = 200;
/** The protocol has 32 bits for it. */
const MAX_LINE = 0xffffffff;
/** An editor gets the rest of a long output from the tool call's raw output, and the model from a file. */
const MAX_TEXT = 40_000;

export type FindTool = (name: string) => Tool | undefined;

export interface CallFacts {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** Absent if there is no such tool. */
  readonly tool?: Tool | undefined;
  readonly cwd: string;
}

export function toToolCall({ id, name, args, tool, cwd }: CallFacts): ToolCall {
  return {
    toolCallId: id,
    title: formatCallTitle(name, args, tool),
    name: sanitize(name),
    kind: findKind(tool),
    status: 'pending',
    rawInput: escapeValue(args),
    locations: findLocations(args, tool, cwd),
  };
}

function findKind(tool: Tool | undefined): ToolKind {
  if (tool === undefined || tool.remote !== undefined) return 'other';
  return tool.isSearch ? 'search' : KINDS[tool.effect];
}

/** A command is its own title: editors show it as one. */
function formatCallTitle(name: string, args: JsonObject, tool: Tool | undefined): string {
  const command = tool?.findCommand?.(args)?.command;
  if (command === undefined) return formatCall(name, args);
  const line = sanitize(markBlanks(command.trim()));
  if (line.length <= MAX_TITLE) return line;
  // Nothing can hide at the end behind a long beginning.
  const half = MAX_TITLE / 2 - 2;
  return `${line.slice(0, half).toWellFormed()} … ${line.slice(-half).toWellFormed()}`;
}

function findLocations(args: JsonObject, tool: Tool | undefined, cwd: string): ToolCallLocation[] {
  const path = tool?.effect === 'execute' ? undefined : tool?.findPath?.(args);
  // A path that cannot be shown is not one to open.
  if (path === undefined || sanitize(path) !== path) return [];
  const { start_line: line } = args;
  const isLine = typeof line === 'number' && Number.isInteger(line) && line > 0 && line <= MAX_LINE;
  return [{ path: isAbsolute(path) ? path : resolve(cwd, path), line: isLine ? line : undefined }];
}

/** What a question shows, and whether that is all of it. */
interface QuestionContent {
  readonly content: ToolCallContent[];
  readonly isWhole: boolean;
}

/** Editors break lines as they like: rows that are short enough for any of them show which ones belong together. */
const COLUMNS = 80;

/** As a block of code, because editors show text as Markdown, in which much can hide. */
export async function toQuestionContent(
  name: string,
  preview: Preview,
  { notes, pause }: { readonly notes: readonly string[]; readonly pause: () => Promise<void> },
): Promise<QuestionContent> {
  const view = await questionView(name, preview, { columns: COLUMNS, isStyled: false, pause });
  const toBlock = (rows: readonly string[]): ToolCallContent =>
    toContent({ type: 'text', text: formatCodeBlock([...notes, ...rows].join('\n')) });
  if (preview.kind === 'diff' && preview.texts !== undefined) {
    const diff = toDiff(preview.texts);
    // The first row is the title of the call.
    const isPlain = notes.length === 0 && view.title.length === 1;
    return { content: isPlain ? [diff] : [toBlock(view.title), diff], isWhole: true };
  }
  const rows = [...view.title, ...view.body];
  const text = rows.join('\n');
  if (text.length <= MAX_TEXT) return { content: [toBlock(rows)], isWhole: true };
  const ends = [text.slice(0, MAX_TEXT / 2), '┆ …', text.slice(-MAX_TEXT / 2)].map((end) => end.toWellFormed());
  const why = `This is too long to be shown whole (${formatCount(text.length)} characters), so it cannot be allowed here: ask for smaller steps, or use gmn chat in a terminal.`;
  return { content: [toContent({ type: 'text', text: why }), toBlock(ends)], isWhole: false };
}

/** For the editor's own diff. The line ends count where they change. */
export function toDiff({ path, before, after }: FileTexts): ToolCallContent {
  const hasFeeds = [before ?? '', after].every((text) => !/(?<!\r)\n/.test(text));
  const show = (text: string): string => escapeText(hasFeeds ? text.replaceAll('\r\n', '\n') : text);
  return {
    type: 'diff',
    path: sanitize(path),
    oldText: before === undefined ? null : show(before),
    newText: show(after),
  };
}

export function toResultContent({ ok, response, media = [] }: ToolResult): ToolCallContent[] {
  const text = toNonEmptyString(ok ? response.output : response.error) ?? JSON.stringify(response, null, 2);
  return [toTextContent(text), ...media.map(({ inlineData }) => toContent(toMediaBlock(inlineData)))];
}

/** What the protocol has no block for is named. */
export function toMediaBlock({ mimeType, data }: MediaPart['inlineData'], name = mimeType): ContentBlock {
  if (mimeType.startsWith('image/')) return { type: 'image', mimeType, data };
  if (mimeType.startsWith('audio/')) return { type: 'audio', mimeType, data };
  return { type: 'text', text: `[${name}]` };
}

export function toTextContent(text: string): ToolCallContent {
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}\n…` : text;
  return toContent({ type: 'text', text: stripControls(shown) });
}

function toContent(content: ContentBlock): ToolCallContent {
  return { type: 'content', content };
}
