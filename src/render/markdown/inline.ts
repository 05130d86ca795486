import type { MarkedToken, Token, Tokens } from 'marked';
import { stripControls } from '../../core/text/terminal.ts';
import { type Paint, plainPaint, type Theme } from './theme.ts';
import type { Span } from './wrap.ts';

/**
 * The inline tokens of one block as spans. Keeps every word of the source. Control characters are filtered again here,
 * because the lexer decodes entities and can thereby create them.
 */
export function toSpans(tokens: readonly Token[], theme: Theme, paint: Paint = plainPaint): Span[] {
  return asMarkedTokens(tokens)
    .flatMap((token) => tokenSpans(token, theme, paint))
    .map((span) => ({ ...span, text: stripControls(span.text) }));
}

/** A cast: marked gives no other kinds as long as no extension is registered. */
export function asMarkedTokens(tokens: readonly Token[]): readonly MarkedToken[] {
  return tokens as readonly MarkedToken[];
}

function tokenSpans(token: MarkedToken, theme: Theme, paint: Paint): Span[] {
  const within = (tokens: readonly Token[], next: Paint): Span[] => toSpans(tokens, theme, (text) => paint(next(text)));
  switch (token.type) {
    case 'text':
      if (token.tokens !== undefined) return toSpans(token.tokens, theme, paint);
      return [{ text: decodeMarkdownEntities(token.raw), paint }];
    case 'escape':
      return [{ text: token.text, paint }];
    case 'checkbox':
      return [];
    case 'strong':
      return within(token.tokens, theme.strong);
    case 'em':
      return within(token.tokens, theme.emphasis);
    case 'del': {
      // A single tilde means "about" far more often than deletion.
      const mark: Span = { text: token.raw.startsWith('~~') ? '~~' : '~', paint };
      if (theme.isStyled && mark.text === '~~') return within(token.tokens, theme.strike);
      return [mark, ...toSpans(token.tokens, theme, paint), mark];
    }
    case 'codespan': {
      const text = token.text.replaceAll('\n', ' ');
      return [{ text: theme.isStyled ? text : `\`${text}\``, paint: (code) => paint(theme.code(code)), isCode: true }];
    }
    case 'br':
      return [{ text: '\n', paint }];
    case 'html':
      return [{ text: /^<br\s*\/?>$/i.test(token.raw) ? '\n' : token.raw, paint }];
    case 'link':
      return linkSpans(token, toSpans(token.tokens, theme), { theme, paint });
    case 'image':
      return linkSpans(token, [{ text: decodeMarkdownEntities(token.text), paint: plainPaint }], { theme, paint });
    default:
      return [{ text: token.raw, paint }];
  }
}

/** Always shows the address too, so that a link's text cannot disguise where it leads. */
function linkSpans(
  { href, title }: Tokens.Link | Tokens.Image,
  label: readonly Span[],
  { theme, paint }: { readonly theme: Theme; readonly paint: Paint },
): Span[] {
  const address = decodeMarkdownEntities(href);
  const link = theme.hasLinks ? hyperlink(address) : plainPaint;
  const text = label.map((span) => span.text).join('');
  const isItself = [text, `mailto:${text}`, `http://${text}`].includes(address);
  const note = title ? `${address} "${decodeMarkdownEntities(title)}"` : address;
  const spans = label.map((span) => ({
    ...span,
    paint: (run: string) => paint(link(theme.linkText(span.paint(run)))),
  }));
  if (isItself && !title) return spans;
  if (text.trim() === '') return [{ text: note, paint: (run) => paint(link(theme.faint(run))) }];
  const gap: Span = { text: ' ', paint };
  return [...spans, gap, { text: `(${note})`, paint: (run) => paint(link(theme.faint(run))) }];
}

const SCHEMES = /^(?:https?|ftp|mailto):/i;
const MAX_LENGTH = 2000;

function hyperlink(address: string): Paint {
  const target = toLinkTarget(address);
  if (target === undefined) return plainPaint;
  return (text) => `\u001b]8;;${target}\u001b\\${text}\u001b]8;;\u001b\\`;
}

/**
 * The address percent-encoded to printable ASCII, so that it cannot break out of its context; undefined if its scheme
 * is not allowed or it is too long.
 */
export function toLinkTarget(address: string, schemes = SCHEMES): string | undefined {
  if (!schemes.test(address)) return undefined;
  const target = address.replace(/[^\x21-\x7e]/gu, percentEncode);
  return target.length > MAX_LENGTH ? undefined : target;
}

function percentEncode(char: string): string {
  return Array.from(Buffer.from(char, 'utf8'), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
    '',
  );
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  times: '×',
  larr: '←',
  rarr: '→',
  deg: '°',
  euro: '€',
};

/** Decodes common entities. Unknown ones, and those that give a control character, stay as written. */
export function decodeMarkdownEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED_ENTITIES, name) ? (NAMED_ENTITIES[name] ?? entity) : entity;
    return toCharacter(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)) ?? entity;
  });
}

function toCharacter(code: number): string | undefined {
  if (code < 0x20 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
  const char = String.fromCodePoint(code);
  return stripControls(char) === char ? char : undefined;
}
