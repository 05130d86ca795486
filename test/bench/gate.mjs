// The regression gate: today's ratios beside those of a run that was kept.

/**
 * What got worse by more than `tolerance` (0.25: a quarter), in words. Only ratios and memory are compared: times belong to a
 * machine. A budget that is not in both runs is left out.
 */
export function regressions(verdicts, baseline, tolerance) {
  return verdicts.flatMap((now) => {
    const before = baseline.find(({ work }) => work === now.work);
    if (before === undefined || !/^(?:x|MB)/.test(now.unit)) return [];
    const worse = now.atLeast ? before.measured / now.measured : now.measured / before.measured;
    if (worse <= 1 + tolerance) return [];
    const [was, is] = [before.measured, now.measured].map((value) => value.toFixed(2));
    return [`${now.work}: ${is} ${now.unit}, was ${was}`];
  });
}
