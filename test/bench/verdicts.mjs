// What the budgets say of the measurements: each verdict is one line of requirements, met or missed, and by how much.

/**
 * One budget beside what was measured. `unit` begins with `x` for a ratio, and those are what the regression gate compares;
 * `atLeast` turns the budget round.
 */
export function verdict({ work, measured, budget, unit, atLeast = false }) {
  const isMet = atLeast ? measured >= budget : measured <= budget;
  const over = atLeast ? budget / measured - 1 : measured / budget - 1;
  return { work, measured, budget, unit, ...(atLeast ? { atLeast } : {}), isMet, missedBy: isMet ? 0 : over };
}

/** The verdict in a few words: `met` or `missed by 12 %`. */
export function wordsOf({ isMet, missedBy }) {
  if (!isMet && !Number.isFinite(missedBy)) return 'missed';
  return isMet ? 'met' : `missed by ${Math.max(1, Math.round(missedBy * 100))} %`;
}

/** The budgets in the rows of saved sessions. */
export function sessionVerdicts(rows) {
  return rows.map(({ work, ratio, budget, 'ms (median)': ms }) =>
    typeof budget === 'number'
      ? verdict({ work, measured: ratio, budget, unit: 'x' })
      : verdict({ work, measured: ms, budget: Number.parseInt(budget, 10), unit: 'ms' }),
  );
}

/** The budgets in the rows of search and glob, on the largest tree that has one. */
export function searchVerdicts(rows) {
  const files = Math.max(...rows.filter(({ budget }) => budget !== '').map((row) => row.files));
  const budgeted = rows.filter((row) => row.files === files && row.budget !== '');
  const large = rows.filter((row) => row.files === 1 && row.budget !== '');
  const against = [...budgeted, ...large]
    .filter((row) => row['x rg'] !== '')
    .map((row) =>
      verdict({
        work: `${row.work}, ${row.files === 1 ? 'one file of 60 MB' : `${files.toLocaleString('en')} files`}`,
        measured: row['x rg'],
        budget: row.budget,
        unit: 'x rg',
      }),
    );
  const linear = budgeted.map((row) =>
    verdict({
      work: `${row.work}: ten times the files`,
      measured: row['x a tenth of the files (min)'],
      budget: 15,
      unit: 'x the time',
    }),
  );
  return [...against, ...linear];
}

/** The budgets in the rows of a part that tells `ratio` or `added` milliseconds beside a `budget`; what adds nothing is the floor. */
export function plainVerdicts(rows) {
  return rows
    .filter(({ budget, added }) => typeof budget === 'number' && added !== 0)
    .map(({ work, ratio, added, ms, budget }) => {
      if (ratio !== undefined) return verdict({ work, measured: ratio, budget, unit: 'x' });
      return verdict({ work, measured: added ?? ms, budget, unit: added === undefined ? 'ms' : 'ms added' });
    });
}
