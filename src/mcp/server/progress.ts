import type { TurnEvent } from '../../core/event.ts';
import { formatDuration } from '../../core/text/format.ts';
import { callEvery } from '../../platform/runtime/clock.ts';

export interface Progress {
  heard(event: TurnEvent): void;
  report(what: string): void;
  /** Nothing is sent after this. */
  stop(): void;
}

interface ProgressOptions {
  readonly now: () => number;
  /** `progress` always grows. Does not throw. */
  readonly send: (progress: number, message: string) => void;
}

/** Hosts give up on a silent call, the strictest after some twenty seconds. */
const HEARTBEAT_MS = 5000;
const TEXT_PAUSE_MS = 1000;

const ANSWER_EVENTS: readonly TurnEvent['type'][] = ['text', 'thought', 'call'];

/** For a client that sent no progress token. */
export const NO_PROGRESS: Progress = { heard: () => {}, report: () => {}, stop: () => {} };

export function createProgressReporter({ now, send }: ProgressOptions): Progress {
  const startedAt = now();
  let phase = 'waiting';
  /** The model that has not answered yet; `begin` comes even before a turn that fails. */
  let awaited: string | undefined;
  let characters = 0;
  let count = 0;
  let saidAt = startedAt;
  let isStopped = false;
  const tell = (): void => {
    if (isStopped) return;
    count += 1;
    saidAt = now();
    const written = characters === 0 ? '' : `, ${characters} characters so far`;
    send(count, `${phase}${written} (${formatDuration(saidAt - startedAt)})`);
  };
  const say = (what: string): void => {
    phase = what;
    tell();
  };
  const stopHeartbeat = callEvery(HEARTBEAT_MS, tell);
  return {
    report: say,
    heard(event) {
      if (event.type === 'wait') say(`waiting for ${event.what}`);
      else if (event.type === 'begin') awaited = event.model;
      if (awaited !== undefined && ANSWER_EVENTS.includes(event.type)) {
        say(`${awaited} answers`);
        awaited = undefined;
      }
      if (event.type === 'call') say(`the model calls ${event.name.slice(0, 60)}`);
      else if (event.type === 'text') {
        characters += event.delta.length;
        phase = 'writing';
        if (now() - saidAt >= TEXT_PAUSE_MS) tell();
      }
    },
    stop() {
      isStopped = true;
      stopHeartbeat();
    },
  };
}
