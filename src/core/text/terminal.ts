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
 * Controls, bidi, zero-width, tag and other characters without a shape, or with one that only a font knows; lone surrogates;
 * spaces other than the plain one, and symbols that are drawn as one; and marks that cover or strike out what is before them,
 * stand on no letter, or are more than two. Compiled on use: its character classes would slow down every start.
 */
function invisiblePattern(): RegExp {
  return /(?! )[\p{C}\p{Z}\p{Me}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}\p{Default_Ignorable_Code_Point}]|[\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb]|(?<!\p{L}\p{M}?)\p{M}/gu;
}

function formatEscape(code: number): string {
  const hex = code.toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

type State = 'ground' | 'return' | 'escape' | 'intermediate' | 'control' | 'string';

/** C0 except tab and newline, DEL, C1, and the bidi overrides. */
const SUSPECT = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** After this many characters without an end, the rest is shown as text, which is harmless and may be the answer. */
const MAX_SEQUENCE = 256;

const ESC = '\x1b';
const CSI = '\x9b';
/** DCS, SOS, OSC, PM and APC. */
const OPENS_STRING = /[\x90\x98\x9d-\x9f]/;
const OPENS_STRING_AFTER_ESC = /[PX\]^_]/;
/** BEL, CAN and SUB. ST, in 7 or 8 bits, is an escape or a C1 like any other: all of them end the string. */
const CLOSES_STRING = /[\x07\x18\x1a]/;
const BREAKS_STRING = /[\x80-\x9f\n\r\x1b]/;
const LOW_SURROGATE = /[\udc00-\udfff]/;
const INTERMEDIATE = /[ -/]/;
const PARAMETER = /[ -?]/;
/** What ends an escape sequence, and a control sequence. */
const FINAL = /[0-~]/;
const CONTROL_FINAL = /[@-~]/;

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
  const ground = (char: string): string => {
    state = 'ground';
    if (char === '\r') {
      state = 'return';
      return '\n';
    }
    return SUSPECT.test(char) ? enter(stateAfter(char)) : char;
  };
  const steps: Readonly<Record<State, (char: string) => string>> = {
    ground,
    return: (char) => (char === '\n' ? enter('ground') : ground(char)),
    escape: (char) => {
      if (INTERMEDIATE.test(char)) return enter('intermediate');
      return FINAL.test(char) ? enter(stateAfterEscape(char)) : ground(char);
    },
    intermediate: (char) => {
      if (INTERMEDIATE.test(char) && length <= MAX_SEQUENCE) return '';
      return FINAL.test(char) ? enter('ground') : ground(char);
    },
    control: (char) => {
      if (CONTROL_FINAL.test(char)) return enter('ground');
      return PARAMETER.test(char) && length <= MAX_SEQUENCE ? '' : ground(char);
    },
    string: (char) => {
      if (CLOSES_STRING.test(char)) return enter('ground');
      if (BREAKS_STRING.test(char)) return ground(char);
      // Half of a character is not shown, even if the other half was the last that was hidden.
      return length <= MAX_SEQUENCE || LOW_SURROGATE.test(char) ? '' : ground(char);
    },
  };

  return {
    /** What may be shown of the next chunk. The result does not depend on how the text is split into chunks. */
    filter(chunk: string): string {
      if (state === 'ground' && !SUSPECT.test(chunk)) return chunk;
      let shown = '';
      for (let index = 0; index < chunk.length; index += 1) {
        length += 1;
        shown += steps[state](chunk.charAt(index));
      }
      return shown;
    },
    flush: () => enter('ground'),
  };
}

export function stripControls(text: string): string {
  return SUSPECT.test(text) ? terminalFilter().filter(text) : text;
}

function stateAfter(char: string): State {
  if (char === ESC) return 'escape';
  if (char === CSI) return 'control';
  return OPENS_STRING.test(char) ? 'string' : 'ground';
}

function stateAfterEscape(char: string): State {
  if (char === '[') return 'control';
  return OPENS_STRING_AFTER_ESC.test(char) ? 'string' : 'ground';
}

/** The saved position stays correct after Enter is typed, unless the window scrolls. */
export const SAVE_CURSOR = '\u001b7';
export const RESTORE_CURSOR = '\u001b8';
const LOW_WINDOW = 12;

/** How often Enter may be typed between two frames, a tenth of a second, before the window scrolls. */
export function countSpareRows(windowRows: number): number {
  return windowRows < LOW_WINDOW ? 1 : 3;
}
