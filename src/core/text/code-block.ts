import { joinLines } from './trim.ts';
/** In order, each ending with a newline. An unclosed block extends to the end of the text. */
export function extractCodeBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let open: { readonly fence: string; readonly indent: number; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, indent = '', fence = '', info = ''] = /^([ \t]*)(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
    if (open === undefined) {
      // Backticks after the fence make it inline code.
      const isFence = fence !== '' && !(fence.startsWith('`') && info.includes('`'));
      if (isFence) open = { fence, indent: indent.length, lines: [] };
    } else if (fence.startsWith(open.fence) && info.trim() === '') {
      blocks.push(joinLines(open.lines));
      open = undefined;
    } else open.lines.push(unindent(line, open.indent));
  }
  if (open !== undefined) blocks.push(joinLines(open.lines.at(-1) === '' ? open.lines.slice(0, -1) : open.lines));
  return blocks;
}

/** A block in a list is indented as far as its fence. */
function unindent(line: string, indent: number): string {
  const blank = /^[ \t]*/.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(blank, indent));
}

/** The text as a block, whatever it holds. */
export function formatCodeBlock(text: string, language = 'text'): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}\n`;
}
