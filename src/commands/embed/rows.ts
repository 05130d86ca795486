import { readRows } from '../../batch/rows/input.ts';
import { isRowId } from '../../batch/rows/row.ts';
import { findInputFormat } from '../../batch/rows/source.ts';
import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';

interface ColumnOptions {
  readonly column: string;
  /** What the file is called; its ending says what it is. Without one it is a CSV. */
  readonly name: string;
  readonly encoding?: string | undefined;
}

interface ColumnText {
  /** Its own, if the row has one. */
  readonly id?: string | undefined;
  /** From 1. */
  readonly row: number;
  readonly text: string;
}

/** The texts of a column that are not empty. Throws AppError `usage` for a row that cannot be read: its vector would be missing. */
export async function* readColumn(
  chunks: AsyncIterable<Uint8Array>,
  { column, name, encoding }: ColumnOptions,
): AsyncGenerator<ColumnText, void> {
  const format = findInputFormat(name) ?? 'csv';
  if (format === 'lines') {
    throw new AppError('usage', `--column: ${name} is not a table`, { hint: 'It takes CSV, TSV and JSON lines.' });
  }
  const onHeader = ({ columns }: { readonly columns: readonly string[] }): void => {
    if (columns.includes(column)) return;
    throw new AppError('usage', `${name} has no column "${column}"`, {
      hint: `It has ${plural(columns.length, 'column')}: ${columns.slice(0, 20).join(', ')}`,
    });
  };
  for await (const { id, index, input } of readRows(chunks, { format, name, encoding, onHeader })) {
    if (input instanceof AppError) throw input;
    const text = column === 'prompt' ? input.prompt : input.params.get(column);
    if (text === undefined) {
      throw new AppError('usage', `row ${index + 1} of ${name} has no field "${column}"`, {
        hint: 'Every row must have it; an empty one has no vector.',
      });
    }
    if (text.trim() !== '') yield { id: isRowId(id) ? undefined : id, row: index + 1, text };
  }
}
