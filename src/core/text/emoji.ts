/** Made to a regular expression where it is used, not at load: few starts need it. */
const EMOJI = '(\\p{RGI_Emoji})';

/** A text in pieces: every second one is an emoji, whose invisible characters join what is seen; the others may be empty. */
export function emojiApart(text: string): readonly string[] {
  return text.split(new RegExp(EMOJI, 'v'));
}
