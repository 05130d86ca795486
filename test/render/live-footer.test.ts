import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openLive } from '../../src/render/live.ts';
import { emulator } from '../support/emulator.ts';

const row = fc.constantFrom('one', '日本語', 'a longer row', '', 'é👍');
const rows = fc.array(row, { maxLength: 3 });
const step = fc.oneof(
  fc.record({ kind: fc.constant('show' as const), lines: rows, live: rows }),
  fc.record({ kind: fc.constant('footer' as const), rows: fc.array(row, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('progress' as const), rows }),
  fc.record({ kind: fc.constant('message' as const), text: row }),
);

test('a footer that has the cursor leaves nothing behind, and nothing of the text is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const out = emulator({ columns: 24, rows: 12 });
      const area = openLive({ out, err: out });
      const printed: string[] = [];
      let live: readonly string[] = [];
      area.setFooter(['❯ ', 'status'], { row: 0, column: 2 });
      for (const next of steps) {
        if (next.kind === 'show') {
          printed.push(...next.lines);
          ({ live } = next);
          await area.show(next.lines, next.live);
        } else if (next.kind === 'footer') area.setFooter(next.rows, { row: 0, column: 0 });
        else if (next.kind === 'progress') area.setProgress(next.rows);
        else {
          await area.suspend();
          await out.write(`${next.text}\n`);
          printed.push(next.text);
          area.resume();
        }
      }
      await area.close();
      const { lines } = await out.shown();
      expect(lines).toEqual(trimEnd([...printed, ...live]));
    }),
  );
});

function trimEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
}
