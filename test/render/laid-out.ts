import { markdownStream } from '../../src/render/markdown/stream.ts';

/** A whole text laid out; `cuts` are the lengths of the deltas it comes in, over and over. */
export async function laidOut(
  text: string,
  { columns = 80, isStyled = false, hasLinks = false, cuts = [1e9] } = {},
): Promise<string> {
  const stream = markdownStream({ columns: () => columns, isStyled, hasLinks });
  let rest = text;
  let shown = '';
  for (let index = 0; rest !== ''; index += 1) {
    const cut = cuts[index % cuts.length] ?? 1;
    shown += await stream.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  return shown + (await stream.end());
}

/** Without the sequences the layout itself may use. */
export function bare(text: string): string {
  return text.replace(/\u001b\[\d+m|\u001b\]8;;[\x21-\x7e]*?\u001b\\/g, '');
}
