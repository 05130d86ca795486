const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For names, questions and command lines: writes every character that is invisible or moves others as its escape. */
export function sanitize(text: string): string {
  return /^[ -~]*$/.test(text) ? text : escapeInvisible(text);
}

function escapeInvisible(text: string): string {
  return text.replace(invisiblePattern(), (char) => NAMED[char] ?? formatEscape(char.codePointAt(0) ?? 0));
}

export function countInvisible(text: string): number {
  return /^[ -~]*$/.test(text) ? 0 : (text.match(invisiblePattern())?.length ?? 0);
}

/**
 * Controls, bidi, zero-width, tag and other invisible characters, lone surrogates, spaces other than the plain one, and
 * more than two stacked marks. Compiled on use: its character classes would slow down every start.
 */
function invisiblePattern(): RegExp {
  return /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Z}\u2800\p{Default_Ignorable_Code_Point}]|(?<=\p{M}\p{M})\p{M}/gu;
}

function formatEscape(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

type State = 'ground' | 'return' | 'escape' | 'intermediate' | 'control' | 'string';

/** C0 except tab and newline, DEL, C1, and the bidi overrides. */
const SUSPECT = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** After this many characters without an end, the rest is shown as text, which is harmless and may be the answer. */
const MAX_SEQUENCE = 256;

const BEL = 0x07;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const ESC = 0x1b;
const DEL = 0x7f;
const CSI = 0x9b;

/**
 * Drops CSI, OSC, DCS, SOS, PM and APC sequences (7 and 8 bit), other escapes, C0 except newline and tab, DEL, C1 and
 * bidi overrides; a lone carriage return becomes a newline. A sequence without an end is closed by the end of its line,
 * or after MAX_SEQUENCE characters. The output holds no control characters except newline and tab.
 */
export function terminalFilter() {
  let state: State = 'ground';
  let length = 0;

  const enter = (next: State): '' => {
    state = next;
    length = 0;
    return '';
  };
  const ground = (code: number, char: string): string => {
    state = 'ground';
    if (code === RETURN) {
      state = 'return';
      return '\n';
    }
    if (!SUSPECT.test(char)) return char;
    return enter(stateAfter(code));
  };
  const steps: Readonly<Record<State, (code: number, char: string) => string>> = {
    ground,
    return: (code, char) => (code === NEWLINE ? enter('ground') : ground(code, char)),
    escape: (code, char) => {
      if (isIntermediate(code)) return enter('intermediate');
      return code >= 0x30 && code < DEL ? enter(stateAfterEscape(char)) : ground(code, char);
    },
    intermediate: (code, char) => {
      if (isIntermediate(code) && length <= MAX_SEQUENCE) return '';
      return code >= 0x30 && code < DEL ? enter('ground') : ground(code, char);
    },
    control: (code, char) => {
      if (code >= 0x40 && code < DEL) return enter('ground');
      return code >= 0x20 && code < DEL && length <= MAX_SEQUENCE ? '' : ground(code, char);
    },
    string: (code, char) => {
      if (code === BEL || isCancel(code)) return enter('ground');
      // ST, in 7 or 8 bits, is an escape or a C1 like any other: all of them end the string.
      if (code === ESC) return enter('escape');
      if (isC1(code) || isLineEnd(code)) return ground(code, char);
      const isHalf = length === MAX_SEQUENCE + 1 && code >= 0xdc00 && code <= 0xdfff;
      return length <= MAX_SEQUENCE || isHalf ? '' : ground(code, char);
    },
  };

  return {
    /** What may be shown of the next chunk. The result does not depend on how the text is split into chunks. */
    filter(chunk: string): string {
      if (state === 'ground' && !SUSPECT.test(chunk)) return chunk;
      let shown = '';
      for (let index = 0; index < chunk.length; index += 1) {
        length += 1;
        shown += steps[state](chunk.charCodeAt(index), chunk.charAt(index));
      }
      return shown;
    },
    flush: () => enter('ground'),
  };
}

export function stripControls(text: string): string {
  return SUSPECT.test(text) ? terminalFilter().filter(text) : text;
}

function stateAfter(code: number): State {
  if (code === ESC) return 'escape';
  if (code === CSI) return 'control';
  return code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f) ? 'string' : 'ground';
}

function stateAfterEscape(char: string): State {
  if (char === '[') return 'control';
  return ']PX^_'.includes(char) ? 'string' : 'ground';
}

function isIntermediate(code: number): boolean {
  return code >= 0x20 && code <= 0x2f;
}

function isC1(code: number): boolean {
  return code >= 0x80 && code <= 0x9f;
}

function isLineEnd(code: number): boolean {
  return code === NEWLINE || code === RETURN;
}

function isCancel(code: number): boolean {
  return code === 0x18 || code === 0x1a;
}

/** The saved position stays correct after Enter is typed, unless the window scrolls. */
export const SAVE_CURSOR = '\u001b7';
export const RESTORE_CURSOR = '\u001b8';
const LOW_WINDOW = 12;

/** How often Enter may be typed between two frames, a tenth of a second, before the window scrolls. */
export function countSpareRows(windowRows: number): number {
  return windowRows < LOW_WINDOW ? 1 : 3;
}
