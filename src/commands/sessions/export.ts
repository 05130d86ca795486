import { resolve } from 'node:path';
import { printReport } from '../../app/report.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { terminalFilter } from '../../core/text/terminal.ts';
import { openStore } from '../../engine/session/sessions.ts';
import { type ExportFormat, exportSession, findFormat, writeExport } from '../../export/export.ts';
import { yieldToEvents } from '../../platform/runtime/clock.ts';
import { createStderr } from '../../render/stderr.ts';

interface ExportOptions {
  readonly args: readonly string[];
  readonly format?: ExportFormat;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/**
 * Writes a saved session to a file that only its owner can read, or to stdout. Throws AppError `usage` if there is no
 * such session, the format is unclear, or the file exists and `force` is not given.
 */
export async function run(options: ExportOptions, app: App): Promise<number> {
  const { args, force = false, json = false, quiet = false } = options;
  const [reference = '', file = '-', ...more] = args;
  if (more.length > 0) {
    throw new AppError('usage', `too many words: ${more.join(' ')}`, { hint: 'Put quotes around a name with spaces.' });
  }
  const chosen = file === '-' ? chooseStdoutFormat(options) : chooseFileFormat(file, options.format);
  const target = file === '-' ? undefined : resolve(app.cwd, file);
  const store = openStore(app, () => {});
  const saved = await store.read(await store.find(reference));
  const say = quiet ? async () => {} : createStderr(app.io.err).notice;
  const isReport = json && target !== undefined;
  if (!isReport) for (const notice of saved.notices) await say(notice);
  const pieces = await exportSession(saved, chosen);
  if (target === undefined) await printPieces(pieces, app);
  else {
    await writeExport({ name: file, cwd: app.cwd, force, hint: 'Name another file, or add --force' }, pieces);
    const written = { sessionId: saved.summary.id, file: target, format: chosen };
    if (isReport) await printReport({ text: '', json: written, notices: saved.notices }, { json }, app);
    else await say(`wrote ${file}`);
  }
  return 0;
}

function chooseStdoutFormat({ format, json = false }: ExportOptions): ExportFormat {
  if (!json) return format ?? 'md';
  if (format === undefined || format === 'json') return 'json';
  throw new AppError('usage', `--json cannot be combined with --format ${format}`, {
    hint: 'Use one of them, or name a file.',
  });
}

function chooseFileFormat(file: string, format: ExportFormat | undefined): ExportFormat {
  const ending = findFormat(file);
  if (ending !== undefined && format !== undefined && ending !== format) {
    throw new AppError('usage', `${file} is a name for ${ending}, and --format says ${format}`, {
      hint: 'Omit --format, or give the file another ending.',
    });
  }
  const chosen = ending ?? format;
  if (chosen !== undefined) return chosen;
  throw new AppError('usage', `cannot tell the format from the name ${file}`, {
    hint: 'Use the ending .md, .json or .html, or add --format',
  });
}

async function printPieces(pieces: Iterable<string>, { io: { out }, signal }: App): Promise<void> {
  const filter = terminalFilter();
  for (const piece of pieces) {
    await out.write(out.isTerminal ? filter.filter(piece) : piece);
    await yieldToEvents(signal);
  }
}
