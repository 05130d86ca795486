import { isAbsolute, resolve } from 'node:path';
import type { MediaPart } from '../core/content.ts';
import { type JsonObject, toNonEmptyString } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
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
    name,
    kind: findKind(tool),
    status: 'pending',
    rawInput: args,
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
  const line = sanitize(command.trim());
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).toWellFormed()}…` : line;
}

function findLocations(args: JsonObject, tool: Tool | undefined, cwd: string): ToolCallLocation[] {
  const path = tool?.effect === 'execute' ? undefined : tool?.findPath?.(args);
  if (path === undefined || path.includes('\0')) return [];
  const { start_line: line } = args;
  const isLine = typeof line === 'number' && Number.isInteger(line) && line > 0 && line <= MAX_LINE;
  return [{ path: isAbsolute(path) ? path : resolve(cwd, path), ...(isLine ? { line } : {}) }];
}

/** What a person is asked to approve. */
export function toPreviewContent(preview: Preview): ToolCallContent[] {
  switch (preview.kind) {
    case 'diff':
      return preview.texts === undefined ? [toTextContent(preview.diff)] : [toDiff(preview.texts)];
    case 'command': {
      const where = `${preview.command}\n\nin ${preview.directory}${preview.isBackground ? ', in the background' : ''}`;
      return [toTextContent(where)];
    }
    case 'text':
      return [toTextContent(preview.text)];
  }
}

export function toDiff({ path, before, after }: FileTexts): ToolCallContent {
  return { type: 'diff', path, oldText: before ?? null, newText: after };
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
  return toContent({ type: 'text', text: shown });
}

function toContent(content: ContentBlock): ToolCallContent {
  return { type: 'content', content };
}
