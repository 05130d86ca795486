// Two small charts as SVG, readable on light and on dark pages.
const WIDTH = 860;
const STYLE = `<style>
text { font: 12px system-ui, sans-serif; fill: #3d444d }
.quiet { fill: #6b7480; font-size: 11px }
.axis { stroke: #8b949e; stroke-width: 1 }
.met { fill: #2f81f7 } .missed { fill: #d4622a } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #d1d7e0 } .quiet { fill: #9198a1 } }
</style>`;
const COLOURS = ['#2f81f7', '#d4622a', '#2da44e', '#a371f7', '#bf8700', '#1b9e9e', '#e5534b', '#768390', '#c0569c'];

/** One bar for each verdict, as a share of its budget: what ends left of the line is met. */
export function budgetChart(verdicts) {
  const rowHeight = 24;
  const left = 320;
  const full = 270;
  const shareOf = ({ measured, budget, atLeast }) => (atLeast ? budget / measured : measured / budget);
  const bars = verdicts.map((verdict, index) => {
    const y = 34 + index * rowHeight;
    const length = Math.max(2, Math.min(1.3, shareOf(verdict)) * full);
    return [
      `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(verdict.work)}</text>`,
      `<rect class="${verdict.isMet ? 'met' : 'missed'}" x="${left}" y="${y + 2}" width="${length.toFixed(1)}" height="14" rx="2"/>`,
      `<text class="quiet" x="${(left + length + 6).toFixed(1)}" y="${y + 13}">${shown(verdict.measured)} ${escaped(verdict.unit)}</text>`,
    ].join('\n');
  });
  const height = 50 + verdicts.length * rowHeight;
  const limit = `<line class="axis" x1="${left + full}" y1="26" x2="${left + full}" y2="${height - 10}" stroke-dasharray="4 3"/>
<text class="quiet" x="${left + full}" y="18" text-anchor="middle">the budget</text>`;
  return svg(height, 'Each measurement as a share of its budget', [...bars, limit]);
}

/** A line for each curve, both axes in powers of ten: sizes as multiples of the smallest. */
export function growthChart(rows) {
  const works = [...new Set(rows.map(({ work }) => work))];
  const [left, top, wide, high] = [66, 16, 510, 340];
  const times = rows.map((row) => row['ms (min)']);
  const low = Math.floor(Math.log10(Math.min(...times)));
  const spread = Math.ceil(Math.log10(Math.max(...times))) - low;
  const x = (factor) => left + (Math.log10(factor) / 3) * wide;
  const y = (ms) => top + high - ((Math.log10(ms) - low) / spread) * high;
  const grid = [];
  for (let decade = 0; decade <= spread; decade += 1) {
    const at = y(10 ** (low + decade)).toFixed(1);
    grid.push(`<line class="axis" x1="${left}" y1="${at}" x2="${left + wide}" y2="${at}" opacity="0.3"/>`);
    grid.push(
      `<text class="quiet" x="${left - 6}" y="${Number(at) + 4}" text-anchor="end">${10 ** (low + decade)} ms</text>`,
    );
  }
  for (const factor of [1, 10, 100, 1000]) {
    grid.push(
      `<text class="quiet" x="${x(factor).toFixed(1)}" y="${top + high + 18}" text-anchor="middle">× ${factor}</text>`,
    );
  }
  const lines = works.map((work, index) => {
    const own = rows.filter((row) => row.work === work);
    const points = own.map((row) => `${x(row.size / own[0].size).toFixed(1)},${y(row['ms (min)']).toFixed(1)}`);
    const colour = COLOURS[index % COLOURS.length];
    const legend = `${work}, from ${own[0].size.toLocaleString('en')} ${own[0].unit}`;
    return `<polyline class="line" stroke="${colour}" points="${points.join(' ')}"/>
<rect x="${left + wide + 24}" y="${top + 6 + index * 24}" width="14" height="4" fill="${colour}"/>
<text x="${left + wide + 44}" y="${top + 13 + index * 24}">${escaped(legend)}</text>`;
  });
  return svg(top + high + 34, 'Time against size, both in powers of ten', [...grid, ...lines]);
}

function svg(height, title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${title}</title>
${STYLE}
${parts.join('\n')}
</svg>
`;
}

function shown(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
