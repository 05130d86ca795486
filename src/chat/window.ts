import type { Part, StoredContent } from '../core/content.ts';
import { sanitize } from '../core/text/terminal.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import { findModelFacts } from '../models/table.ts';
import { describeMode } from './banner.ts';
import type { Chat } from './chat.ts';

const NOTICE_SHARE = 0.8;

interface WindowShare {
  readonly what: string;
  readonly tokens: number;
}

/**
 * `gemini-2.5-flash · edits ask first · 97 % of the window left · 2 attached`: what the next prompt will meet. Before the
 * first reply, the room is estimated.
 */
export function formatStatus(chat: Chat): string {
  const { assistant, stats, files, notes, pictures } = chat;
  const { model } = assistant.agent.request;
  const limit = findWindowLimit(model);
  const attached = files.length + notes.length + pictures.length;
  return [
    sanitize(model),
    assistant.tools.length === 0 ? 'no tools' : describeMode(assistant.setup.mode),
    ...(limit === undefined
      ? []
      : [`${formatRoom(stats.windowTokens ?? estimateSize(chat), limit)} of the window left`]),
    ...(attached === 0 ? [] : [`${attached} attached`]),
  ].join(' · ');
}

function formatRoom(tokens: number, limit: number): string {
  return `${Math.round(Math.max(0, 1 - tokens / limit) * 100)} %`;
}

export function windowNotice({ stats: { windowTokens }, assistant }: Chat): string | undefined {
  const limit = findWindowLimit(assistant.agent.request.model);
  if (limit === undefined || windowTokens === undefined || windowTokens < limit * NOTICE_SHARE) return undefined;
  return `${formatPercent(windowTokens, limit)} of the model's window is full. /compress replaces the conversation with a summary.`;
}

export function findWindowLimit(model: string): number | undefined {
  return findModelFacts(model)?.inputLimit;
}

/** `81 %`, `0.3 %` */
export function formatPercent(tokens: number, limit: number): string {
  const share = (tokens / limit) * 100;
  return `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

export type WindowContents = Pick<Chat, 'assistant'> & { readonly session: Pick<Chat['session'], 'contents'> };

/** What the next request will contain, estimated at four characters of plain text per token. */
export function estimateShares({ session, assistant: { agent } }: WindowContents): readonly WindowShare[] {
  const declared = agent.tools.map(({ name, description, input }) => JSON.stringify({ name, description, input }));
  const system = agent.request.systemInstruction;
  const parts = (matches: (content: StoredContent, part: Part) => boolean): number =>
    session.contents.reduce(
      (sum, content) => sum + estimateParts(content.parts.filter((part) => matches(content, part))),
      0,
    );
  const shares = [
    { what: 'system instruction', tokens: system === undefined ? 0 : estimateParts(system.parts) },
    { what: `${agent.tools.length} tools`, tokens: estimateTokens(declared.join('')) },
    { what: 'your prompts', tokens: parts(({ role }, part) => role === 'user' && 'text' in part) },
    { what: 'replies', tokens: parts(({ role }, part) => role === 'model' && 'text' in part && part.thought !== true) },
    { what: 'tool calls and their answers', tokens: parts((_, part) => isToolPart(part)) },
    { what: 'attachments', tokens: parts((_, part) => 'inlineData' in part) },
  ];
  return shares.filter(({ tokens }) => tokens > 0);
}

/** In tokens. */
export function estimateSize(contents: WindowContents): number {
  return estimateShares(contents).reduce((sum, { tokens }) => sum + tokens, 0);
}

function isToolPart(part: Part): boolean {
  return 'functionCall' in part || 'functionResponse' in part;
}

function estimateParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: Part): number {
  if ('inlineData' in part) return MEDIA_TOKENS;
  return estimateTokens('text' in part ? part.text : JSON.stringify(part));
}
