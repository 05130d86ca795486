import {
  formatAliasRows,
  formatModelRows,
  formatNarrowAliasRows,
  formatNote,
  type ModelLine,
  toModelsDocument,
} from '../models/listing.ts';
import { DEFAULT_MODEL } from '../models/table.ts';
import { formatTable, type Report } from './report.ts';

export function createModelsReport(lines: readonly ModelLine[], standard = DEFAULT_MODEL): Report {
  const text = `${formatTable(formatModelRows(lines))}\n${formatTable(formatAliasRows())}\n${formatDefault(standard)}\n`;
  return { text, narrow: () => formatNarrow(lines, standard), json: toModelsDocument(lines, standard), notices: [] };
}

function formatDefault(standard: string): string {
  const why = standard === DEFAULT_MODEL ? '' : `, since ${DEFAULT_MODEL} is gone for this account`;
  return `Default: ${standard}${why}`;
}

/** One line per model with its note below; at most 75 columns wide. */
function formatNarrow(lines: readonly ModelLine[], standard: string): string {
  const rows = formatTable(formatModelRows(lines).map((row) => row.slice(0, 3)));
  const notes = ['', ...lines.map(formatNote)];
  const noted = rows
    .trimEnd()
    .split('\n')
    .flatMap((row, index) => (notes[index] ? [row, `    ${notes[index]}`] : [row]));
  const more = 'Limits, tiers and backends: in a wider window, or with --json';
  return `${noted.join('\n')}\n\n${formatTable(formatNarrowAliasRows())}\n${formatDefault(standard)}\n${more}\n`;
}
