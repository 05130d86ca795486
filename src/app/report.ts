import type { App } from '../core/app.ts';
import type { JsonObject } from '../core/json.ts';
import { stripControls } from '../core/text/terminal.ts';
import { measureWidth, wrapText } from '../core/text/width.ts';
import { encodeDocument } from '../render/json-text.ts';
import { loadChalk } from '../render/lazy.ts';
import { createStderr } from '../render/stderr.ts';

export interface Report {
  /** Complete lines. */
  readonly text: string;
  readonly json: JsonObject;
  readonly notices?: readonly string[];
  /** The text of somebody else, or a value: lines that are too wide for the terminal are not broken between words. */
  readonly isVerbatim?: true;
  /** Another text for a terminal that is too narrow for a line of `text`. */
  readonly narrow?: (columns: number) => string;
  /** A ✓, ⚠ or ✗ at the start of a line is coloured where colour is allowed. */
  readonly hasMarks?: true;
}

/**
 * To stdout; notices go to stderr, or into `warnings` of the JSON. On a terminal the text is sanitized. Returns 0, the
 * exit code of a command that has nothing more to do.
 */
export async function printReport(report: Report, options: PrintOptions, app: App): Promise<0> {
  const notices = [...(app.notices ?? []), ...(report.notices ?? [])];
  const { out, err } = app.io;
  if (options.json) {
    await out.write(encodeDocument(notices.length === 0 ? report.json : { ...report.json, warnings: notices }));
    return 0;
  }
  if (!options.quiet) for (const notice of notices) await createStderr(err).notice(notice);
  const text = out.isTerminal ? fitToWidth(report, out.columns) : report.text;
  await out.write(report.hasMarks && out.isStyled ? await colorMarks(text) : text);
  return 0;
}

function fitToWidth({ text, isVerbatim, narrow }: Report, columns: number): string {
  const isTooWide = narrow !== undefined && text.split('\n').some((line) => measureWidth(line) > columns);
  const harmless = stripControls(isTooWide ? narrow(columns) : text);
  return isVerbatim ? harmless : wrapText(harmless, columns);
}

async function colorMarks(text: string): Promise<string> {
  const { green, magenta, red } = await loadChalk(true);
  const paints = new Map([
    ['✓', green],
    ['⚠', magenta],
    ['✗', red],
  ]);
  return text.replace(/^[✓⚠✗]/gm, (mark) => paints.get(mark)?.(mark) ?? mark);
}

export interface PrintOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export interface WordOptions extends PrintOptions {
  readonly args: readonly string[];
}

/** Columns two spaces apart; the last one is not padded. Ends in a newline unless there are no rows. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, measureWidth(cell));
    });
  }
  const pad = (cell: string, column: number): string => cell + ' '.repeat((widths[column] ?? 0) - measureWidth(cell));
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('');
}
