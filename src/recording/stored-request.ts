import { isObject, isTooDeep, type JsonObject, type JsonValue, tryParseJson } from '../core/json.ts';
import { tryDecompress } from '../platform/runtime/zlib.ts';
import { pickHeaders, type StoredRequest, unwrapBody } from './exchange.ts';
import { addMedia, detachMedia, INLINE_LENGTH, type Media } from './media.ts';
import { NO_PLACES } from './places.ts';
import { isSecretParameter, scrub } from './scrub.ts';

/** A request as a client sent it. */
export interface RawRequest {
  readonly method: string;
  /** Not decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
}

/** All others may identify or authorise somebody. */
const REQUEST_HEADERS = /^(?:content-type|x-goog-upload-(?:protocol|command|offset|header-content-(?:length|type)))$/;

/** A longer text is no longer one to read. */
const TEXT_LENGTH = 65_536;

/** What is stored of it, and what its bodies hold in files of their own. */
export async function toStoredRequest(
  { method, path, query, headers, body }: RawRequest,
  secrets: ReadonlySet<string>,
  places = NO_PLACES,
): Promise<{ readonly request: StoredRequest; readonly media: Media }> {
  const media: Media = new Map();
  const kept = [...query]
    .filter(([name]) => !isSecretParameter(name))
    .map(([name, value]) => [name, name === 'upload_id' ? 'upload' : value]);
  const outer = { path, query: Object.fromEntries(kept), headers: pickHeaders(headers, REQUEST_HEADERS) };
  const scrubbed = await scrub(outer, secrets);
  const plain = decodeBody(body, headers['content-encoding']);
  const stored = {
    method,
    ...scrubbed,
    path: maskProject(scrubbed.path),
    ...(await storeBody(plain, (value) => scrub(value, secrets, places), media)),
  };
  return { request: stored, media };
}

async function storeBody(
  body: string | Uint8Array | undefined,
  clean: <Value extends JsonValue>(value: Value) => Promise<Value>,
  media: Media,
): Promise<Pick<StoredRequest, 'body' | 'text' | 'media'>> {
  if (body === undefined || body.length === 0) return {};
  const text = typeof body === 'string' ? body : tryDecode(body);
  const value = text === undefined ? undefined : (tryParseJson(text) as JsonValue | undefined);
  if (value !== undefined && typeof value === 'object' && !isTooDeep(value)) {
    const stored = maskIds(await clean(value), 'request');
    return { body: body.length > INLINE_LENGTH ? detachMedia(stored, media) : stored };
  }
  if (text === undefined) return { media: addMedia(Buffer.from(body), media) };
  const scrubbed = await clean(text);
  return text.length <= TEXT_LENGTH ? { text: scrubbed } : { media: addMedia(Buffer.from(scrubbed), media) };
}

/** As it came, if it is not what the header says. */
function decodeBody(body: RawRequest['body'], encoding: string | undefined): RawRequest['body'] {
  if (body === undefined || encoding === undefined) return body;
  return tryDecompress(Buffer.from(body), encoding.trim().toLowerCase()) ?? body;
}

/** Undefined if the bytes are no text. */
export function tryDecode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A project of Google Cloud tells whose recording it is. */
const PROJECT = /(\bprojects\/|\bproject_number:)[\w:.-]{1,63}|(\bproject )\d{6,20}\b/gi;

/** In what is said about an account, also inside of an address. */
const EMAIL = /[\w.+-]{1,64}(@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g;

function maskAccount(text: string): string {
  return maskProject(text).replace(EMAIL, 'user$1example.com');
}

function maskProject(text: string): string {
  return text.replace(PROJECT, (_, path = '', words = '') => `${path}${words}project`);
}

/** The conversation itself, where these names may be anybody's. */
const CONVERSATION =
  /^(?:contents|candidates|system_?instruction|tools|instances|predictions|requests|responses|embeddings?)$/i;

const IDS: Readonly<Record<string, string>> = {
  responseId: 'response',
  traceId: 'trace',
  project: 'project',
  duetProject: 'project',
  cloudaicompanionProject: 'project',
  session_id: 'session',
  sessionId: 'session',
  user_prompt_id: 'prompt',
  ...Object.fromEntries(
    ['access', 'refresh', 'id'].flatMap((kind) => [`${kind}_token`, `${kind}Token`].map((name) => [name, 'token'])),
  ),
  client_secret: 'secret',
  clientSecret: 'secret',
};

/** Replaces ids of accounts, projects and single requests by a name that is always the same; `number` makes it unique. */
export function maskIds(value: JsonValue, kind: 'request' | 'response', number?: number): JsonValue {
  const visit = (item: JsonValue | undefined, key: string): JsonValue | undefined => {
    if (CONVERSATION.test(key)) return item;
    const name = Object.hasOwn(IDS, key) ? IDS[key] : undefined;
    if (name !== undefined && typeof item === 'string') return isUnique(name) ? `${name}-${number}` : name;
    if (name === 'project' && isObject(item))
      return { ...(item as JsonObject), id: name, name, projectNumber: undefined };
    if (typeof item === 'string') return kind === 'response' ? maskAccount(item) : item;
    if (Array.isArray(item)) return item.map((inner: JsonValue) => visit(inner, '') ?? null);
    if (!isObject(item)) return item;
    return Object.fromEntries(Object.entries(item as JsonObject).map(([inner, own]) => [inner, visit(own, inner)]));
  };
  const isUnique = (name: string): boolean => number !== undefined && name !== 'project';
  return visit(value, '') ?? null;
}

/** The same in JSON that is kept as it was written. */
export function maskIdsInText(text: string, number: number): string {
  const names = Object.keys(IDS).join('|');
  const masked = text.replace(
    new RegExp(`"(${names})"(\\s*:\\s*)"[^"\\\\]*"`, 'g'),
    (_, key: string, colon: string) => {
      const name = IDS[key] ?? key;
      return `"${key}"${colon}"${name === 'project' ? name : `${name}-${number}`}"`;
    },
  );
  return text.includes('"candidates"') ? masked : maskAccount(masked);
}

export function findModel({ path, body }: Pick<StoredRequest, 'path' | 'body'>): string | undefined {
  const named = isObject(body) ? (body.model ?? unwrapBody(body).model) : undefined;
  const model = /\/models\/([^/:?]+)/.exec(path)?.[1] ?? (typeof named === 'string' ? named : undefined);
  return model?.replace(/^models\//, '');
}
