import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judge, parseBounds } from '../../src/core/decision-plan.ts';
import { AppError } from '../../src/core/error.ts';

const share = fc.double({ min: -0.2, max: 1.2, noNaN: true });

test('bounds that are accepted leave a yes and a no, and a higher probability is never less of a yes', () => {
  const rank = { no: 0, unsure: 1, yes: 2 } as const;
  fc.assert(
    fc.property(share, fc.option(share, { nil: undefined }), share, share, (threshold, unsure, one, other) => {
      let bounds: ReturnType<typeof parseBounds>;
      try {
        bounds = parseBounds({ threshold, unsure });
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(AppError);
        return;
      }
      expect([judge(1, bounds), judge(0, bounds)]).toEqual(['yes', 'no']);
      const [low, high] = one < other ? [one, other] : [other, one];
      expect(rank[judge(low, bounds)]).toBeLessThanOrEqual(rank[judge(high, bounds)]);
    }),
  );
});
