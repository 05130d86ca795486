import type { JsonObject, JsonValue } from '../core/json.ts';

/** Characters that JSON allows raw but that control a terminal or end a line for some readers. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * JSON text that is safe on a terminal and has no line break of any kind inside a string: the control characters that
 * JSON.stringify leaves alone are escaped too. Parses back to the same value.
 */
export function encodeJson(value: JsonValue | object, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent);
  // All ASCII without DEL: this test is cheap even for a long text.
  const isPrintable = Buffer.byteLength(json) === json.length && !json.includes('\u007f');
  return isPrintable ? json : json.replace(UNSAFE, escapeUnit);
}

export function encodeDocument(value: JsonValue | object): string {
  return `${encodeJson(value, 2)}\n`;
}

export function encodeLine(value: JsonObject): string {
  return `${encodeJson(value)}\n`;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
