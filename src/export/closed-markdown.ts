import { fenceOf } from '../render/markdown/line.ts';
import { segmenter } from '../render/markdown/segments.ts';

/** What swallows all that follows until its end comes, wherever that is. https://spec.commonmark.org/0.31.2/#html-blocks */
const HTML_BLOCKS: readonly (readonly [begin: RegExp, end: string])[] = [
  [/^ {0,3}<!--/gm, '-->'],
  [/^ {0,3}<\?/gm, '?>'],
  [/^ {0,3}<!\[CDATA\[/gm, ']]>'],
  [/^ {0,3}<![a-z]/gim, '>'],
  [/^ {0,3}<pre(?=[\s>]|$)/gim, '</pre>'],
  [/^ {0,3}<script(?=[\s>]|$)/gim, '</script>'],
  [/^ {0,3}<style(?=[\s>]|$)/gim, '</style>'],
  [/^ {0,3}<textarea(?=[\s>]|$)/gim, '</textarea>'],
];

/** Markdown as it was written, ending in a newline, and the ends of what it left open, so that nothing leaks out of it. */
export function closed(text: string): string {
  const body = text.endsWith('\n') ? text : `${text}\n`;
  const { fence, prose } = opened(body);
  if (fence !== undefined) return `${body}${fence}\n`;
  return body + HTML_BLOCKS.map(([begin, end]) => (isOpen(prose, begin, end) ? `${end}\n` : '')).join('');
}

/** The mark of the fence in which the text ends, if it ends in one, and what stands outside of all fences. */
function opened(text: string): { readonly fence: string | undefined; readonly prose: string } {
  const segments = segmenter();
  const prose: string[] = [];
  let fence: string | undefined;
  for (const segment of [...segments.push(text), ...segments.end()]) {
    if (segment.type === 'fence') fence = fenceOf(segment.line)?.mark;
    else if (segment.type === 'fenceEnd') fence = undefined;
    else if (segment.type === 'blocks') prose.push(segment.text);
  }
  return { fence, prose: prose.join('\n') };
}

function isOpen(text: string, begin: RegExp, end: string): boolean {
  const last = [...text.matchAll(begin)].at(-1);
  return last !== undefined && !text.toLowerCase().includes(end, last.index + 1);
}
