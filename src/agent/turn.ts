import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import { addUsage, NO_USAGE } from '../core/usage.ts';
import type { Agent, Turn } from './agent.ts';
import { asker } from './ask.ts';

/** What the person is told when something was withheld. */
export const WITHHELD = "gmn's own credentials were in it: ‹redacted› is sent in their place";

/**
 * One turn of a conversation: ask, answer the calls, ask again, until a reply has none. Everything said is in the history
 * before it is built upon, and however the turn ends, every call in it has its answer. `begin` comes once, `end` last;
 * throws AppError: what the model throws, `limit` if it does not come to an end, `interrupted` at the person's word.
 */
export async function* runTurn(agent: Agent, turn: Turn): AsyncGenerator<TurnEvent, void> {
  const content = (await agent.withholding?.conceal(turn.prompt)) ?? turn.prompt;
  if (content !== turn.prompt) yield { type: 'notice', message: WITHHELD };
  await turn.history.append({ kind: 'prompt', content });
  const ask = asker(agent, turn);
  let answer: Answer | undefined;
  let usage = NO_USAGE;
  for (let step = 0; step < agent.maxTurns; step += 1) {
    const { calls, finishReason, model, ...reply } = yield* ask();
    usage = addUsage(usage, reply.usage);
    if (calls === undefined) {
      const { grounding } = reply;
      const sources = grounding && { sources: (await import('./grounding.ts')).sourcesOf(grounding) };
      yield { type: 'end', finishReason, usage, model, ...sources };
      return;
    }
    answer ??= (await import('./tool-calls.ts')).answerer(agent, turn);
    for await (const event of answer(calls)) {
      if (event.type === 'answer') usage = addUsage(usage, event.outcome.usage ?? NO_USAGE);
      yield event;
    }
  }
  throw new AppError('limit', `stopped after ${agent.maxTurns} model ${agent.maxTurns === 1 ? 'turn' : 'turns'}`, {
    hint: 'Raise --max-turns, or ask for less at once.',
  });
}

type Answer = ReturnType<typeof import('./tool-calls.ts').answerer>;
