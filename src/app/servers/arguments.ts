import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, type JsonValue, tryParseJson } from '../../core/json.ts';
import { decodeText } from '../../core/text/decode.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { resolveNamedFile } from '../../input/named-file.ts';
import { readBytes } from '../../platform/files/read.ts';

const MAX_BYTES = 16_000_000;

export function rejectArguments(args: readonly string[], command: string): void {
  if (args.length > 0) {
    throw new AppError('usage', `"gmn ${command}" takes no arguments`, { hint: `Run: gmn ${command} --help` });
  }
}

export function requireArguments(args: readonly string[], most: number, command: string): readonly string[] {
  if (args.length <= most) return args;
  throw new AppError('usage', `"gmn ${command}" takes ${most === 1 ? 'one argument' : `${most} arguments`}`, {
    hint: `Run: gmn ${command} --help`,
  });
}

/** Splits at the first `=`. A value `@file` or `-` (stdin) is read; `@@x` means `@x`. Throws AppError `usage`. */
export async function readPairs(words: readonly string[], app: App): Promise<readonly (readonly [string, string])[]> {
  const pairs: (readonly [string, string])[] = [];
  const stdin = createStdinReader(app);
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) {
      throw new AppError('usage', `${sanitize(word)} is not of the form name=value`, {
        hint: 'Example: path=README.md; for text with odd characters: name=@file',
      });
    }
    pairs.push([word.slice(0, at), await readValue(word.slice(at + 1), { app, stdin })]);
  }
  return pairs;
}

/** A value that is JSON is parsed, unless the schema wants a string and it is none, or a number would lose precision. */
export function parseToolArguments(pairs: readonly (readonly [string, string])[], schema: JsonObject): JsonObject {
  return Object.fromEntries(pairs.map(([name, text]) => [name, parseArgument(text, schema, name)]));
}

/** Takes an object, or `@file` or `-` to read one from. Throws AppError `usage`. */
export async function readJsonArguments(text: string, app: App): Promise<JsonObject> {
  const value = tryParseJson(await readValue(text, { app, stdin: createStdinReader(app) }));
  if (isObject(value)) return value as JsonObject;
  throw new AppError('usage', '--json: that is not a JSON object', { hint: `Example: --json '{"path":"README.md"}'` });
}

function parseArgument(text: string, { properties }: JsonObject, name: string): JsonValue {
  const property = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const value = tryParseJson(text);
  if (value === undefined) return text;
  if (typeof value === 'number' && losesPrecision(value, text)) return text;
  const wantsText = isObject(property) && property.type === 'string';
  return wantsText && typeof value !== 'string' ? text : (value as JsonValue);
}

function losesPrecision(value: number, text: string): boolean {
  return !Number.isFinite(value) || (/^\s*-?\d+\s*$/.test(text) && !Number.isSafeInteger(value));
}

interface ValueSources {
  readonly app: App;
  readonly stdin: () => Promise<string>;
}

async function readValue(text: string, { app, stdin }: ValueSources): Promise<string> {
  if (text === '-') return stdin();
  if (!text.startsWith('@') || text === '@') return text;
  const name = text.slice(1);
  if (name.startsWith('@')) return name;
  const tooLarge = (): AppError => argumentTooLargeError(name);
  const bytes = await resolveNamedFile(name, app)
    .then((path) => readBytes(path, { name, maxBytes: MAX_BYTES, tooLarge }))
    .catch((thrown: unknown) => {
      throw addTextHint(AppError.from(thrown), text);
    });
  return requireText(bytes, name);
}

function addTextHint(error: AppError, text: string): AppError {
  const advice = `For the text ${sanitize(text)} itself write @${sanitize(text)}, or use --json.`;
  return error.with({ hint: `${error.hint ?? ''} ${advice}`.trimStart() });
}

function createStdinReader(app: App): () => Promise<string> {
  let isRead = false;
  return async () => {
    if (isRead)
      throw new AppError('usage', 'stdin can be read for one value only', { hint: 'Use @file for the others.' });
    isRead = true;
    const chunks: Uint8Array[] = [];
    let total = 0;
    for await (const chunk of app.stdin.read(app.signal)) {
      total += chunk.length;
      if (total > MAX_BYTES) throw argumentTooLargeError('stdin');
      chunks.push(chunk);
    }
    return requireText(Buffer.concat(chunks), 'stdin');
  };
}

function argumentTooLargeError(name: string): AppError {
  return new AppError('usage', `${name} is larger than 16 MB`, { hint: 'Use a smaller file.' });
}

function requireText(bytes: Uint8Array, name: string): string {
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', `${name} is not text`, { hint: 'Arguments of a tool are text or JSON.' });
}
