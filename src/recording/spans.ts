import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { MARK } from '../core/text/secrets.ts';

/** Part of a text, without the character at `end`, and what is written there; absent: that something was redacted. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly text?: string;
}

/** In order, without overlaps. A span that began in an earlier text has its replacement there. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  let end = 0;
  const kept = spans.map((span) => {
    const before = text.slice(end, Math.max(0, span.start));
    end = span.end;
    return span.start < 0 ? before : before + (span.text ?? MARK);
  });
  return kept.join('') + text.slice(end);
}

/** The same in texts of which each continues the one before: what is looked for may be split over them. */
export function replaceAcross(
  values: readonly JsonValue[],
  findSpans: (text: string) => readonly Span[],
): readonly JsonValue[] {
  const fields = new Map<string, string[]>();
  for (const value of values) {
    mapTexts(value, '', (text, field) => {
      const pieces = fields.get(field) ?? [];
      fields.set(field, pieces);
      pieces.push(text);
      return text;
    });
  }
  const replaced = new Map(
    [...fields].map(([field, pieces]) => [
      field,
      replaceInPieces(pieces, findSpans(pieces.join('')))[Symbol.iterator](),
    ]),
  );
  return values.map((value) => mapTexts(value, '', (text, field) => replaced.get(field)?.next().value ?? text));
}

function replaceInPieces(pieces: readonly string[], spans: readonly Span[]): readonly string[] {
  let start = 0;
  return pieces.map((piece) => {
    const end = start + piece.length;
    const inside = spans
      .filter((span) => span.start < end && span.end > start)
      .map((span) => ({ text: span.text, start: span.start - start, end: span.end - start }));
    start = end;
    return replaceSpans(piece, inside);
  });
}

/** Only texts that are said piece by piece. */
function mapTexts(value: JsonValue, field: string, change: (text: string, field: string) => string): JsonValue {
  if (isList(value)) return value.map((item) => mapTexts(item, field, change));
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, item]) => {
    const inner = `${field}.${key}`;
    if (typeof item === 'string') return [key, /^(?:text|delta|stringValue)$/.test(key) ? change(item, inner) : item];
    return [key, item === undefined ? item : mapTexts(item, inner, change)];
  });
  return Object.fromEntries(entries);
}
