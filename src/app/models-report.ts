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

export function createModelsReport(lines: readonly ModelLine[]): Report {
  const text = `${formatTable(formatModelRows(lines))}\n${formatTable(formatAliasRows())}\nDefault: ${DEFAULT_MODEL}\n`;
  return { text, narrow: () => formatNarrow(lines), json: toModelsDocument(lines), notices: [] };
}

/** One line per model with its note below; at most 75 columns wide. */
function formatNarrow(lines: readonly ModelLine[]): string {
  const rows = formatTable(formatModelRows(lines).map((row) => row.slice(0, 3)));
  const notes = ['', ...lines.map(formatNote)];
  const noted = rows
    .trimEnd()
    .split('\n')
    .flatMap((row, index) => (notes[index] ? [row, `    ${notes[index]}`] : [row]));
  const more = 'Limits, tiers and backends: in a wider window, or with --json';
  return `${noted.join('\n')}\n\n${formatTable(formatNarrowAliasRows())}\nDefault: ${DEFAULT_MODEL}\n${more}\n`;
}
