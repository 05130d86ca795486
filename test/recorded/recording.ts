import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parseLines } from '../support/gmn.ts';
import { toRecording } from './convert.ts';

/** One exchange that somebody recorded with Google's servers: a line of the file that `npm run test:recorded` plays. */
export interface Recording {
  readonly id: string;
  /** Where it was published: `owner/repository:path#number`. */
  readonly source: string;
  readonly method: string;
  /** Without scheme and key. */
  readonly url: string;
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reads a file of one JSON object a line, also one of `gmn demo serve --record`; one that ends in `.gz` is compressed. */
export function readRecordings(path: string | URL): readonly Recording[] {
  const bytes = readFileSync(path);
  const text = (String(path).endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return parseLines(text).map((line) => (line.v === 1 ? toRecording(line) : line));
}

/** Which command of gmn makes such a request. */
export type Kind = 'prompt' | 'count' | 'embed' | 'models' | 'files';

const KINDS: readonly (readonly [RegExp, Kind])[] = [
  // The response files of the official CLI's tests name no method.
  [/:(?:stream)?generateContent(?:\?|$)|^cloudcode-or-gemini\b/i, 'prompt'],
  [/:countTokens(?:\?|$)/, 'count'],
  [/:(?:batchEmbedContents|embedContent|predict)(?:\?|$)/, 'embed'],
  [/\/models(?:\?|$)/, 'models'],
  [/\/files(?:\?|$)/, 'files'],
];

/** Requests that gmn does not make, or makes only as one of several. */
const NOT_PLAYED: readonly (readonly [RegExp, string])[] = [
  [/\/cachedContents\b/, 'an explicit cache: gmn leaves caching to the service'],
  [/\/fileSearchStores\b/, 'a store of File Search, which gmn does not use'],
  [/\/interactions\b/, 'an interaction with a model: gmn asks only agents there, and looks again until they are done'],
  [/:batchGenerateContent\b|\/batches\b/, 'a job of the Batch API, which is several requests'],
  [/\/operations\b/, 'an operation that gmn does not begin'],
  [/\/publishers\/(?!google\/)|\/openai\//, 'a request in the form of another company’s service'],
];

/** What plays the recording; a text says why nothing does. Throws for a request that is in neither list. */
export function findKind({ url, method, body, status }: Recording): Kind | { readonly skipped: string } {
  const kind = KINDS.find(([pattern]) => pattern.test(url))?.[1];
  if (kind === undefined) {
    const skipped = NOT_PLAYED.find(([pattern]) => pattern.test(url))?.[1];
    if (skipped === undefined) throw new Error(`nothing plays a request to ${url}, and nothing says why`);
    return { skipped };
  }
  if ((kind === 'models' || kind === 'files') && method.toUpperCase() !== 'GET') {
    return { skipped: 'an upload, which is several requests' };
  }
  if (url.includes('/v1internal:')) return { skipped: 'Code Assist, which is asked for an account first' };
  if (body.startsWith('@@{')) return { skipped: 'the body lies in another file of the recording project' };
  if (kind === 'embed' && status === 200 && !/"(?:embeddings?|values)"/.test(body)) {
    return { skipped: 'an answer of a model that makes pictures, at the same address as embeddings' };
  }
  return kind;
}

export type Service = 'gemini-api' | 'vertex';

export function findService({ url }: Recording): Service {
  return /^[^/]*aiplatform\./.test(url) ? 'vertex' : 'gemini-api';
}

/** The model of the recorded request; recordings of a bare answer have a placeholder, or none. */
export function findModel({ url }: Recording): string {
  const name = /\/models\/([^/:?]+)/.exec(url)?.[1] ?? 'x';
  return name === 'x' ? 'gemini-2.5-flash' : name;
}
