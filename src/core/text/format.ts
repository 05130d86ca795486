import { AppError } from '../error.ts';
import type { Env } from '../io.ts';

const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000001,
};

const DURATION = /^(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns)/;

/** Parses a Go-style duration (`1h30m`, `90s`, `300ms`, `0`) to milliseconds; undefined if it is not one. */
export function tryParseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  let total = 0;
  let rest = text;
  while (rest !== '') {
    const piece = DURATION.exec(rest)?.[0];
    if (piece === undefined) return undefined;
    const unit = piece.replace(/^[\d.]+/, '');
    total += Number.parseFloat(piece) * (UNITS[unit] ?? Number.NaN);
    rest = rest.slice(piece.length);
  }
  return text === '' ? undefined : total;
}

/** In milliseconds. Throws AppError `config` if invalid. */
export function parseEnvDuration(env: Env, name: string, fallbackMs: number): number {
  const text = env[name];
  if (text === undefined || text === '') return fallbackMs;
  const ms = tryParseDuration(text);
  if (ms !== undefined) return ms;
  throw new AppError('config', `${name}: "${text}" is not a duration`, { hint: `Example: ${name}=30s` });
}

/** At most two units: `450 ms`, `1.5 s`, `12 s`, `6 h 12 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** `just now`, `5 min ago`, `3 h ago`, `2 days ago`; the date after 30 days. */
export function formatAge(then: number, now: number): string {
  const ms = now - then;
  // Also covers a clock that was set back.
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  const days = Math.floor(ms / DAY_MS);
  return days < 30 ? `${days} ${days === 1 ? 'day' : 'days'} ago` : new Date(then).toISOString().slice(0, 10);
}

/** `512 B`, `3.1 kB`, `20.4 MB` */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  // Not 1,000,000: 999,950 bytes would be shown as `1000.0 kB`.
  if (bytes < 999_950) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 999_950_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** `$12.40`, `$0.42`, `$0.0031`: two significant digits, down to a millionth. */
export function formatDollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount >= 0.0995) return `$${amount.toFixed(2)}`;
  if (amount < 0.0000005) return '<$0.000001';
  const digits = Math.min(6, 1 - Math.floor(Math.log10(amount)));
  return `$${amount.toFixed(digits).replace(/(\.\d*[1-9])0$/, '$1')}`;
}

/** `1,234,567`, for a whole number that is not negative. By hand: loading `Intl` takes half as long as starting Node. */
export function formatCount(count: number): string {
  const digits = String(count);
  const first = digits.slice(0, digits.length % 3);
  const groups = digits.slice(first.length).match(/.../g) ?? [];
  return [...(first === '' ? [] : [first]), ...groups].join(',');
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `a, b and 3 more`: at most `most` of the items, each as `format` writes it. */
export function joinFirst<Item>(items: readonly Item[], most: number, format: (item: Item) => string = String): string {
  const rest = items.length - most;
  return `${items.slice(0, most).map(format).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
