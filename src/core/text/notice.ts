import { stripControls } from './terminal.ts';
import { wrapText } from './width.ts';

/** A line for people beside the output of a command; on a terminal without control sequences, and broken between words. */
export function formatNotice(
  message: string,
  { isTerminal, columns }: { readonly isTerminal: boolean; readonly columns: number },
): string {
  const line = `gmn: ${message}`;
  return `${isTerminal ? wrapText(stripControls(line), columns) : line}\n`;
}
