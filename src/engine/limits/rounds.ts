import { type Agent, PromptCount, type RunTurn, type Turn } from '../../agent/agent.ts';
import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';

/** A turn in several rounds, each with a prompt of its own. All of them share the limit of model calls. */
export function createRounds(
  run: RunTurn,
  agent: Agent,
  turn: Turn,
): (prompt: StoredContent) => AsyncGenerator<TurnEvent, void> {
  const { count = new PromptCount(agent.maxTurns) } = turn;
  let next: Turn = { ...turn, count };
  return (prompt) => {
    const round = { ...next, prompt };
    // These are about the prompt of the user.
    next = { ...turn, count, tokensBefore: undefined, firstCall: undefined };
    return run(agent, round);
  };
}

type TextEvent = Extract<TurnEvent, { type: 'text' }>;

export interface Round {
  readonly end: Extract<TurnEvent, { type: 'end' }>;
  readonly held: readonly TextEvent[];
  readonly last: string;
}

/** Passes on what happens until the end, which it returns; `begin` only in the first round. Held text is in the result instead. */
export async function* passEvents(
  events: AsyncGenerator<TurnEvent, void>,
  { isFirst, isHeld }: { readonly isFirst: boolean; readonly isHeld: boolean },
): AsyncGenerator<TurnEvent, Round> {
  const held: TextEvent[] = [];
  let last = '';
  for await (const event of events) {
    if (event.type === 'end') return { end: event, held, last };
    if (event.type === 'text') {
      last = event.delta.at(-1) ?? last;
      if (isHeld) {
        held.push(event);
        continue;
      }
    }
    if (event.type !== 'begin' || isFirst) yield event;
  }
  throw new AppError('internal', 'the turn ended without an end');
}
