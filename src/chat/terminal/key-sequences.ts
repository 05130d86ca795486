import type { Key } from './key.ts';

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
export function keyOfSequence(sequence: string): Key | undefined {
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
