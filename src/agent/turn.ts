import type { TurnEvent } from '../core/event.ts';
import type { Model, ModelRequest } from '../core/model.ts';

/** One turn of a conversation: ask, and pass on what comes, until the model's reply has ended. */
export async function* runTurn(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  const reply = yield* model.stream(request, signal);
  yield { type: 'end', ...reply };
}
