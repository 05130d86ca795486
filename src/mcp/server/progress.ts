import type { TurnEvent } from '../../core/event.ts';
import { formatDuration } from '../../core/text/format.ts';
import { callEvery } from '../../platform/runtime/clock.ts';

export interface Progress {
  onEvent(event: TurnEvent): void;
  report(what: string): void;
  stop(): void;
}

/** Hosts give up on a silent call, the strictest after some twenty seconds. */
const HEARTBEAT_MS = 5000;
const TEXT_PAUSE_MS = 1000;

const ANSWER_EVENTS: readonly TurnEvent['type'][] = ['text', 'thought', 'call'];

export const NO_PROGRESS: Progress = { onEvent: () => {}, report: () => {}, stop: () => {} };

/** `send` gets a number that always grows, and must not throw. */
export function createProgressReporter({
  now,
  send,
}: {
  readonly now: () => number;
  readonly send: (progress: number, message: string) => void;
}): Progress {
  const startedAt = now();
  let phase = 'waiting';
  /** The model that has not answered yet; `begin` comes even before a turn that fails. */
  let awaited: string | undefined;
  let characters = 0;
  let count = 0;
  let sentAt = startedAt;
  let isStopped = false;
  const sendNow = (): void => {
    if (isStopped) return;
    count += 1;
    sentAt = now();
    const written = characters === 0 ? '' : `, ${characters} characters so far`;
    send(count, `${phase}${written} (${formatDuration(sentAt - startedAt)})`);
  };
  const reportPhase = (what: string): void => {
    phase = what;
    sendNow();
  };
  const stopHeartbeat = callEvery(HEARTBEAT_MS, sendNow);
  return {
    report: reportPhase,
    onEvent(event) {
      if (event.type === 'wait') reportPhase(`waiting for ${event.what}`);
      else if (event.type === 'begin') awaited = event.model;
      if (awaited !== undefined && ANSWER_EVENTS.includes(event.type)) {
        reportPhase(`${awaited} answers`);
        awaited = undefined;
      }
      if (event.type === 'call') reportPhase(`the model calls ${event.name.slice(0, 60)}`);
      else if (event.type === 'text') {
        characters += event.delta.length;
        phase = 'writing';
        if (now() - sentAt >= TEXT_PAUSE_MS) sendNow();
      }
    },
    stop() {
      isStopped = true;
      stopHeartbeat();
    },
  };
}
