import type { Out } from '../core/io.ts';
import type { JsonValue } from '../core/json.ts';
import { encode, encodeInner } from './json-text.ts';
import type { KeptText } from './kept-text.ts';

/** One key of an object that is written piece by piece. A member whose value is undefined is left out. */
export type Member =
  | { readonly key: string; readonly value: JsonValue | undefined }
  | { readonly key: string; readonly text: KeptText }
  | { readonly key: string; readonly members: readonly Member[] };

const PIECE_LENGTH = 65_536;

/**
 * Writes one object, two spaces deep, with a newline at its end: byte for byte what JSON.stringify(object, null, 2)
 * would give, but never in memory as a whole. Awaits the writer every 64 KB or so.
 */
export async function writeDocument(out: Out, members: readonly Member[]): Promise<void> {
  let pending = '';
  for (const piece of documentPieces(members, '')) {
    pending += piece;
    if (pending.length < PIECE_LENGTH) continue;
    await out.write(pending);
    pending = '';
  }
  await out.write(`${pending}\n`);
}

function* documentPieces(members: readonly Member[], indent: string): Generator<string> {
  const inner = `${indent}  `;
  let opening = '{';
  for (const member of members) {
    if ('value' in member && member.value === undefined) continue;
    yield `${opening}\n${inner}${encode(member.key)}: `;
    yield* memberPieces(member, inner);
    opening = ',';
  }
  yield opening === '{' ? '{}' : `\n${indent}}`;
}

function* memberPieces(member: Member, indent: string): Generator<string> {
  if ('members' in member) return yield* documentPieces(member.members, indent);
  if ('text' in member) {
    yield '"';
    for (const piece of member.text.pieces()) yield encodeInner(piece);
    return yield '"';
  }
  // A raw line break is never part of a JSON string, so this indents structure only.
  yield encode(member.value ?? null, 2).replaceAll('\n', () => `\n${indent}`);
}

/** The list, or undefined, so that an empty one leaves no key behind. */
export function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
