import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { createSecretFinder, MARK, redactCredentials, redactIn } from '../core/text/secrets.ts';
import { nextTurn } from '../platform/runtime/clock.ts';
import { decodeBytes, decodeEscapes, ENCODINGS } from './encodings.ts';
import { isDataKey } from './media.ts';
import { redactNamed } from './named-secrets.ts';
import { NO_PLACES } from './places.ts';

/** Without the given secrets in any of the forms of `redactKnown`, what has the form of a credential, what is named as one, and the names of directories. */
export async function scrub<Value extends JsonValue>(
  value: Value,
  secrets: ReadonlySet<string>,
  places = NO_PLACES,
): Promise<Value> {
  return redactNamed(places.hide(replaceCredentials(await redactIn(value, secrets, nextTurn)))) as Value;
}

/** Not in data and signatures: a mark would break them, and by chance base64 resembles anything. */
function replaceCredentials(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactCredentials(value, MARK);
  if (isList(value)) return value.map(replaceCredentials);
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, item]) => {
    const isKept = typeof item === 'string' && (isDataKey(key) || /signature$/i.test(key));
    return [key, item === undefined || isKept ? item : replaceCredentials(item)];
  });
  return Object.fromEntries(entries);
}

/** The credentials that a request carries. */
export function listCredentials(
  headers: Readonly<Record<string, string | undefined>>,
  query: URLSearchParams,
): readonly string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && CREDENTIAL_HEADER.test(name) ? listCredentialParts(value) : [],
  );
  const named = [...query].flatMap(([name, value]) => (isSecretParameter(name) ? [value] : []));
  return [...values, ...named].map((value) => value.trim()).filter((value) => value !== '');
}

const CREDENTIAL_HEADER = /^(?:proxy-)?authorization$|^cookie$|(?:key|token|secret)$/i;

/** The whole, what follows its scheme, the password of `Basic`, and the values of cookies. */
function listCredentialParts(value: string): readonly string[] {
  const [, basic] = /^Basic\s+([\w+/-]+)/i.exec(value) ?? [];
  const [, ...password] = basic === undefined ? [] : decodeBytes(basic, 'base64').split(':');
  const cookies = value.split(';').map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [value, value.replace(/^(?:Bearer|Basic)\s+/i, ''), password.join(':'), ...cookies];
}

/** Whether a parameter of an address is never stored. */
export function isSecretParameter(name: string): boolean {
  return (
    /key|token|secret|sign|^sig$|credential|password|auth|^(?:quotaUser|userIp)$/i.test(name) &&
    !/^pageToken$/i.test(name)
  );
}

/** How often one encoding may be inside another. */
const NESTING = 3;
/** In characters: in longer texts only the forms of `redactKnown` are looked for. */
const DECODED_LENGTH = 4_000_000;

/** Whether one of the secrets can be read from the texts, also through an encoding or two. */
export function hasSecretInside(texts: Iterable<string>, secrets: ReadonlySet<string>): boolean {
  if (secrets.size === 0) return false;
  const isInside = createSecretFinder(secrets);
  let layer = new Set(texts);
  for (let depth = 0; depth <= NESTING; depth += 1) {
    for (const text of layer) if (isInside(text)) return true;
    const short = [...layer].filter(({ length }) => length <= DECODED_LENGTH);
    layer = new Set(short.flatMap((text) => DECODERS.map((decode) => decode(text)).filter((it) => it !== text)));
  }
  return false;
}

/** A secret may be encoded in part; of what is encoded as a whole only that is read. */
const DECODERS: readonly ((text: string) => string)[] = [
  decodeEscapes,
  (text) => text.replace(/\\(.)/g, '$1'),
  ...ENCODINGS.map(
    ([pattern, decode]) =>
      (text: string) =>
        (text.match(pattern) ?? []).map(decode).join('\n'),
  ),
];

/** What a reader of all chunks sees: the texts of each field, one after the other. A secret may be split over chunks. */
export function joinFields(values: readonly JsonValue[]): readonly string[] {
  const joined = new Map<string, string[]>();
  const visit = (value: JsonValue | undefined, field: string): void => {
    if (typeof value === 'string') {
      const texts = joined.get(field) ?? [];
      texts.push(value);
      joined.set(field, texts);
    }
    if (isList(value)) for (const item of value) visit(item, field);
    else if (isObject(value))
      for (const [key, item] of Object.entries(value as JsonObject)) visit(item, `${field}.${key}`);
  };
  for (const value of values) visit(value, '');
  return [...joined.values()].filter((texts) => texts.length > 1).map((texts) => texts.join(''));
}
