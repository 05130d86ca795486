import {
  formatAliasRows,
  formatModelRows,
  formatNarrowAliasRows,
  formatNote,
  groupModels,
  type ModelLine,
  toModelsDocument,
} from '../models/listing.ts';
import { DEFAULT_MODEL } from '../models/table.ts';
import { formatTable, type Report } from './report.ts';

export function createModelsReport(lines: readonly ModelLine[], standard = DEFAULT_MODEL): Report {
  const more = 'Limits, tiers and backends: in a wider window, or with --json';
  return {
    text: `${formatModels(lines, false)}\n${formatTable(formatAliasRows())}\n${formatDefault(standard)}\n`,
    narrow: () =>
      `${formatModels(lines, true)}\n${formatTable(formatNarrowAliasRows())}\n${formatDefault(standard)}\n${more}\n`,
    json: toModelsDocument(lines, standard),
    notices: [],
  };
}

function formatDefault(standard: string): string {
  return standard === DEFAULT_MODEL
    ? `Default: ${DEFAULT_MODEL}, being retired; where it is gone, flash answers`
    : `Default: ${standard}, since ${DEFAULT_MODEL} is gone for this account`;
}

/** One line per model, in groups. If narrow, at most 75 columns wide, with a note below its model. */
function formatModels(lines: readonly ModelLine[], isNarrow: boolean): string {
  const groups = groupModels(lines);
  const sorted = groups.flatMap((group) => group.lines);
  const rows = formatModelRows(sorted).map((row) => (isNarrow ? row.slice(0, 3) : row));
  const [heading = '', ...table] = formatTable(rows).trimEnd().split('\n');
  const shown = new Map(sorted.map((line, index) => [line, table[index] ?? '']));
  const blocks = groups.map(({ title, lines: members }) => {
    const noted = members.flatMap((line) => {
      const note = isNarrow ? formatNote(line) : '';
      return [shown.get(line) ?? '', ...(note === '' ? [] : [`    ${note}`])];
    });
    return ['', title, ...noted];
  });
  return `${[heading, ...blocks.flat()].join('\n')}\n`;
}
