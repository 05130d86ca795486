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
