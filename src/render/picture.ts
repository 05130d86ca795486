import type { Env } from '../core/io.ts';
import { measurePicture } from '../core/text/picture.ts';

export type PictureProtocol = 'kitty' | 'iterm2';

export type PictureChoice = PictureProtocol | 'auto' | 'never';

export function choosePictures(choice: PictureChoice = 'auto', env: Env): PictureProtocol | undefined {
  if (choice === 'never') return undefined;
  return choice === 'auto' ? detectPictures(env) : choice;
}

/**
 * The protocol that this terminal is known to speak; undefined if it is not known to speak any, or if a multiplexer in
 * between would keep the sequence.
 */
function detectPictures(env: Env): PictureProtocol | undefined {
  const { TERM: term = '', TERM_PROGRAM: program = '' } = env;
  if (env.TMUX || env.STY || env.ZELLIJ || /^(?:dumb|screen|tmux)/.test(term)) return undefined;
  if (/^(?:iTerm\.app|WezTerm|mintty|rio)$/.test(program) || env.LC_TERMINAL === 'iTerm2') return 'iterm2';
  const isKitty = Boolean(env.KITTY_WINDOW_ID) || /^xterm-(?:kitty|ghostty)$/.test(term);
  return isKitty || program === 'ghostty' ? 'kitty' : undefined;
}

interface ShownPicture {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

interface Window {
  readonly columns: number;
  readonly rows?: number;
}

/**
 * The sequence that shows a picture where the cursor is, no larger than the window. Undefined if this terminal cannot
 * show that kind of picture. All of the data is digits of base64, so that nothing in it can end the sequence.
 */
export function formatPicture(
  protocol: PictureProtocol,
  { mimeType, data }: ShownPicture,
  window: Window,
): string | undefined {
  const bytes = Buffer.from(data, 'base64');
  const size = measurePicture(bytes);
  if (size === undefined || size.width === 0 || size.height === 0) return undefined;
  const digits = bytes.toString('base64');
  const columns = fitPicture(size, window);
  if (protocol === 'iterm2') {
    return `\u001b]1337;File=inline=1;size=${bytes.length};width=${columns};preserveAspectRatio=1:${digits}\u0007`;
  }
  // It decodes PNG only; other formats would have to be sent as pixels.
  return mimeType === 'image/png' ? formatKitty(digits, columns) : undefined;
}

/** Of base64 digits: what the protocol allows in one piece. https://sw.kovidgoyal.net/kitty/graphics-protocol/ */
const PIECE = 4096;

function formatKitty(digits: string, columns: number): string {
  let sequence = '';
  for (let start = 0; start < digits.length; start += PIECE) {
    // `q=2`: the terminal must not answer, as nobody would read it.
    const keys = start === 0 ? `a=T,f=100,q=2,c=${columns},` : '';
    const hasMore = start + PIECE < digits.length ? 1 : 0;
    sequence += `\u001b_G${keys}m=${hasMore};${digits.slice(start, start + PIECE)}\u001b\\`;
  }
  return sequence;
}

/** In pixels. The true size of a cell is not known; this is a usual one. */
const CELL = { width: 10, height: 20 };
const MAX_COLUMNS = 80;

function fitPicture(size: { readonly width: number; readonly height: number }, { columns, rows = 24 }: Window): number {
  const wanted = Math.ceil(size.width / CELL.width);
  const free = Math.max(1, rows - 3);
  const inHeight = Math.floor((free * CELL.height * size.width) / (size.height * CELL.width));
  return Math.max(1, Math.min(wanted, columns, MAX_COLUMNS, inHeight));
}
