import type { TurnEvent } from '../core/event.ts';
import type { Clock } from '../core/io.ts';
import type { Reply } from '../core/model.ts';
import { formatDollars, plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { formatUsage } from '../render/text.ts';
import type { Spending } from './spending.ts';

export interface ChatStats {
  readonly turns: number;
  /** Tokens of the last request and its reply, that is, how full the window is. Undefined if unknown. */
  readonly windowTokens: number | undefined;
  addTurn(): void;
  addEvent(event: TurnEvent): void;
  /** Takes a reply of the conversation, for `windowTokens`. */
  measureWindow(reply: Pick<Reply, 'usage' | 'promptTokens'>): void;
  /** Call when the conversation is replaced: `windowTokens` no longer applies. */
  forgetWindow(): void;
  /**
   * `2 turns · 96 in · 41 out · 137 tokens · 14s · $0.0042`, then what is left of `--max-cost` if there is one, and the
   * tools if any were called.
   */
  formatLines(): readonly string[];
}

export function createStats(clock: Pick<Clock, 'now'>, spending: Pick<Spending, 'usage' | 'cost' | 'left'>): ChatStats {
  const startedMs = clock.now();
  const tools = new Map<string, { readonly calls: number; readonly failed: number }>();
  let turns = 0;
  let windowTokens: number | undefined;
  return {
    get turns() {
      return turns;
    },
    get windowTokens() {
      return windowTokens;
    },
    addTurn: () => {
      turns += 1;
    },
    addEvent(event) {
      if (event.type !== 'answer') return;
      const { calls, failed } = tools.get(event.name) ?? { calls: 0, failed: 0 };
      tools.set(event.name, { calls: calls + 1, failed: failed + (event.outcome.ok ? 0 : 1) });
    },
    measureWindow(reply) {
      windowTokens = toWindowTokens(reply);
    },
    forgetWindow: () => {
      windowTokens = undefined;
    },
    formatLines() {
      const all = [...tools].map(([name, { calls, failed }]) => formatToolCount(name, calls, failed));
      return [
        `${plural(turns, 'turn')} · ${formatUsage(spending.usage, clock.now() - startedMs, spending.cost)}`,
        ...(spending.left === undefined ? [] : [`--max-cost: ${formatDollars(Math.max(0, spending.left))} left`]),
        ...(all.length === 0 ? [] : [`tools: ${all.join(' · ')}`]),
      ];
    },
  };
}

/** The tokens of this call that the next request sends again; thoughts are not sent. */
function toWindowTokens({ usage, promptTokens }: Pick<Reply, 'usage' | 'promptTokens'>): number | undefined {
  const prompt = promptTokens ?? usage.promptTokenCount;
  return prompt === undefined ? undefined : prompt + (usage.candidatesTokenCount ?? 0);
}

function formatToolCount(name: string, calls: number, failed: number): string {
  return `${sanitize(name)} ${calls}${failed === 0 ? '' : ` (${failed} failed)`}`;
}
