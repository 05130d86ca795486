import type { Report } from '../app/report.ts';
import { AppError } from '../core/error.ts';
import type { BatchSetup } from './requests/setup.ts';
import type { Row } from './rows/row.ts';
import type { PendingRow } from './rows/row-engine.ts';

/** The request of the first row that can be asked, as JSON only. Sends nothing, writes nothing. Throws AppError `usage` if there is none. */
export async function previewBatch(rows: AsyncIterable<Row>, setup: BatchSetup): Promise<Report> {
  const notices: string[] = [];
  let fault: AppError | undefined;
  for await (const row of rows) {
    try {
      if (row.input instanceof AppError) throw row.input;
      const { request, uploads } = await setup.preview(row as PendingRow);
      notices.push(...uploads.map((file) => `would be uploaded: ${file}`));
      return { text: '', json: request, notices };
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.fault !== 'usage') throw error;
      fault ??= error;
      notices.push(`row ${row.index + 1} would fail: ${error.message}`);
      if (notices.length === MAX_FAILING) break;
    }
  }
  throw fault ?? new AppError('usage', 'the input has no rows', { hint: 'Check the file, or what is piped in.' });
}

const MAX_FAILING = 10;
