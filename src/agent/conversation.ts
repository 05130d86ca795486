import type { StoredContent } from '../core/content.ts';
import type { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Compaction } from '../core/history.ts';
import type { Reply } from '../core/model.ts';
import { MEDIA_TOKENS, NO_USAGE } from '../core/usage.ts';
import type { Agent, Turn } from './agent.ts';
import type { CountedRequest, MakeRoom, Room } from './compaction.ts';

export interface PreparedTurn {
  /** The conversation before the turn: it may be from a time when a value in it was not yet a credential. */
  readonly earlier: readonly StoredContent[];
  readonly compacted: readonly Compaction[];
  readonly config: Omit<Agent['request'], 'model'>;
}

const NO_ROOM_MADE: Room = { made: [], usage: NO_USAGE };

/** The conversation as it is sent. The code that makes room is loaded only for a long one. */
export function trackConversation(agent: Agent, turn: Turn, { earlier, compacted, config }: PreparedTurn) {
  const { history, tokensBefore } = turn;
  let counted: CountedRequest | undefined;
  let makeRoom: MakeRoom | undefined;
  const listAll = (): readonly StoredContent[] => [...earlier, ...history.contents.slice(earlier.length)];
  const listCompactions = (): readonly Compaction[] => [
    ...compacted,
    ...(history.compactions ?? []).slice(compacted.length),
  ];
  const listSent = async (): Promise<readonly StoredContent[]> => {
    const compactions = listCompactions();
    if (compactions.length === 0) return listAll();
    agent.outputs?.allow(compactions.flatMap(({ outputs }) => outputs.flatMap(({ path }) => path ?? [])));
    return (await import('./compacted.ts')).applyCompactions(listAll(), compactions);
  };
  return {
    listSent,
    /** Makes room for the next request if it needs some, or because it was refused. */
    async *makeRoom(refusal?: AppError<'api'>): AsyncGenerator<TurnEvent, Room> {
      if (agent.compaction === undefined) return NO_ROOM_MADE;
      const sent = await listSent();
      if (counted === undefined && tokensBefore !== undefined) {
        counted = { tokens: tokensBefore, sent: sent.slice(0, -1) };
      }
      const isNeeded = makeRoom !== undefined || refusal !== undefined;
      const { windowTokens = Number.POSITIVE_INFINITY, threshold } = agent.compaction;
      if (!isNeeded && estimateRoughly(sent, config, counted) <= windowTokens * threshold) return NO_ROOM_MADE;
      makeRoom ??= (await import('./compaction.ts')).createMakeRoom(agent, turn, config);
      return yield* makeRoom({ contents: listAll(), compactions: listCompactions(), counted, refusal });
    },
    noteCount({ promptTokens, usage }: Reply, sent: readonly StoredContent[]): void {
      const tokens = promptTokens ?? usage.promptTokenCount;
      if (tokens !== undefined) counted = { tokens, sent };
    },
  };
}

const TOKENS_PER_CHARACTER = { least: 0.25, most: 1.5 } as const;

/** The tokens of a request, rather too many: whether to load what estimates them well. */
function estimateRoughly(sent: readonly StoredContent[], config: object, counted: CountedRequest | undefined): number {
  const lengths = sent.map(countContentCharacters);
  const sum = (list: readonly number[]): number => list.reduce((total, length) => total + length, 0);
  const before = counted?.tokens ?? JSON.stringify(config).length * TOKENS_PER_CHARACTER.most;
  const fresh = sum(lengths.slice(counted?.sent.length ?? 0));
  return Math.max(before, sum(lengths) * TOKENS_PER_CHARACTER.least) + fresh * TOKENS_PER_CHARACTER.most;
}

function countContentCharacters({ parts }: StoredContent): number {
  return parts.reduce((sum, part) => sum + ('inlineData' in part ? MEDIA_TOKENS : countValue(part)), 0);
}

/** Quotes and the like beside a value. */
const PUNCTUATION = 4;

/** About the length of the value's JSON, without writing it: it may be megabytes. */
function countValue(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return PUNCTUATION;
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + countValue(item) + PUNCTUATION, 0);
}
