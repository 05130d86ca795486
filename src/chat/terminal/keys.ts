import { takeBefore } from '../../core/text/trim.ts';

interface KeyDecoder {
  /** The keys completed by these bytes. The result does not depend on how the bytes are cut. */
  push(bytes: Uint8Array): readonly Key[];
  /** Whether an unfinished Esc sequence is pending. The caller calls `flush` if nothing follows for a moment. */
  readonly isWaiting: boolean;
  /** Nothing followed: reports a lone Esc as the key, and drops an unfinished sequence. */
  flush(): readonly Key[];
  /** The input ended: reports an unfinished paste as far as it came; otherwise like `flush`. */
  end(): readonly Key[];
}

const ESC = '\u001b';
const PASTE_END = `${ESC}[201~`;

/** Turns a terminal's bytes into keys. Unknown sequences are dropped whole. */
export function keyDecoder(): KeyDecoder {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  let pending = '';
  let paste: PasteReader | undefined;

  const take = (text: string): readonly Key[] => {
    const keys: Key[] = [];
    let rest = text;
    while (rest !== '') {
      if (paste !== undefined) {
        const end = paste.push(rest);
        if (end === undefined) return keys;
        keys.push({ kind: 'paste', text: end.text });
        paste = undefined;
        rest = end.rest;
        continue;
      }
      const length = measureKey(rest);
      if (length === 0) break;
      const found = decodeKey(rest.slice(0, length));
      if (found === 'paste') paste = pasteReader();
      else if (found !== undefined) keys.push(found);
      rest = rest.slice(length);
    }
    pending = rest;
    return keys;
  };
  const flush = (): readonly Key[] => {
    // After the numbers of a sequence its end is certain to follow.
    if (/^\u001b\[[\d;?<>=:]+$/.test(pending)) return [];
    const isEscape = pending === ESC;
    pending = '';
    return isEscape ? [{ kind: 'key', name: 'escape' }] : [];
  };
  return {
    get isWaiting() {
      return pending !== '';
    },
    push(bytes) {
      const text = pending + utf8.decode(bytes, { stream: true });
      pending = '';
      return take(text);
    },
    flush,
    end: () => (paste === undefined ? flush() : [{ kind: 'paste', text: paste.end() }]),
  };
}

interface PasteReader {
  push(text: string): { readonly text: string; readonly rest: string } | undefined;
  /** The text so far, without a partial end mark. */
  end(): string;
}

/** Joins the pieces only once: a large paste arrives in thousands of them. */
function pasteReader(): PasteReader {
  const pieces: string[] = [];
  let tail = '';
  return {
    push(chunk) {
      const text = tail + chunk;
      const end = text.indexOf(PASTE_END);
      if (end !== -1) {
        pieces.push(text.slice(0, end));
        return { text: pieces.join(''), rest: text.slice(end + PASTE_END.length) };
      }
      const kept = Math.max(0, text.length - PASTE_END.length + 1);
      pieces.push(text.slice(0, kept));
      tail = text.slice(kept);
      return undefined;
    },
    end: () => [...pieces, takeBefore(tail, ESC)].join(''),
  };
}

/** Control sequence: ends with one character from `@` to `~`. The Linux console also sends `ESC [ [ A`. */
const CONTROL_SEQUENCE = /^\u001b\[(?:\[[\s\S]|[0-?]*[ -/]*(?:[@-Z\\-~]|(?<=[0-? -/])\[))/;
const UNFINISHED_CONTROL = /^\u001b\[(?:\[|[0-?]*[ -/]*)$/;
const SINGLE_SHIFT = /^\u001bO[\d;]*[@-~]/;
const UNFINISHED_SHIFT = /^\u001bO[\d;]*$/;
/** Replies of the terminal that carry text, up to BEL or ST. Longer ones, and other controls, are keys again. */
const STRING_SEQUENCE = /^\u001b[\]PX^_][^\u0000-\u001f]{0,256}(?:\u0007|\u001b\\)/u;
const UNFINISHED_STRING = /^\u001b[\]PX^_][^\u0000-\u001f]{0,256}\u001b?$/u;

/** The length of the first key in code units; 0 if it is incomplete. */
function measureKey(text: string): number {
  if (!text.startsWith(ESC)) return countCodeUnits(text, 0);
  if (text.length === 1) return 0;
  const whole = CONTROL_SEQUENCE.exec(text) ?? SINGLE_SHIFT.exec(text) ?? STRING_SEQUENCE.exec(text);
  if (whole !== null) return whole[0].length;
  if (UNFINISHED_CONTROL.test(text) || UNFINISHED_SHIFT.test(text) || UNFINISHED_STRING.test(text)) return 0;
  // A sequence interrupted by a character that cannot belong to it: drop the part before that.
  const broken = /^\u001b(?:\[[0-?]*[ -/]*|O[\d;]*|[\]PX^_][^\u0000-\u001f]{0,256})/u.exec(text);
  if (broken !== null) return broken[0].length;
  // Esc twice: the first is the key, the second may start a sequence.
  return text[1] === ESC ? 1 : 1 + countCodeUnits(text, 1);
}

function countCodeUnits(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  [ESC]: 'escape',
};

function decodeKey(text: string): Key | 'paste' | undefined {
  if (!text.startsWith(ESC) || text === ESC) return decodePlainKey(text);
  if (text === `${ESC}[200~`) return 'paste';
  if (/^\u001b[[O\]PX^_]/.test(text)) return decodeSequence(text);
  const plain = decodePlainKey(text.slice(1));
  if (plain.kind === 'text') return { kind: 'key', name: `alt-${plain.text}` };
  // Alt+Enter, whichever of its two codes the terminal sends.
  return plain.kind === 'key'
    ? { kind: 'key', name: `alt-${plain.name}`.replace('alt-ctrl-j', 'alt-enter') }
    : undefined;
}

function decodePlainKey(text: string): Key {
  const named = CONTROLS[text];
  if (named !== undefined) return { kind: 'key', name: named };
  const code = text.codePointAt(0) ?? 0;
  if (code >= 0x20) return { kind: 'text', text };
  return { kind: 'key', name: `ctrl-${code === 0 ? 'space' : String.fromCharCode(code + 64).toLowerCase()}` };
}

const LETTERS: Readonly<Record<string, string>> = {
  ...{ A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end', Z: 'shift-tab', M: 'enter' },
};

const NUMBERS: Readonly<Record<string, string>> = {
  ...{ 1: 'home', 7: 'home', 4: 'end', 8: 'end', 3: 'delete' },
};

/** Keys with a character code of their own, and Enter of the number pad. */
const CODES: Readonly<Record<number, string>> = {
  ...{ 9: 'tab', 13: 'enter', 27: 'escape', 127: 'backspace', 57414: 'enter' },
};

const SHIFT = 1;
const ALT = 2;
const CONTROL = 4;

function decodeSequence(sequence: string): Key | undefined {
  if (/^\u001b\[\?\d+u$/.test(sequence)) return { kind: 'kitty' };
  const match = /^\u001b[[O]([\d;:]*)([A-Za-z~])$/.exec(sequence);
  if (match === null) return undefined;
  const [, parameters = '', final = ''] = match;
  const [first = '', second = '', third = ''] = parameters.split(';');
  // https://sw.kovidgoyal.net/kitty/keyboard-protocol/ and xterm's modifyOtherKeys.
  if (final === 'u') return toKey(toKeyCode(first), second);
  if (final === '~' && first === '27') return toKey(toKeyCode(third), second);
  const name = final === '~' ? NUMBERS[first] : LETTERS[final];
  // Old terminals send the modifier of a letter as the only number.
  const modifiers = decodeModifiers(second !== '' || final === '~' ? second : first);
  if (name === undefined || modifiers === undefined) return undefined;
  return { kind: 'key', name: addModifiers(name, modifiers) };
}

/**
 * `1089::99`: the character, the shifted one, and the one at this position of a Latin layout, which is the one bound.
 */
function toKeyCode(parameter: string): number {
  const [code = '', , latin = ''] = parameter.split(':');
  return Number(latin || code);
}

function toKey(code: number, modifier: string): Key | undefined {
  const modifiers = decodeModifiers(modifier);
  if (modifiers === undefined || !isCharacter(code)) return undefined;
  const named = CODES[code];
  if (named !== undefined) return { kind: 'key', name: addModifiers(named, modifiers) };
  // Codes in the private use area are keys without a character, e.g. Caps Lock.
  if (code < 0x20 || (code >= 0xe000 && code <= 0xf8ff)) return undefined;
  const text = String.fromCodePoint(code);
  if ((modifiers & (ALT | CONTROL)) === 0) return { kind: 'text', text: modifiers & SHIFT ? text.toUpperCase() : text };
  const base = code === 0x20 ? 'space' : text.toLowerCase();
  return { kind: 'key', name: addModifiers(base, modifiers & CONTROL ? modifiers & ~SHIFT : modifiers) };
}

function isCharacter(code: number): boolean {
  return Number.isInteger(code) && code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/** The bits of Shift, Alt and Control; undefined for a key release. */
function decodeModifiers(parameter: string): number | undefined {
  const [bits = '', event = ''] = parameter.split(':');
  return event === '3' ? undefined : (Math.max(1, Number(bits) || 1) - 1) & (SHIFT | ALT | CONTROL);
}

function addModifiers(name: string, modifiers: number): string {
  const prefix = `${modifiers & CONTROL ? 'ctrl-' : ''}${modifiers & ALT ? 'alt-' : ''}`;
  return `${prefix}${modifiers & SHIFT && !name.startsWith('shift-') ? 'shift-' : ''}${name}`;
}

export type Key =
  /** Printable text, one code point at a time. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string }
  /**
   * A named key: `enter`, `tab`, `up`, `ctrl-a`, `alt-b`, `shift-enter`, … Modifiers are in the order ctrl, alt, shift.
   */
  | { readonly kind: 'key'; readonly name: string }
  | { readonly kind: 'kitty' };
