import type { JsonObject, JsonValue } from '../core/json.ts';

/** What JSON allows raw but a terminal obeys, or a reader of lines takes for the end of one. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A value as JSON text that is safe on a terminal and never holds a line break of any kind inside a string:
 * the control characters JSON.stringify leaves alone are escaped too. Parses back to the same value.
 */
export function encode(value: JsonValue | object, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent);
  return isPrintable(json) ? json : json.replace(UNSAFE, escapeUnit);
}

/** Whether all of it is ASCII, and no DEL: asked in this way, it costs nothing even of a long text. */
function isPrintable(json: string): boolean {
  return Buffer.byteLength(json) === json.length && !json.includes('\u007f');
}

/** A string as JSON text without its quotes, so that a long one can be written piece by piece. */
export function encodeInner(text: string): string {
  return encode(text).slice(1, -1);
}

/** A value as a document for people and scripts, two spaces deep, with a newline at its end. */
export function encodeDocument(value: JsonValue | object): string {
  return `${encode(value, 2)}\n`;
}

/** One line of a stream of events. */
export function encodeLine(value: JsonObject): string {
  return `${encode(value)}\n`;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
