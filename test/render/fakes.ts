import type { TurnEvent } from '../../src/core/event.ts';
import type { Io, Out } from '../../src/core/io.ts';
import type { RenderOptions } from '../../src/render/renderer.ts';
import { openRenderer } from '../../src/render/renderers.ts';

/** An output that remembers what was written, write by write. */
export interface FakeOut extends Out {
  readonly writes: string[];
  readonly text: string;
}

export function fakeOut(traits: Partial<Pick<Out, 'isTerminal' | 'columns' | 'isStyled'>> = {}): FakeOut {
  const writes: string[] = [];
  return {
    isTerminal: false,
    columns: 80,
    isStyled: false,
    spinners: new Set(),
    ...traits,
    writes,
    get text() {
      return writes.join('');
    },
    async write(chunk) {
      writes.push(chunk);
    },
  };
}

/** What the two outputs show together, as on one screen, in the order it was written. */
export function sharedScreen(
  traits: Partial<Pick<Out, 'columns' | 'isStyled'>> = {},
): Io & { readonly screen: FakeOut } {
  const screen = fakeOut({ isTerminal: true, ...traits });
  return { screen, out: screen, err: screen };
}

/** Time that passes only when told to. */
export interface FakeTime {
  readonly clock: { now(): number };
  readonly ticker: RenderOptions['ticker'];
  /** Lets time pass, ticking on the way; waits for what the ticks have written. */
  pass(ms: number): Promise<void>;
  readonly isTicking: boolean;
}

export function fakeTime(startMs = Date.UTC(2026, 10, 16)): FakeTime {
  let nowMs = startMs;
  const timers = new Set<{ readonly everyMs: number; nextMs: number; readonly action: () => void }>();
  return {
    clock: { now: () => nowMs },
    ticker: {
      every(ms, action) {
        const timer = { everyMs: ms, nextMs: nowMs + ms, action };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
    },
    async pass(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].filter((timer) => timer.nextMs <= endMs).sort((a, b) => a.nextMs - b.nextMs);
        if (next === undefined) break;
        nowMs = next.nextMs;
        next.nextMs += next.everyMs;
        next.action();
        await new Promise((resolve) => setImmediate(resolve));
      }
      nowMs = endMs;
    },
    get isTicking() {
      return timers.size > 0;
    },
  };
}

export function renderOptions(options: Partial<RenderOptions> = {}): RenderOptions {
  const { clock, ticker } = fakeTime();
  return {
    quiet: false,
    showThoughts: false,
    showUsage: false,
    render: 'auto',
    rawOutput: false,
    isDumb: false,
    dialect: 'gmn',
    prompt: 'Hello',
    clock,
    ticker,
    ...options,
  };
}

export interface Rendered {
  readonly out: string;
  readonly err: string;
  readonly writes: readonly string[];
}

/** What a run leaves on both outputs when neither is a terminal. */
export async function renderAll(
  format: string,
  events: readonly TurnEvent[],
  options: Partial<RenderOptions> = {},
): Promise<Rendered> {
  const out = fakeOut();
  const err = fakeOut();
  await renderOn({ out, err }, format, events, options);
  return { out: out.text, err: err.text, writes: out.writes };
}

export async function renderOn(
  io: Io,
  format: string,
  events: readonly TurnEvent[],
  options: Partial<RenderOptions> = {},
): Promise<void> {
  const render = await openRenderer(format, io, renderOptions(options));
  for (const event of events) await render(event);
}
