import { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { splitLines } from '../../mcp/wire/lines.ts';

/** A line is a vector of some thousand numbers with its text. */
const MAX_LINE_BYTES = 4_000_000;

export interface Match {
  /** From -1 to 1. */
  readonly score: number;
  /** What the line says besides its vector: `id`, `file`, `text` and the like. */
  readonly fields: JsonObject;
}

interface VectorFile {
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * The vectors of files that point most nearly in the direction of `query`, best first: by cosine. Holds no more than `top` of them.
 * Throws AppError `usage` for a line that is no vector, or one of another length.
 */
export async function findSimilar(
  files: AsyncIterable<VectorFile>,
  query: readonly number[],
  top: number,
): Promise<readonly Match[]> {
  const best: Match[] = [];
  for await (const { name, chunks } of files) {
    let number = 0;
    for await (const line of splitLines(chunks, { maxBytes: MAX_LINE_BYTES, tooLong: 'stop' })) {
      number += 1;
      if ('text' in line && line.text.trim() === '') continue;
      const { values, ...fields } = requireVector('text' in line ? line.text : '', `line ${number} of ${name}`);
      if (values.length !== query.length) throw lengthError(`line ${number} of ${name}`, values, query);
      const score = computeCosine(values, query);
      const rank = best.findIndex((match) => match.score < score);
      if (rank === -1 && best.length >= top) continue;
      best.splice(rank === -1 ? best.length : rank, 0, { score, fields });
      best.length = Math.min(best.length, top);
    }
  }
  return best;
}

function requireVector(text: string, where: string): JsonObject & { readonly values: readonly number[] } {
  const value = tryParseJson(text);
  const values: unknown = isObject(value) ? value.values : undefined;
  if (Array.isArray(values) && values.length > 0 && values.every((each) => Number.isFinite(each))) {
    return value as JsonObject & { readonly values: readonly number[] };
  }
  throw new AppError('usage', `${where} has no vector`, {
    hint: 'Make the file with gmn embed: lines of JSON with "values".',
  });
}

function lengthError(where: string, values: readonly number[], query: readonly number[]): AppError {
  return new AppError('usage', `${where} has ${values.length} dimensions, the query has ${query.length}`, {
    hint: `Ask with the model (-m) and the --dimensions that the vectors were made with, such as --dimensions ${values.length}`,
  });
}

/** 0 for a vector without a direction. */
function computeCosine(left: readonly number[], right: readonly number[]): number {
  let [dot, leftSquare, rightSquare] = [0, 0, 0];
  for (let at = 0; at < left.length; at += 1) {
    const [a = 0, b = 0] = [left[at], right[at]];
    dot += a * b;
    leftSquare += a * a;
    rightSquare += b * b;
  }
  return leftSquare === 0 || rightSquare === 0 ? 0 : dot / Math.sqrt(leftSquare * rightSquare);
}

/** `0.8123  reviews.csv  42  the text`; what a line does not say is left out. */
export function formatMatch({ score, fields: { file, line, row, id, text } }: Match): string {
  const place = [file, line ?? row].filter((part) => part !== undefined).join(':');
  const parts = [score.toFixed(4), ...[place, id, text].filter((part) => part !== undefined && part !== '')];
  return `${parts.map((part) => sanitize(String(part).replaceAll(/\s+/g, ' '))).join('  ')}\n`;
}
