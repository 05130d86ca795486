/** Shorter ones are found in ordinary words, and hide nothing worth it. */
const MIN_LENGTH = 8;
const MARK = '‹redacted›';

/**
 * Words for a person without these secrets: as they are, URL-encoded, escaped for JSON, or in base64, also in the middle
 * of it. Secrets of fewer than 8 characters stay. Only for words that are shown, never for data that is read. Never throws.
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
