import type { ReplyEvent } from '../core/model.ts';

/** The events of one batch, in their order. */
export interface BatchEvents {
  add(event: ReplyEvent): void;
  events(): readonly ReplyEvent[];
}

/** Neighbouring texts that came with one batch are told as one event: to hand a small one on costs more than its text does. */
export function toldAtOnce(): BatchEvents {
  const events: ReplyEvent[] = [];
  let pieces: string[] = [];
  const closeText = (): void => {
    const [first] = pieces;
    if (first === undefined) return;
    events.push(
      pieces.length === 1 ? { type: 'text', delta: first } : { type: 'text', delta: pieces.join(''), pieces },
    );
    pieces = [];
  };
  return {
    add(event) {
      if (event.type === 'text') return void pieces.push(event.delta);
      closeText();
      events.push(event);
    },
    events() {
      closeText();
      return events;
    },
  };
}
