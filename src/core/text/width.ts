import { eastAsianWidth } from 'get-east-asian-width';

const ASCII = /^[\x20-\x7e]*$/;
/** Characters that are always a grapheme of their own; most texts, and gmn's own marks, have no others. */
const SIMPLE =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u037f\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2212\u23f9\u2500-\u259f\u26a0\u2713\u2717\u276f\u27e8\u27e9\u2800-\u28ff\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;
const WIDE = /[\u3001-\uff60]/g;

/** Terminal columns: two for a wide character, none for a combining one. Escape sequences have none. */
export function measureWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const piece of splitPieces(text.includes('\x1b') ? text.replace(ESCAPE_SEQUENCES, '') : text)) {
    if (SIMPLE.test(piece)) width += piece.length + (piece.match(WIDE)?.length ?? 0);
    else for (const { segment } of graphemeSegmenter().segment(piece)) width += measureGrapheme(segment);
  }
  return width;
}

export function splitGraphemes(text: string): readonly string[] {
  const found: string[] = [];
  for (const piece of splitPieces(text)) {
    if (SIMPLE.test(piece)) for (const char of piece) found.push(char);
    else for (const { segment } of graphemeSegmenter().segment(piece)) found.push(segment);
  }
  return found;
}

/** Colours and cursor movements (CSI), and what ends with BEL or ST, as links do (OSC). */
const ESCAPE_SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g;
const VISIBLE =
  /[^\p{Default_Ignorable_Code_Point}\p{Control}\p{Format}\p{Nonspacing_Mark}\p{Enclosing_Mark}\p{Surrogate}]/u;
/** Marks with a column of their own, and the sound marks of half-width kana. */
const SPACING = /[\p{Spacing_Mark}\uff00-\uffef]/u;
/** The first consonants of syllables in decomposed Hangul; vowels and last consonants are drawn inside theirs. */
const HANGUL_LEADS = /[\u1100-\u115f\ua960-\ua97c]/g;
/** Emoji whose first character alone is narrow: shown as emoji (U+FE0F), with a skin tone, flags, and keycaps. */
const WIDE_EMOJI =
  /^(?:(?![\d#*\p{Regional_Indicator}])\p{Emoji}\ufe0f|\p{Emoji_Modifier_Base}\p{Emoji_Modifier}|\p{Regional_Indicator}{2}|[\d#*]\ufe0f?\u20e3)$/u;
const PICTOGRAPHS = /\p{Extended_Pictographic}/gu;

/** By the rules of the package string-width, whose one pattern for all emoji takes longer to build than Node to start. */
function measureGrapheme(grapheme: string): number {
  const start = grapheme.search(VISIBLE);
  if (start === -1) return 0;
  if (WIDE_EMOJI.test(grapheme) || isJoinedEmoji(grapheme)) return 2;
  const leads = grapheme.match(HANGUL_LEADS);
  if (leads !== null) return 2 * leads.length;
  const [first = '', ...others] = grapheme.slice(start);
  return others.reduce((sum, char) => sum + (SPACING.test(char) ? measureCharacter(char) : 0), measureCharacter(first));
}

function isJoinedEmoji(grapheme: string): boolean {
  return grapheme.includes('\u200d') && (grapheme.match(PICTOGRAPHS)?.length ?? 0) > 1;
}

function measureCharacter(char: string): number {
  return eastAsianWidth(char.codePointAt(0) ?? 0);
}

let graphemes: Intl.Segmenter | undefined;

/** Made on first use: it takes a third of the time that Node takes to start. */
export function graphemeSegmenter(): Intl.Segmenter {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return graphemes;
}

/** Node 20 segments a text in quadratic time, so long texts are segmented in pieces of this length. */
const PIECE_LENGTH = 512;
/** Longer than any real grapheme. */
const LONGEST_GRAPHEME = 64;

/** Splits a text at grapheme boundaries; a grapheme longer than the limit is cut. */
function* splitPieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > PIECE_LENGTH) {
    const ahead = text.slice(start, start + PIECE_LENGTH + LONGEST_GRAPHEME);
    const length = graphemeSegmenter().segment(ahead).containing(PIECE_LENGTH)?.index || PIECE_LENGTH;
    yield ahead.slice(0, length);
    start += length;
  }
  yield text.slice(start);
}

const INDENT = 4;

/**
 * At words; continued lines are indented to the column they belong to. A word that is too wide is not broken, unless told so, and
 * neither is a command after a colon: it can be copied as it stands.
 */
export function wrapText(text: string, columns: number, options: WrapOptions = {}): string {
  return text
    .split('\n')
    .map((line) => (measureWidth(line) <= columns ? line : wrapLine(line, columns, options)))
    .join('\n');
}

interface WrapOptions {
  /** A path that is wider than a row is broken after its slashes. An address never is: it could not be copied. */
  readonly breaksPaths?: boolean;
}

function wrapLine(line: string, columns: number, { breaksPaths = false }: WrapOptions): string {
  const indent = ' '.repeat(findColumnStart(line, columns));
  const isBroken = (word: string): boolean =>
    breaksPaths && !word.includes('://') && measureWidth(word.trim()) > columns - indent.length;
  const rows: string[] = [];
  let row = '';
  // Spaces belong to the word after them and are dropped at the start of a row.
  for (const word of listRowWords(line.trimEnd()).flatMap((each) =>
    isBroken(each) ? (each.match(/[^/]*\/|[^/]+$/g) ?? []) : [each],
  )) {
    if (row !== '' && row.trim() !== '' && measureWidth(row + word) > columns) {
      rows.push(row);
      const text = word.trimStart();
      // A command that fits only without the indent: the terminal would break it.
      const fitsAlone = text.includes(' ') && measureWidth(text) <= columns && measureWidth(indent + text) > columns;
      row = fitsAlone ? text : indent + text;
    } else row += word;
  }
  return [...rows, row].join('\n');
}

const COMMAND =
  /(?<=[:,] )(?:gmn|gemini|npm|gcloud|export|unset|chmod|mv|rm|git) (?:"[^"]*"|'[^']*'|[^,;"'])*?(?:[,;]|\.? *$|\.(?= ))/g;
/** No advice is longer; a longer line is not searched. */
const MAX_ADVICE = 1000;

function listRowWords(line: string): readonly string[] {
  const toWords = (text: string): readonly string[] => text.match(/^ *\S+|\s+\S+/g) ?? [];
  const words: string[] = [];
  let end = 0;
  for (const { index, 0: command } of line.length > MAX_ADVICE ? [] : line.matchAll(COMMAND)) {
    words.push(...toWords(line.slice(end, index)), ` ${command}`);
    end = index + command.length;
  }
  return [...words, ...toWords(line.slice(end))];
}

function findColumnStart(line: string, columns: number): number {
  let indent: number | undefined;
  for (const { index, 0: gap } of line.matchAll(/\S {2,}(?=\S)|^ +(?=\S)/g)) {
    const start = measureWidth(line.slice(0, index + gap.length));
    if (start > columns / 2) break;
    indent = start;
  }
  return indent ?? INDENT;
}

export function truncateEnd(text: string, columns: number): string {
  return measureWidth(text) <= columns ? text : `${takeGraphemes(splitGraphemes(text), columns - 1).join('')}…`;
}

/** Keeps the end, as of a path, whose end says more than its start. */
export function truncateStart(text: string, columns: number): string {
  if (measureWidth(text) <= columns) return text;
  return `…${takeGraphemes(splitGraphemes(text).toReversed(), columns - 1)
    .toReversed()
    .join('')}`;
}

function takeGraphemes(graphemes: readonly string[], columns: number): readonly string[] {
  let width = 0;
  const end = graphemes.findIndex((grapheme) => {
    width += measureWidth(grapheme);
    return width > columns;
  });
  return end === -1 ? graphemes : graphemes.slice(0, end);
}
