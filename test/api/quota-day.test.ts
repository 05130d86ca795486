import { expect, test } from 'vitest';
import { classifyResponse, msUntilPacificMidnight } from '../../src/api/failure.ts';

const HOUR_MS = 3_600_000;

test.each([
  ['2026-11-15T08:00:00Z', 24 * HOUR_MS],
  ['2026-11-15T07:59:59Z', 1000],
  ['2026-11-15T01:48:00Z', 6.2 * HOUR_MS],
  ['2026-07-01T06:00:00Z', HOUR_MS],
])('from %s the day in California lasts another %d ms', (now, ms) => {
  expect(msUntilPacificMidnight(Date.parse(now))).toBe(ms);
});

test("a daily quota says by the server's clock in how long it resets", () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }];
  const { hint } = classifyResponse({
    status: 429,
    headers: { date: 'Sun, 15 Nov 2026 01:48:00 GMT' },
    body: JSON.stringify({ error: { code: 429, message: 'Slow down.', details: [{ violations }] } }),
    model: 'gemini-x',
    secrets: new Set(),
    credential: 'key',
    authHint: '',
  });
  expect(hint).toBe('It resets at midnight Pacific time, in 6 h 12 min. Until then choose another model with -m.');
});
