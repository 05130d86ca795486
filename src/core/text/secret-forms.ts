/** Shorter ones are found in ordinary words, and hide nothing worth it. */
const MIN_LENGTH = 8;
/** What stands in the place of a secret. */
export const MARK = '‹redacted›';

/**
 * A text without these secrets: as they are, URL-encoded, escaped for JSON, or in base64, also in the middle of it. Secrets
 * of fewer than 8 characters stay. Not for data that a program reads: the mark is no base64. Never throws.
 */
export function concealed(text: string, secrets: Iterable<string>): string {
  const forms = new Set([...secrets].filter(({ length }) => length >= MIN_LENGTH).flatMap(formsOf));
  let result = text;
  // The longest first: one secret may be the beginning of another.
  for (const form of [...forms].sort((a, b) => b.length - a.length)) {
    if (form.length >= MIN_LENGTH) result = result.replaceAll(form, () => MARK);
  }
  return result;
}

/**
 * What is about to be sent, without these secrets in any of its texts and attachments; the very value if it has none of
 * them. Never throws.
 */
export function concealedIn<Value>(value: Value, secrets: ReadonlySet<string>): Value {
  return secrets.size === 0 ? value : (concealedValue(value, secrets) as Value);
}

function concealedValue(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return concealed(value, secrets);
  if (Array.isArray(value)) {
    const items = value.map((item) => concealedValue(item, secrets));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, concealedEntry(key, item, secrets)] as const);
  const isSame = entries.every(([key, item]) => item === (value as Record<string, unknown>)[key]);
  return isSame ? value : Object.fromEntries(entries);
}

function concealedEntry(key: string, value: unknown, secrets: ReadonlySet<string>): unknown {
  const media = key === 'inlineData' ? (value as { readonly data?: unknown } | null) : undefined;
  if (typeof media?.data !== 'string') return concealedValue(value, secrets);
  const data = concealedBytes(media.data, secrets);
  return data === media.data ? value : { ...media, data };
}

/** The base64 of bytes without the secrets. Each byte is a character of its own meanwhile, so that the others stay. */
function concealedBytes(data: string, secrets: ReadonlySet<string>): string {
  const bytes = Buffer.from(data, 'base64');
  const found = [...secrets].filter((secret) => bytes.includes(secret));
  if (found.length === 0) return data;
  const mark = Buffer.from(MARK).toString('latin1');
  const text = found.reduce((rest, secret) => rest.replaceAll(secret, () => mark), bytes.toString('latin1'));
  return Buffer.from(text, 'latin1').toString('base64');
}

function formsOf(secret: string): readonly string[] {
  const url = encodeURIComponent(secret.toWellFormed());
  const json = inJson(secret);
  return [
    secret,
    url,
    url.replace(/%[\dA-F]{2}/g, lower),
    url.toLowerCase(),
    json,
    inJson(json),
    forHtml(json),
    ...base64Forms(secret),
  ];
}

function lower(text: string): string {
  return text.toLowerCase();
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Google's servers write these so even where no page is near. */
function forHtml(json: string): string {
  return json.replace(/[<>&=']/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

/** The whole, and what is the same in the base64 of any text with the secret in it, by how far its bytes are shifted. */
function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString('base64');
  const shifted = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
    return encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
  });
  const plain = shifted.map((form) => form.replaceAll('-', '+').replaceAll('_', '/'));
  return [whole, bytes.toString('base64url'), ...shifted, ...plain];
}
