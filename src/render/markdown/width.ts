import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;

/** Columns the text takes on a terminal: two for a wide character, none for one that combines. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** The characters as a reader counts them. */
export function graphemesOf(text: string): readonly string[] {
  return Array.from(segments.segment(text), ({ segment }) => segment);
}

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
