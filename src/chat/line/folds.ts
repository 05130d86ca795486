/** Characters that stand in the line for pasted blocks: Unicode noncharacters, which occur in no text. */
export const PASTE_CHARACTER = /[\ufdd0-\ufdef]/;

const FIRST = 0xfdd0;
const COUNT = 32;
const MAX_LINES = 20;
const MAX_LENGTH = 4000;

export interface PastedBlocks {
  /** What to insert for a pasted text: the text itself, or one character that stands for it. */
  fold(text: string): string;
  unfold(text: string): string;
  /** How such a character is displayed: `[pasted 84 lines]`; undefined for any other. */
  label(character: string): string | undefined;
  clear(): void;
}

export function createPastedBlocks(): PastedBlocks {
  let pastes: string[] = [];
  const findPaste = (character: string): string | undefined => pastes[character.charCodeAt(0) - FIRST];
  return {
    fold(text) {
      const isLarge = text.split('\n', MAX_LINES + 1).length > MAX_LINES || text.length > MAX_LENGTH;
      if (!isLarge || pastes.length === COUNT) return text;
      pastes.push(text);
      return String.fromCharCode(FIRST + pastes.length - 1);
    },
    unfold: (text) => text.replace(/[\ufdd0-\ufdef]/g, (character) => findPaste(character) ?? ''),
    label(character) {
      const text = PASTE_CHARACTER.test(character) ? findPaste(character) : undefined;
      if (text === undefined) return undefined;
      const lines = text.replace(/\n$/, '').split('\n').length;
      return lines === 1 ? `[pasted ${text.length} characters]` : `[pasted ${lines} lines]`;
    },
    clear() {
      pastes = [];
    },
  };
}

/** Normalizes outside text for the line: line breaks become LF, and no character can pass for a pasted block. */
export function normalizeText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\ufdd0-\ufdef]/g, '\ufffd')
    .toWellFormed();
}

const MARK = '"""';

export function isBlockMark(line: string): boolean {
  return line.trim() === MARK;
}

export function isOpenBlock(text: string): boolean {
  const lines = text.split('\n');
  return isBlockMark(lines[0] ?? '') && (lines.length === 1 || !isBlockMark(lines.at(-1) ?? ''));
}

export function stripBlockMarks(text: string): string {
  const lines = text.split('\n');
  const isBlock = lines.length > 1 && isBlockMark(lines[0] ?? '') && isBlockMark(lines.at(-1) ?? '');
  return isBlock ? lines.slice(1, -1).join('\n') : text;
}
