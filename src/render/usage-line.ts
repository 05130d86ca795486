import type { Usage } from '../core/usage.ts';

export interface Spent {
  readonly model: string;
  readonly usage: Usage;
  readonly elapsedMs: number;
}

/** `gemini-2.5-flash · 48 in · 31 out · 79 tokens · 0.1s`; a count the server did not give is left out. */
export function usageLine({ model, usage, elapsedMs }: Spent): string {
  return `${model} · ${spending(usage, elapsedMs)}`;
}

/** The same without the model. */
export function spending(usage: Usage, elapsedMs: number): string {
  const counts = [
    count(usage.promptTokenCount, 'in'),
    count(usage.cachedContentTokenCount || undefined, 'cached'),
    count(usage.candidatesTokenCount, 'out'),
    count(usage.thoughtsTokenCount || undefined, 'thoughts'),
    count(usage.totalTokenCount, 'tokens'),
  ];
  return [...counts.filter((part) => part !== undefined), seconds(elapsedMs)].join(' · ');
}

function count(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value} ${unit}`;
}

function seconds(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
