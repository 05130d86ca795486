import { isPrompt, isResponse, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Compaction, ConversationSummary, ShortenedOutput } from '../core/history.ts';
import { plural } from '../core/text/format.ts';
import { READ_TOOL } from '../core/tool.ts';
import { estimateTokens, NO_USAGE, type Usage } from '../core/usage.ts';
import type { Agent, CompactionPolicy, Turn } from './agent.ts';
import {
  applyCompactions,
  estimateContent,
  isToolResult,
  mergeCompactions,
  prepareEstimates,
  splitOutput,
} from './compacted.ts';
import { writeSummary } from './summary.ts';

export interface CountedRequest {
  readonly tokens: number;
  readonly sent: readonly StoredContent[];
}

interface NextRequest {
  readonly contents: readonly StoredContent[];
  readonly compactions: readonly Compaction[];
  readonly counted?: CountedRequest;
  readonly refusal?: AppError<'api'>;
}

export interface Room {
  /** Already in the history. */
  readonly made: readonly Compaction[];
  readonly usage: Usage;
}

export type MakeRoom = (next: NextRequest) => AsyncGenerator<TurnEvent, Room>;

/** Shares of what the limit leaves beside the system instruction and the tools. */
const SHARES = {
  /** A compaction goes down to this, so that the next one is far away: each invalidates the service's cache. */
  target: 0.7,
  /** The newest results that the model has seen. */
  seenOutput: 0.2,
  /** Results that it has not seen yet. */
  newOutput: 0.6,
  /** The last steps, which no summary replaces. */
  tail: 0.3,
  /** The current turn and the one before it, which is kept whole if both are no more than this. */
  lastTurns: 0.5,
  prompt: 0.2,
  summary: 0.1,
  /** Pointers are made only if they free this much. */
  batch: 0.1,
} as const;

/** The most tokens of seen results that are protected. */
const MAX_SEEN_TOKENS = 50_000;
/** A pointer in place of fewer tokens frees hardly anything. */
const MIN_OUTPUT_TOKENS = 200;
const NOTICE_SHARE = 0.8;
/** No request is planned to fill more of the window. */
const FULL_SHARE = 0.9;

/**
 * Makes room in the model's window before a request that would exceed the agent's share of it: first pointers replace old
 * tool results, then a summary the oldest contents. Both are in the history before anything is sent. If no summary can be
 * made, a notice says so and the conversation goes on as it is. Throws only the signal's reason.
 */
export function createMakeRoom(agent: Agent, { history, signal }: Turn, config: object): MakeRoom {
  const policy: CompactionPolicy = agent.compaction ?? { threshold: 1, windowTokens: undefined };
  const fixed = estimateTokens(JSON.stringify(config));
  /** No summary is tried below this size after one has failed. */
  let failedTokens = 0;
  let isFullReported = false;

  /** Undefined if there is no need, or the window is not known. */
  function measureRoom(next: NextRequest): Measured | undefined {
    const { counted, refusal } = next;
    const sum = (contents: readonly StoredContent[]): number =>
      contents.reduce((total, content) => total + estimateContent(content), fixed);
    const sent = applyCompactions(next.contents, next.compactions);
    if (refusal !== undefined) {
      const limit = refusal.details.windowTokens ?? Number.POSITIVE_INFINITY;
      policy.windowTokens = Math.min(policy.windowTokens ?? sum(sent), limit);
    }
    const { windowTokens: window, threshold } = policy;
    if (window === undefined) return undefined;
    // A refused request is longer than the window, whatever was estimated or counted.
    const known = refusal === undefined ? counted : { tokens: window * OVERFLOW, sent };
    const { size, scale } = createMeasure(known, sum, refusal === undefined ? SCALES.most : Number.POSITIVE_INFINITY);
    const limit = window * threshold;
    if (size(sent) <= limit) return undefined;
    const room = Math.max(0, limit - fixed * scale);
    return { size, limit, window, room, scale, estimate: (content) => estimateContent(content) * scale };
  }

  async function record(compaction: Compaction): Promise<Compaction> {
    await history.compact?.(compaction);
    agent.outputs?.allow(compaction.outputs.flatMap(({ path }) => path ?? []));
    return compaction;
  }

  return async function* makeRoom(next) {
    if (agent.pause) await prepareEstimates(applyCompactions(next.contents, next.compactions), agent.pause);
    const measured = history.compact === undefined ? undefined : measureRoom(next);
    if (measured === undefined) return { made: [], usage: NO_USAGE };
    const { size, room, scale, window: full } = measured;
    const { contents } = next;
    const made: Compaction[] = [];
    const view = (): readonly StoredContent[] => applyCompactions(contents, [...next.compactions, ...made]);
    const before = size(view());
    const plans = planOutputs(contents, next.compactions, measured);
    if (plans.length > 0) {
      made.push(await record({ outputs: await keepOutputs(plans, contents, { agent, history }) }));
    }
    let usage = NO_USAGE;
    const cut = findSummaryCut(contents, mergeCompactions(next.compactions).summary, { ...measured, sent: view() });
    if (cut !== undefined && size(view()) > Math.max(findTarget(cut, measured), failedTokens)) {
      yield { type: 'wait', what: 'a summary of the conversation' };
      await agent.hooks?.beforeSummary('auto', signal);
      try {
        const [inputTokens, outputTokens] = [(room * SHARES.target) / scale, (room * SHARES.summary) / scale];
        const question = { older: cut.older, inputTokens, outputTokens };
        const written = yield* writeSummary(agent, question, signal);
        usage = written.usage;
        made.push(await record({ outputs: [], summary: { text: written.text, ...cut.place } }));
      } catch (thrown) {
        signal.throwIfAborted();
        failedTokens = size(view()) + room * SHARES.batch;
        yield {
          type: 'notice',
          message: `the conversation could not be summarised and continues unchanged: ${AppError.from(thrown).shortMessage}`,
        };
      }
    }
    const after = size(view());
    if (made.length > 0) yield { type: 'notice', message: formatRoomNotice(made, { before, after, next }) };
    const isRefused = next.refusal !== undefined && made.length === 0;
    if (after >= full * NOTICE_SHARE && !isFullReported && !isRefused) {
      isFullReported = true;
      const share = `${Math.round((after / full) * 100)} %`;
      const message = `${share} of the model's window is full, and no more room could be made: begin a new session soon`;
      yield { type: 'notice', message };
    }
    return { made, usage };
  };
}

interface Measured extends RoomScope {
  readonly size: (contents: readonly StoredContent[]) => number;
  readonly limit: number;
  readonly window: number;
  readonly scale: number;
}

type Estimate = (content: StoredContent) => number;

/**
 * Limits of the ratio of the server's count to the estimate, which attachments can distort. A count below the lower limit is
 * ignored.
 */
const SCALES = { least: 0.3, most: 2 } as const;
/** A refused request is assumed to have so many times the tokens of the window. */
const OVERFLOW = 1.05;

/** Measures requests: the server's count of an earlier one plus the difference, which is estimated rather too high. */
function createMeasure(
  counted: CountedRequest | undefined,
  sum: (contents: readonly StoredContent[]) => number,
  most: number,
): Pick<Measured, 'size' | 'scale'> {
  const estimated = counted === undefined ? 0 : sum(counted.sent);
  if (counted === undefined || counted.tokens < estimated * SCALES.least) return { size: sum, scale: 1 };
  const ratio = Math.min(most, counted.tokens / estimated);
  const scale = Math.max(1, ratio);
  const size = (contents: readonly StoredContent[]): number => {
    const added = sum(contents) - estimated;
    return counted.tokens + added * (added > 0 ? scale : ratio);
  };
  return { size, scale };
}

interface RoomScope {
  readonly room: number;
  readonly estimate: Estimate;
}

interface Output {
  readonly content: number;
  readonly part: number;
  readonly tokens: number;
  readonly length: number;
}

/**
 * Which results to shorten: all but the newest that the model has seen become pointers, if that frees enough; of those
 * that it has not seen, the longest keep their beginning and end, if all together are too long.
 */
function planOutputs(
  contents: readonly StoredContent[],
  compactions: readonly Compaction[],
  { room, estimate }: RoomScope,
): readonly ShortenedOutput[] {
  const { summary, outputs: shortened } = mergeCompactions(compactions);
  const sent = applyCompactions(contents, compactions);
  const isPointer = ({ content, part }: Output): boolean => {
    const { head = 1, tail = 1 } = shortened.get(content)?.get(part) ?? {};
    return head + tail === 0;
  };
  const outputs: Output[] = [];
  for (let index = summary?.end ?? 0; index < contents.length; index += 1) {
    const view = sent[index - contents.length + sent.length];
    for (const [part, each] of (contents[index]?.parts ?? []).entries()) {
      if (!isResponse(each) || view === undefined) continue;
      // Almost always the only one of its content; attachments count with it.
      const tokens = estimate(view) / Math.max(1, view.parts.filter(isResponse).length);
      outputs.push({ content: index, part, tokens, length: splitOutput(each.functionResponse.response).text.length });
    }
  }
  const lastReply = contents.findLastIndex(({ role }) => role === 'model');
  const seen = outputs.filter(({ content }) => content < lastReply);
  const unseen = outputs.filter(({ content }) => content > lastReply);
  return [
    ...planPointers(
      seen.filter((output) => !isPointer(output)),
      room,
    ),
    ...planCuts(unseen, room),
  ];
}

function planPointers(seen: readonly Output[], room: number): readonly ShortenedOutput[] {
  let protectedTokens = Math.min(MAX_SEEN_TOKENS, room * SHARES.seenOutput);
  const old = seen.toReversed().filter(({ tokens }) => {
    protectedTokens -= tokens;
    return protectedTokens < 0 && tokens >= MIN_OUTPUT_TOKENS;
  });
  const freed = old.reduce((sum, { tokens }) => sum + tokens - MIN_OUTPUT_TOKENS / 2, 0);
  if (freed < room * SHARES.batch) return [];
  return old.toReversed().map(({ content, part }) => ({ content, part, head: 0, tail: 0 }));
}

function planCuts(unseen: readonly Output[], room: number): readonly ShortenedOutput[] {
  const most = findCap(
    unseen.map(({ tokens }) => tokens),
    room * SHARES.newOutput,
  );
  return unseen.flatMap(({ content, part, tokens, length }) => {
    if (tokens <= most) return [];
    const half = Math.floor((length * most) / tokens / 2);
    return [{ content, part, head: half, tail: half }];
  });
}

/** The highest cap with which all sizes together are within the budget. */
function findCap(sizes: readonly number[], budget: number): number {
  let left = budget;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

async function keepOutputs(
  plans: readonly ShortenedOutput[],
  contents: readonly StoredContent[],
  { agent, history }: { readonly agent: Agent; readonly history: Turn['history'] },
): Promise<readonly ShortenedOutput[]> {
  const kept: ShortenedOutput[] = [];
  const canRead = agent.tools.some(({ name }) => name === READ_TOOL);
  for (const plan of plans) {
    const part = contents[plan.content]?.parts[plan.part];
    if (part === undefined || !isResponse(part)) continue;
    const { text } = splitOutput(part.functionResponse.response);
    const path = canRead ? await agent.outputs?.keep(text, history.keepOutput) : undefined;
    kept.push(path === undefined ? plan : { ...plan, path });
  }
  return kept;
}

type Place = Omit<ConversationSummary, 'text'>;

interface Cut {
  readonly place: Place;
  /** What the summary replaces, as it would be sent now. */
  readonly older: readonly StoredContent[];
  /** Tokens of `older`, without the prompt that is sent again. */
  readonly freed: number;
}

/** Where the summary is to end; undefined if there is nothing before the last step that it could replace. */
function findSummaryCut(
  contents: readonly StoredContent[],
  earlier: ConversationSummary | undefined,
  { sent, ...measured }: Measured & { readonly sent: readonly StoredContent[] },
): Cut | undefined {
  const { room, estimate } = measured;
  const start = earlier?.end ?? 0;
  const shift = contents.length - sent.length;
  let used = 0;
  let prompts = 0;
  let end: number | undefined;
  for (let index = contents.length - 1; index > start; index -= 1) {
    const [content, view] = [contents[index], sent[index - shift]];
    if (content === undefined || view === undefined || (end !== undefined && used > room * SHARES.lastTurns)) break;
    used += estimate(view);
    // A result stays with its call. A whole turn is best, which begins with a prompt.
    if (isToolResult(content)) continue;
    const isBeginning = isPrompt(content);
    if (isBeginning) prompts += 1;
    const most = isBeginning && prompts <= 2 ? SHARES.lastTurns : SHARES.tail;
    const isBetter = isBeginning || end === undefined || !isPrompt(contents[end] ?? content);
    if (end === undefined || (isBetter && used <= room * most)) end = index;
  }
  if (end === undefined) return undefined;
  const sum = (list: readonly StoredContent[]): number => list.reduce((total, one) => total + estimate(one), 0);
  const older = sent.slice(0, end - shift);
  const index = contents.slice(end).some(isPrompt) ? -1 : contents.findLastIndex(isPrompt);
  const prompt = contents[index];
  if (prompt === undefined) return { place: { end }, older, freed: sum(older) };
  const most = findPromptLimit(sum(sent.slice(end - shift)), measured);
  const tokens = estimate(prompt);
  const freed = sum(older) - Math.min(tokens, most);
  if (tokens <= most) return { place: { end, prompt: index }, older, freed };
  const length = prompt.parts.reduce((total, part) => total + ('text' in part ? part.text.length : 0), 0);
  return { place: { end, prompt: index, promptLimit: Math.floor((length * most) / tokens) }, older, freed };
}

/** What the user has sent stays whole as long as the window has room for it beside the last steps and a summary. */
function findPromptLimit(tailTokens: number, { room, limit, window }: Measured): number {
  const fixed = limit - room;
  return Math.max(room * SHARES.prompt, window * FULL_SHARE - fixed - tailTokens - room * SHARES.summary);
}

/** From which size on to summarise: one that frees little is worth its price only if nothing else helps. */
function findTarget({ freed }: Cut, { room, limit, window }: Measured): number {
  return freed >= room * SHARES.batch ? limit - room * (1 - SHARES.target) : window * FULL_SHARE;
}

function formatRoomNotice(
  made: readonly Compaction[],
  { before, after, next }: { readonly before: number; readonly after: number; readonly next: NextRequest },
): string {
  const outputs = made.flatMap((compaction) => compaction.outputs);
  const pointers = outputs.filter(({ head, tail }) => head + tail === 0).length;
  const end = made.findLast(({ summary }) => summary !== undefined)?.summary?.end;
  const earlier = mergeCompactions(next.compactions).summary?.end ?? 0;
  const what = [
    ...(pointers === 0
      ? []
      : [`${plural(pointers, 'old tool result')} moved to ${pointers === 1 ? 'a file' : 'files'}`]),
    ...(outputs.length === pointers ? [] : [`${plural(outputs.length - pointers, 'new tool result')} shortened`]),
    ...(end === undefined ? [] : [`${plural(end - earlier, 'old message')} summarised`]),
  ];
  return `made room in the model's window: ${what.join(', ')}; about ${Math.round(before)} tokens before, ${Math.round(after)} now`;
}
