const DAY_MS = 86_400_000;

/**
 * How long it is from a moment to the next midnight in California, where daily quotas begin anew, in milliseconds. On the two days
 * on which the clocks change there it may be wrong by an hour. https://ai.google.dev/gemini-api/docs/rate-limits
 */
export function untilPacificMidnight(nowMs: number): number {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'America/Los_Angeles', timeStyle: 'medium' });
  const [hours = 0, minutes = 0, seconds = 0] = clock.format(nowMs).split(':').map(Number);
  return DAY_MS - ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
