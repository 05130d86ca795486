const MARK = '"""';

/** Whether a line is one that begins or ends a block: three quotes and nothing else. */
export function isBlockMark(line: string): boolean {
  return line.trim() === MARK;
}

/** Whether a text begins with the mark of a block whose end has not come. */
export function isOpenBlock(text: string): boolean {
  const lines = text.split('\n');
  return isBlockMark(lines[0] ?? '') && (lines.length === 1 || !isBlockMark(lines.at(-1) ?? ''));
}

/** What stands between the marks of a block; any other text as it is. */
export function withoutMarks(text: string): string {
  const lines = text.split('\n');
  const isBlock = lines.length > 1 && isBlockMark(lines[0] ?? '') && isBlockMark(lines.at(-1) ?? '');
  return isBlock ? lines.slice(1, -1).join('\n') : text;
}
