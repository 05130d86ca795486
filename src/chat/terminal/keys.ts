import { textBefore } from '../../core/text/trim.ts';

interface KeyDecoder {
  /** The keys that are complete after these bytes. However the bytes are cut, the same keys come out. */
  push(bytes: Uint8Array): readonly Key[];
  /** Whether an Esc waits for what may follow it. The caller calls `flush` if nothing comes for a moment. */
  readonly isWaiting: boolean;
  /** Nothing followed: the Esc was the key itself; a sequence that was begun and not finished is dropped. */
  flush(): readonly Key[];
  /** No more will come: a paste that was not finished is what had come of it; the rest is as in `flush`. */
  end(): readonly Key[];
}

const ESC = '\u001b';
const PASTE_END = `${ESC}[201~`;

/** Turns a terminal's bytes into keys. Sequences it does not know are swallowed whole. */
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
      const length = lengthOfKey(rest);
      if (length === 0) break;
      const found = keyOf(rest.slice(0, length));
      if (found === 'paste') paste = pasteReader();
      else if (found !== undefined) keys.push(found);
      rest = rest.slice(length);
    }
    pending = rest;
    return keys;
  };
  const flush = (): readonly Key[] => {
    // Behind the numbers of a sequence its end is sure to come.
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
  /** What has come, without the beginning of an end. */
  end(): string;
}

/** Pieces are joined once, at the end: a large paste comes in thousands of them. */
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
    end: () => [...pieces, textBefore(tail, ESC)].join(''),
  };
}

/** Control Sequence: its end is one character from `@` to `~`. The console of Linux has `ESC [ [ A` besides. */
const CONTROL_SEQUENCE = /^\u001b\[(?:\[[\s\S]|[0-?]*[ -/]*(?:[@-Z\\-~]|(?<=[0-? -/])\[))/;
const UNFINISHED_CONTROL = /^\u001b\[(?:\[|[0-?]*[ -/]*)$/;
const SINGLE_SHIFT = /^\u001bO[\d;]*[@-~]/;
const UNFINISHED_SHIFT = /^\u001bO[\d;]*$/;
/** Answers of the terminal that carry text, up to BEL or ST. */
const STRING = /^\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)/;
const UNFINISHED_STRING = /^\u001b[\]PX^_][^\u0007\u001b]*\u001b?$/;

/** How many code units the first key takes; 0 if more has to come to tell. */
function lengthOfKey(text: string): number {
  if (!text.startsWith(ESC)) return characterLength(text, 0);
  if (text.length === 1) return 0;
  const whole = CONTROL_SEQUENCE.exec(text) ?? SINGLE_SHIFT.exec(text) ?? STRING.exec(text);
  if (whole !== null) return whole[0].length;
  if (UNFINISHED_CONTROL.test(text) || UNFINISHED_SHIFT.test(text) || UNFINISHED_STRING.test(text)) return 0;
  // A sequence broken off by something that cannot be a part of it: that much is swallowed.
  const broken = /^\u001b(?:\[[0-?]*[ -/]*|O[\d;]*|[\]PX^_][^\u0007\u001b]*)/.exec(text);
  if (broken !== null) return broken[0].length;
  // Esc twice is Esc, and whatever the second one begins.
  return text[1] === ESC ? 1 : 1 + characterLength(text, 1);
}

function characterLength(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  [ESC]: 'escape',
};

function keyOf(text: string): Key | 'paste' | undefined {
  if (!text.startsWith(ESC) || text === ESC) return plainKey(text);
  if (text === `${ESC}[200~`) return 'paste';
  if (/^\u001b[[O\]PX^_]/.test(text)) return keyOfSequence(text);
  const plain = plainKey(text.slice(1));
  if (plain.kind === 'text') return { kind: 'key', name: `alt-${plain.text}` };
  // Alt with Enter, whichever of the two codes the terminal sends for it.
  return plain.kind === 'key'
    ? { kind: 'key', name: `alt-${plain.name}`.replace('alt-ctrl-j', 'alt-enter') }
    : undefined;
}

function plainKey(text: string): Key {
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

/** Keys that have a character of their own, and the Enter of the number pad. */
const CODES: Readonly<Record<number, string>> = {
  ...{ 9: 'tab', 13: 'enter', 27: 'escape', 127: 'backspace', 57414: 'enter' },
};

const SHIFT = 1;
const ALT = 2;
const CONTROL = 4;

/** The key that a whole escape sequence stands for; undefined if it stands for none we know. */
function keyOfSequence(sequence: string): Key | undefined {
  if (/^\u001b\[\?\d+u$/.test(sequence)) return { kind: 'kitty' };
  const match = /^\u001b[[O]([\d;:]*)([A-Za-z~])$/.exec(sequence);
  if (match === null) return undefined;
  const [, parameters = '', final = ''] = match;
  const [first = '', second = '', third = ''] = parameters.split(';');
  // https://sw.kovidgoyal.net/kitty/keyboard-protocol/ and xterm's modifyOtherKeys.
  if (final === 'u') return keyOfCode(codeOf(first), second);
  if (final === '~' && first === '27') return keyOfCode(codeOf(third), second);
  const name = final === '~' ? NUMBERS[first] : LETTERS[final];
  // Old terminals write the modifier of a letter as its only number.
  const modifiers = modifiersOf(second !== '' || final === '~' ? second : first);
  if (name === undefined || modifiers === undefined) return undefined;
  return { kind: 'key', name: withModifiers(name, modifiers) };
}

/** `1089::99`: the character, the same with Shift, and the one at this place of a Latin keyboard, which is what we bind. */
function codeOf(parameter: string): number {
  const [code = '', , latin = ''] = parameter.split(':');
  return Number(latin || code);
}

function keyOfCode(code: number, modifier: string): Key | undefined {
  const modifiers = modifiersOf(modifier);
  if (modifiers === undefined || !isCharacter(code)) return undefined;
  const named = CODES[code];
  if (named !== undefined) return { kind: 'key', name: withModifiers(named, modifiers) };
  // Those of the private area are keys without a character, e.g. Caps Lock.
  if (code < 0x20 || (code >= 0xe000 && code <= 0xf8ff)) return undefined;
  const text = String.fromCodePoint(code);
  if ((modifiers & (ALT | CONTROL)) === 0) return { kind: 'text', text: modifiers & SHIFT ? text.toUpperCase() : text };
  const base = code === 0x20 ? 'space' : text.toLowerCase();
  return { kind: 'key', name: withModifiers(base, modifiers & CONTROL ? modifiers & ~SHIFT : modifiers) };
}

function isCharacter(code: number): boolean {
  return Number.isInteger(code) && code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/** The bits of Shift, Alt and Control; undefined if the key was let go rather than pressed. */
function modifiersOf(parameter: string): number | undefined {
  const [bits = '', event = ''] = parameter.split(':');
  return event === '3' ? undefined : (Math.max(1, Number(bits) || 1) - 1) & (SHIFT | ALT | CONTROL);
}

function withModifiers(name: string, modifiers: number): string {
  const prefix = `${modifiers & CONTROL ? 'ctrl-' : ''}${modifiers & ALT ? 'alt-' : ''}`;
  return `${prefix}${modifiers & SHIFT && !name.startsWith('shift-') ? 'shift-' : ''}${name}`;
}

/** What a person did at the keyboard. */
export type Key =
  /** Printable text, one character (code point) at a time. */
  | { readonly kind: 'text'; readonly text: string }
  /** What stood between the marks of a bracketed paste, as it came. */
  | { readonly kind: 'paste'; readonly text: string }
  /** A named key: `enter`, `tab`, `up`, `ctrl-a`, `alt-b`, `shift-enter`, … Modifiers come in the order ctrl, alt, shift. */
  | { readonly kind: 'key'; readonly name: string }
  /** The terminal says that it speaks the kitty keyboard protocol. */
  | { readonly kind: 'kitty' };
