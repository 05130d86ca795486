import type { TurnEvent } from '../core/event.ts';
import type { Clock } from '../core/io.ts';
import { formatDollars, plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { addUsage, type BilledCall, NO_USAGE } from '../core/usage.ts';
import type { Budget } from '../engine/limits/budget.ts';
import { type PriceOverrides, sumCosts } from '../models/prices.ts';
import { formatUsage } from '../render/text.ts';
import { createToolLog, type ToolLog } from './tool-log.ts';

/** What a chat has done and cost so far. */
export interface ChatStats {
  /** In dollars; undefined if there was no call yet, or one has no known price. */
  readonly cost: number | undefined;
  readonly toolLog: Pick<ToolLog, 'count' | 'find'>;
  addTurn(): void;
  /** Nothing came of the last one. */
  dropTurn(): void;
  addEvent(event: TurnEvent): void;
  /** Takes a model call, also of a tool or a summary, and one that failed. */
  addCall(call: BilledCall): void;
  /**
   * `2 turns · 96 in · 41 out · 137 tokens · 14s · $0.0042`, then what is left of `--max-cost` if there is one, and the
   * tools if any were called.
   */
  formatLines(): readonly string[];
}

interface StatsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly prices?: PriceOverrides;
  readonly budget?: Pick<Budget, 'limit' | 'spent'>;
}

export function createStats({ clock, prices, budget }: StatsOptions): ChatStats {
  const startedMs = clock.now();
  const tools = new Map<string, { readonly calls: number; readonly failed: number }>();
  const toolLog = createToolLog();
  let turns = 0;
  let usage = NO_USAGE;
  let cost: number | undefined;
  let isUnknown = false;
  return {
    get cost() {
      return cost;
    },
    toolLog,
    addTurn() {
      turns += 1;
    },
    dropTurn() {
      turns -= 1;
    },
    addEvent(event) {
      toolLog.add(event);
      if (event.type !== 'answer') return;
      const { calls, failed } = tools.get(event.name) ?? { calls: 0, failed: 0 };
      tools.set(event.name, { calls: calls + 1, failed: failed + (event.outcome.ok ? 0 : 1) });
    },
    addCall(call) {
      usage = addUsage(usage, call.usage);
      const more = sumCosts([call], prices);
      isUnknown ||= more === undefined;
      cost = isUnknown ? undefined : (cost ?? 0) + (more ?? 0);
    },
    formatLines() {
      const all = [...tools].map(([name, { calls, failed }]) => formatToolCount(name, calls, failed));
      const left = budget && formatDollars(Math.max(0, budget.limit - budget.spent));
      return [
        `${plural(turns, 'turn')} · ${formatUsage(usage, clock.now() - startedMs, cost)}`,
        ...(left === undefined ? [] : [`--max-cost: ${left} left`]),
        ...(all.length === 0 ? [] : [`tools: ${all.join(' · ')}`]),
      ];
    },
  };
}

function formatToolCount(name: string, calls: number, failed: number): string {
  return `${sanitize(name)} ${calls}${failed === 0 ? '' : ` (${failed} failed)`}`;
}
