import { count } from '../facts.ts';
import { escaped } from './text.ts';

/** What is longer than this is folded. */
const MAX_LINES = 30;
const MAX_LENGTH = 4000;
/** So much of it is seen all the same. */
const SHOWN_LINES = 12;
const SHOWN_LENGTH = 1500;

/** Text as it was written, in elements of this kind; the rest of a long one opens with a click. */
export function foldedText(text: string, tag: 'pre' | 'div'): string {
  // A parser drops a line break that comes right after <pre>.
  const begin = tag === 'pre' ? '<pre class="said" dir="auto" lang="">\n' : '<div class="said" dir="auto" lang="">';
  const element = (part: string): string => `${begin}${escaped(part)}</${tag}>\n`;
  const cut = cutOf(text);
  if (cut === text.length) return element(text);
  const rest = text.slice(cut);
  const lines = rest.split('\n').length;
  const amount = lines > 1 ? `${count(lines)} more lines` : `${count(rest.length)} more characters`;
  return `${element(text.slice(0, cut))}<details class="rest"><summary>${amount}</summary>\n${element(rest)}</details>\n`;
}

/** Where to cut: after a line if there are enough of them, else between two characters; the end if it is not long. */
function cutOf(text: string): number {
  const lineEnd = nthLineEnd(text, MAX_LINES);
  if (text.length <= MAX_LENGTH && (lineEnd === -1 || lineEnd === text.length - 1)) return text.length;
  const line = nthLineEnd(text, SHOWN_LINES);
  if (line !== -1 && line < SHOWN_LENGTH) return line + 1;
  const space = text.lastIndexOf('\n', SHOWN_LENGTH);
  if (space > 0) return space + 1;
  const isPair = /[\udc00-\udfff]/.test(text.charAt(SHOWN_LENGTH));
  return isPair ? SHOWN_LENGTH + 1 : SHOWN_LENGTH;
}

/** -1 if there are fewer. */
function nthLineEnd(text: string, lines: number): number {
  let end = -1;
  for (let line = 0; line < lines; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return -1;
  }
  return end;
}
