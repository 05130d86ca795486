import { formatTable, type PrintOptions, printReport } from '../app/report.ts';
import { readSetting } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { formatDollars, plural } from '../core/text/format.ts';
import { shortenPath } from '../core/text/path.ts';
import { sanitize } from '../core/text/terminal.ts';
import { measureWidth, truncateStart } from '../core/text/width.ts';
import { PRICES_VERSION, sumCosts } from '../models/prices.ts';
import { tryParseAge } from '../session/prune.ts';
import { createUsageTable, readUsage, sumTokens, type UsageGrouping, type UsageRow } from '../session/usage-report.ts';

interface UsageOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly since?: string;
  readonly by?: UsageGrouping;
}

const DEFAULT_SINCE = '7d';

export async function run(options: UsageOptions, app: App): Promise<number> {
  const { since = DEFAULT_SINCE, by = 'day' } = options;
  const from = parseSince(since, app.clock.now());
  const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
  // The offline model costs nothing.
  const table = createUsageTable(by, (calls) =>
    sumCosts(
      calls.filter(({ backend }) => backend !== 'demo'),
      overrides,
    ),
  );
  const { gmn: home, isMissing } = app.homes();
  if (!isMissing) for await (const record of readUsage(home, from)) table.add(record);
  const rows = table.rows();
  const total = table.total();
  const formatName = (name: string): string => sanitize(by === 'directory' ? shortenPath(name, app.env.HOME) : name);
  const shown = rows.map((row) => ({ ...row, name: formatName(row.name) }));
  const all = total === undefined || rows.length < 2 ? shown : [...shown, total];
  const hasChart = app.io.out.isTerminal && app.env.TERM !== 'dumb';
  const formatAll = (): string =>
    hasChart
      ? formatChart(all, app.io.out.columns)
      : formatTable([[by.toUpperCase(), 'RUNS', 'TOKENS', 'COST'], ...all.map(formatUsageCells)]);
  const text = rows.length === 0 ? '' : formatAll();
  const json = {
    since: new Date(from).toISOString(),
    by,
    prices: `@pydantic/genai-prices ${PRICES_VERSION}`,
    rows: rows.map((row) => ({ [by]: row.name, ...toUsageFields(row) })),
    total: total && toUsageFields(total),
  };
  return printReport({ text, json, notices: findNotices(total, since) }, options, app);
}

function parseSince(text: string, now: number): number {
  if (text === 'all') return 0;
  const age = tryParseAge(text);
  if (age !== undefined && age > 0) return Math.max(0, now - age);
  throw new AppError('usage', `--since: "${sanitize(text)}" is not an age`, {
    hint: 'Examples: --since 24h, 7d, 4w, all',
  });
}

/** `cost` is that of all runs; if one of them has no known cost, `pricedCost` is that of the others. */
function toUsageFields({ runs, usage, cost, unpriced }: UsageRow): JsonObject {
  const rounded = Math.round(cost * 1e9) / 1e9;
  const costs =
    unpriced === 0 ? { cost: rounded } : { unpricedRuns: unpriced, pricedCost: unpriced < runs ? rounded : undefined };
  return { runs, usage: { ...usage }, ...costs };
}

function formatUsageCells({ name, runs, usage, ...price }: UsageRow): readonly string[] {
  return [name, String(runs), String(sumTokens(usage)), formatCost({ runs, ...price })];
}

/** `$0.42+` if the cost of some runs is not known. */
function formatCost({ runs, cost, unpriced }: Pick<UsageRow, 'runs' | 'cost' | 'unpriced'>): string {
  if (unpriced === 0) return formatDollars(cost);
  return unpriced === runs ? '-' : `${formatDollars(cost)}+`;
}

function findNotices(total: UsageRow | undefined, since: string): readonly string[] {
  if (total === undefined) {
    const longer = since === 'all' ? '' : '; to look further back: gmn usage --since all';
    return [`no saved run ${since === 'all' ? 'so far' : `in the last ${since}`}${longer}`];
  }
  if (total.unpriced === 0) return [];
  const which = plural(total.unpriced, 'run');
  return [
    `what ${which} cost is not known: gmn has no price for that model, login or tier. Set it under "prices" in your settings.`,
  ];
}

const MAX_BAR = 40;
const MIN_BAR = 4;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** One row each, with a bar of its cost; of its tokens if not every cost is known. Narrow terminals get no bars, then no tokens. */
function formatChart(rows: readonly UsageRow[], columns: number): string {
  const isPriced = rows.every(({ unpriced }) => unpriced === 0) && rows.some(({ cost }) => cost > 0);
  const measure = ({ cost, usage }: UsageRow): number => (isPriced ? cost : sumTokens(usage));
  const largest = Math.max(...rows.filter(({ name }) => name !== 'total').map(measure), Number.MIN_VALUE);
  const cells = rows.map(({ name, runs, usage, ...price }) => [
    name,
    formatCost({ runs, ...price }),
    `${abbreviateCount(sumTokens(usage))} tokens`,
    plural(runs, 'run'),
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => measureWidth(row[column] ?? ''))));
  const [nameWidth = 0, costWidth = 0, tokenWidth = 0, runWidth = 0] = widths;
  const numbers = costWidth + tokenWidth + runWidth + 6;
  const name = Math.max(MIN_BAR, Math.min(nameWidth, columns - numbers - 1 - Math.floor(columns / 6)));
  const room = Math.min(MAX_BAR, columns - name - numbers - 3);
  return rows
    .map((row, index) => {
      const [label = '', cost = '', tokens = '', runs = ''] = cells[index] ?? [];
      const isTotal = index === rows.length - 1 && row.name === 'total';
      const bar = room < MIN_BAR ? [] : [isTotal ? ' '.repeat(room) : formatBar(measure(row) / largest, room)];
      const shown = [
        padEnd(truncateStart(label, name), name),
        ...bar,
        cost.padStart(costWidth),
        ...(columns - name < numbers ? [] : [tokens.padStart(tokenWidth), runs.padStart(runWidth)]),
      ];
      return `${shown.join('  ').trimEnd()}\n`;
    })
    .join('');
}

function formatBar(share: number, width: number): string {
  const eighths = Math.max(share > 0 ? 1 : 0, Math.round(share * width * 8));
  const bar = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
  return bar + ' '.repeat(Math.max(0, width - bar.length));
}

/** `950`, `12.4k`, `3.1M` */
function abbreviateCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - measureWidth(text)));
}
