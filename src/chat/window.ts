import { describeCompactions, estimateContent, listSent, mergeCompactions } from '../agent/compacted.ts';
import type { Part, StoredContent } from '../core/content.ts';
import type { Session } from '../core/session.ts';
import { formatDollars, plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { measureWidth } from '../core/text/width.ts';
import { estimateTokens } from '../core/usage.ts';
import type { RunFacts } from '../engine/run.ts';
import { findPromptWindow } from '../models/table.ts';
import { clipText } from '../render/spinner.ts';
import { describeApproval } from './approval-modes.ts';
import type { Chat } from './chat.ts';
import type { FitStatus } from './line/source.ts';

const NOTICE_SHARE = 0.8;

interface WindowShare {
  readonly what: string;
  readonly tokens: number;
}

/**
 * `gemini-2.5-flash · edits ask first · 97 % of the window left · $0.0042 · 2 attached · 1 note · 1 running`: what the next prompt starts from.
 * Before the first reply, the room is estimated and there is no cost. A narrow window drops the least important items;
 * only the model, which stays, is ever cut.
 */
export function formatStatus({ run, conversation, attached, stats }: Chat): FitStatus {
  const { facts } = run;
  const { model } = facts.agent.request;
  const limit = findWindowLimit(facts);
  const { session, windowTokens } = conversation;
  const room = limit && `${formatRoom(windowTokens ?? estimateSize(session, facts), limit)} of the window left`;
  const count = attached.files.length + attached.pictures.length;
  const { length: notes } = attached.notes;
  const running = run.background?.list().filter(({ ending }) => ending === undefined).length ?? 0;
  const items = {
    model: sanitize(model),
    mode: describeApproval(run),
    room: room || '',
    cost: stats.cost === undefined ? '' : formatDollars(stats.cost),
    attached: count === 0 ? '' : `${count} attached`,
    notes: notes === 0 ? '' : plural(notes, 'note'),
    running: running === 0 ? '' : `${running} running`,
  };
  return (columns) => fitStatus(items, columns);
}

/** The first is dropped first. */
const DROPPED = ['cost', 'room', 'notes', 'attached', 'running', 'mode'] as const;

function fitStatus(items: Readonly<Record<'model' | (typeof DROPPED)[number], string>>, columns: number): string {
  const kept = new Map(Object.entries(items).filter(([, text]) => text !== ''));
  for (const name of ['', ...DROPPED]) {
    kept.delete(name);
    const line = [...kept.values()].join(' · ');
    if (measureWidth(line) <= columns) return line;
  }
  return clipText(items.model, columns);
}

function formatRoom(tokens: number, limit: number): string {
  return `${Math.round(Math.max(0, 1 - tokens / limit) * 100)} %`;
}

/** Says nothing if gmn compacts the conversation by itself. */
export async function warnIfWindowFull({ conversation: { windowTokens }, run: { facts }, view }: Chat): Promise<void> {
  const limit = facts.agent.compaction === undefined ? findWindowLimit(facts) : undefined;
  if (limit === undefined || windowTokens === undefined || windowTokens < limit * NOTICE_SHARE) return;
  const share = formatPercent(windowTokens, limit);
  await view.showNotice(`${share} of the model's window is full. /compress replaces the conversation with a summary.`);
}

export function findWindowLimit({ agent }: Pick<RunFacts, 'agent'>): number | undefined {
  return agent.compaction?.windowTokens ?? findPromptWindow(agent.request.model);
}

export function formatPercent(tokens: number, limit: number): string {
  const share = (tokens / limit) * 100;
  return `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

type Said = Pick<Session, 'contents' | 'compactions'>;

/** What the next request will contain, estimated at four characters of plain text per token. */
export function estimateShares(session: Said, { agent, contextText }: RunFacts): readonly WindowShare[] {
  const declared = agent.tools.map(({ name, description, input }) => JSON.stringify({ name, description, input }));
  const system = agent.request.systemInstruction;
  const sent = listSent(session);
  const { summary } = mergeCompactions(session.compactions);
  const added = sent.length - (session.contents.length - (summary?.end ?? 0));
  const kept = sent.slice(added);
  const sumParts = (matches: (content: StoredContent, part: Part) => boolean): number =>
    kept.reduce(
      (sum, content) => sum + estimateContent({ parts: content.parts.filter((part) => matches(content, part)) }),
      0,
    );
  const context = estimateTokens(contextText);
  const shares = [
    {
      what: 'system instruction',
      tokens: system === undefined ? 0 : Math.max(0, estimateContent(system) - context),
    },
    { what: 'context files', tokens: context },
    { what: `${agent.tools.length} tools`, tokens: estimateTokens(declared.join('')) },
    {
      what: 'summary of older messages',
      tokens: sent.slice(0, added).reduce((sum, content) => sum + estimateContent(content), 0),
    },
    { what: 'your prompts', tokens: sumParts(({ role }, part) => role === 'user' && 'text' in part) },
    {
      what: 'replies',
      tokens: sumParts(({ role }, part) => role === 'model' && 'text' in part && part.thought !== true),
    },
    { what: 'tool calls', tokens: sumParts((_, part) => 'functionCall' in part) },
    { what: 'tool output', tokens: sumParts((_, part) => 'functionResponse' in part) },
    { what: 'attachments', tokens: sumParts((_, part) => 'inlineData' in part || 'fileData' in part) },
  ];
  return shares.filter(({ tokens }) => tokens > 0);
}

/** In tokens. */
export function estimateSize(session: Said, facts: RunFacts): number {
  return estimateShares(session, facts).reduce((sum, { tokens }) => sum + tokens, 0);
}

export function describeWindow({ compactions }: Said): string | undefined {
  return describeCompactions(compactions);
}
