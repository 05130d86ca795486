import type { KeptContent, Part } from '../core/content.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import { modelFacts } from '../models/table.ts';
import type { Chat } from './chat.ts';

/** The share of the window from which the user is warned. */
const NOTICE_SHARE = 0.8;

interface WindowShare {
  readonly what: string;
  readonly tokens: number;
}

/** The warning that the window is nearly full; undefined while it is not, or if its size is unknown. */
export function windowNotice({ tally: { windowTokens }, assistant }: Chat): string | undefined {
  const limit = windowLimit(assistant.agent.request.model);
  if (limit === undefined || windowTokens === undefined || windowTokens < limit * NOTICE_SHARE) return undefined;
  return `${percent(windowTokens, limit)} of the model's window is full. /compress makes a summary and goes on from there.`;
}

/** The input limit of a model in tokens; undefined if gmn does not know the model. */
export function windowLimit(model: string): number | undefined {
  return modelFacts(model)?.inputLimit;
}

/** `81 %`, `0.3 %` */
export function percent(tokens: number, limit: number): string {
  const share = (tokens / limit) * 100;
  return `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

export type Windowed = Pick<Chat, 'assistant'> & { readonly session: Pick<Chat['session'], 'contents'> };

/** What the next request will contain, estimated at four characters of plain text per token. */
export function windowShares({ session, assistant: { agent } }: Windowed): readonly WindowShare[] {
  const declared = agent.tools.map(({ name, description, input }) => JSON.stringify({ name, description, input }));
  const system = agent.request.systemInstruction;
  const parts = (matches: (content: KeptContent, part: Part) => boolean): number =>
    session.contents.reduce(
      (sum, content) => sum + tokensIn(content.parts.filter((part) => matches(content, part))),
      0,
    );
  const shares = [
    { what: 'system instruction', tokens: system === undefined ? 0 : tokensIn(system.parts) },
    { what: `${agent.tools.length} tools`, tokens: estimateTokens(declared.join('')) },
    { what: 'your prompts', tokens: parts(({ role }, part) => role === 'user' && 'text' in part) },
    { what: 'replies', tokens: parts(({ role }, part) => role === 'model' && 'text' in part && part.thought !== true) },
    { what: 'tool calls and their answers', tokens: parts((_, part) => isTool(part)) },
    { what: 'attachments', tokens: parts((_, part) => 'inlineData' in part) },
  ];
  return shares.filter(({ tokens }) => tokens > 0);
}

function isTool(part: Part): boolean {
  return 'functionCall' in part || 'functionResponse' in part;
}

function tokensIn(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + tokensOf(part), 0);
}

function tokensOf(part: Part): number {
  if ('inlineData' in part) return MEDIA_TOKENS;
  return estimateTokens('text' in part ? part.text : JSON.stringify(part));
}
