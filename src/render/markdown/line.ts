/** An open code fence. */
export interface Fence {
  readonly mark: string;
  readonly indent: number;
  /** The first word after the mark, in lower case; empty if there is none. */
  readonly language: string;
}

export interface ListMarker {
  /** The marker with the space before and after it. */
  readonly text: string;
  /** Whether it starts a list even right after a line of prose. */
  readonly canInterrupt: boolean;
}

/** Columns of white space before the first character; a tab reaches to the next multiple of four. */
export function indentOf(line: string): number {
  let columns = 0;
  for (const char of line) {
    if (char === ' ') columns += 1;
    else if (char === '\t') columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}

/** The fence a line opens, at whatever depth. */
export function fenceOf(line: string): Fence | undefined {
  const match = /^[ \t]*(?:(`{3,})([^`]*)|(~{3,})(.*))$/.exec(line);
  if (match === null) return undefined;
  const info = (match[2] ?? match[4] ?? '').trim();
  return {
    mark: match[1] ?? match[3] ?? '',
    indent: indentOf(line),
    language: /^[\w+#.-]+/.exec(info)?.[0].toLowerCase() ?? '',
  };
}

/** Whether the line closes that fence. */
export function isFenceEnd(line: string, { mark }: Fence): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === mark.charAt(0).repeat(text.length);
}

/** `# Title` */
export function isHeading(line: string): boolean {
  return /^ {0,3}#{1,6}(?:[ \t]|$)/.test(line);
}

/** `---`, `* * *`, `___` */
export function isRule(line: string): boolean {
  return /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/.test(line);
}

/** The line under a title: `===` or `---`. */
export function isUnderline(line: string): boolean {
  return /^ {0,3}(?:=+|-+)[ \t]*$/.test(line);
}

/** The second line of a table, given the first. */
export function isDelimiterRow(line: string, header: string): boolean {
  // Without the blanks at its end: two repetitions of the same side by side would try every way to share them out.
  return header.includes('|') && /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/.test(line.trimEnd());
}

/** The marker of the list item a line starts. */
export function listMarker(line: string): ListMarker | undefined {
  const match = /^[ \t]*(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)/.exec(line);
  if (match === null) return undefined;
  const text = match[0];
  const startsLikeOne = match[1] === undefined || match[1] === '1';
  return { text, canInterrupt: startsLikeOne && text.length < line.length && indentOf(line) < 4 };
}
