import { aliasRows, type ModelLine, modelRows, modelsDocument, narrowAliasRows } from '../models/listing.ts';
import { DEFAULT_MODEL } from '../models/table.ts';
import { type Report, table } from './report.ts';

export function modelsReport(lines: readonly ModelLine[]): Report {
  const text = `${table(modelRows(lines))}\n${table(aliasRows())}\nDefault: ${DEFAULT_MODEL}\n`;
  return { text, narrow: () => narrowText(lines), json: modelsDocument(lines), notices: [] };
}

/** One line per model with its note below; at most 75 columns wide. */
function narrowText(lines: readonly ModelLine[]): string {
  const rows = table(modelRows(lines).map((row) => row.slice(0, 3)));
  const notes = ['', ...lines.map(({ note = '' }) => note)];
  const noted = rows
    .trimEnd()
    .split('\n')
    .flatMap((row, index) => (notes[index] ? [row, `    ${notes[index]}`] : [row]));
  const more = 'Limits, tiers and backends: in a wider window, or with --json';
  return `${noted.join('\n')}\n\n${table(narrowAliasRows())}\nDefault: ${DEFAULT_MODEL}\n${more}\n`;
}
