import { isList, isObject, type JsonObject, type JsonValue, toJsonObject } from '../core/json.ts';
import { formatSize } from '../core/text/format.ts';
import { countBase64Bytes } from '../core/text/media.ts';
import type { RequestHead } from '../platform/http/server.ts';

/** Outer keys in camel case, otherwise unchanged. */
export type DemoPart = JsonObject;

export interface DemoContent {
  readonly role: string;
  readonly parts: readonly DemoPart[];
}

export interface DemoRequest {
  readonly model: string;
  readonly contents: readonly DemoContent[];
  readonly systemText: string;
  readonly generationConfig: JsonObject;
  readonly tools: ReadonlyMap<string, JsonValue | undefined>;
  readonly calling: Calling;
  readonly hasSearch: boolean;
  readonly hasCodeExecution: boolean;
  readonly hasUrlContext: boolean;
  readonly serviceTier: string | undefined;
}

interface Calling {
  /** `AUTO`, `ANY`, `NONE` or `VALIDATED`; other values are kept, to be rejected later. */
  readonly mode: string;
  readonly allowed: readonly string[];
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const TOP_KEYS = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'continuationToken',
  'serviceTier',
  'store',
  'labels',
  'model',
  'generateContentRequest',
  // Code Assist sends its session id in here.
  'sessionId',
]);

const CONFIG_KEYS = new Set(
  (
    'temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty ' +
    'frequencyPenalty seed responseMimeType responseSchema responseJsonSchema routingConfig modelSelectionConfig ' +
    'responseModalities mediaResolution speechConfig audioTimestamp thinkingConfig imageConfig enableEnhancedCivicAnswers ' +
    'audioTranscriptionConfig'
  ).split(' '),
);

/** Without doubled slashes. */
export function cleanPath({ path }: RequestHead): string {
  return path.replace(/\/{2,}/g, '/');
}

export function parseBody(text: string): Parsed<JsonObject> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { ok: true, value: toJsonObject(value) };
    return { ok: false, message: 'Invalid JSON payload received: the body must be an object.' };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : '';
    return { ok: false, message: `Invalid JSON payload received: ${why}` };
  }
}

export function parseRequest(body: JsonObject, model: string): Parsed<DemoRequest> {
  const outer = toCamelKeys(body);
  const stray = Object.keys(outer).find((key) => !TOP_KEYS.has(key));
  if (stray !== undefined) return unknownNameError(stray, 'the request');
  if (outer.store !== undefined && typeof outer.store !== 'boolean') {
    return { ok: false, message: `Invalid value at 'store' (TYPE_BOOL), ${JSON.stringify(outer.store)}` };
  }
  const nested = outer.generateContentRequest;
  if (isObject(nested)) return parseRequest(toJsonObject(nested), model);
  const generationConfig = toCamelKeys(toJsonObject(outer.generationConfig));
  const strayConfig = Object.keys(generationConfig).find((key) => !CONFIG_KEYS.has(key));
  if (strayConfig !== undefined) return unknownNameError(strayConfig, 'generation_config');
  const contents = parseDemoContents(outer.contents);
  if (!contents.ok) return contents;
  const systemParts = toJsonObject(outer.systemInstruction).parts;
  return {
    ok: true,
    value: {
      model,
      contents: contents.value,
      systemText: Array.isArray(systemParts) ? joinPartTexts(systemParts.map(parsePart)) : '',
      generationConfig,
      tools: collectTools(outer.tools),
      calling: parseCalling(outer.toolConfig),
      hasSearch: hasTool(outer.tools, 'googleSearch'),
      hasCodeExecution: hasTool(outer.tools, 'codeExecution'),
      hasUrlContext: hasTool(outer.tools, 'urlContext'),
      serviceTier: typeof outer.serviceTier === 'string' ? outer.serviceTier.toLowerCase() : undefined,
    },
  };
}

function hasTool(tools: JsonValue | undefined, name: string): boolean {
  return isList(tools) && tools.some((tool) => isObject(toCamelKeys(toJsonObject(tool))[name]));
}

function unknownNameError(key: string, where: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message: `Invalid JSON payload received. Unknown name "${key}" in ${where}.` };
}

function parseDemoContents(value: JsonValue | undefined): Parsed<readonly DemoContent[]> {
  if (!Array.isArray(value) || value.length === 0) {
    return { ok: false, message: '* GenerateContentRequest.contents: contents is not specified' };
  }
  const contents: DemoContent[] = [];
  for (const [index, item] of value.entries()) {
    const { role, parts } = toJsonObject(item);
    if (!Array.isArray(parts) || parts.length === 0) {
      return { ok: false, message: `* GenerateContentRequest.contents[${index}].parts: must not be empty` };
    }
    contents.push({ role: typeof role === 'string' && role !== '' ? role : 'user', parts: parts.map(parsePart) });
  }
  return { ok: true, value: contents };
}

function parsePart(value: JsonValue | undefined): DemoPart {
  const part = toCamelKeys(toJsonObject(value));
  if (!isObject(part.inlineData)) return part;
  return { ...part, inlineData: toCamelKeys(toJsonObject(part.inlineData)) };
}

function collectTools(value: JsonValue | undefined): DemoRequest['tools'] {
  const tools = new Map<string, JsonValue | undefined>();
  for (const tool of Array.isArray(value) ? value : []) {
    const declarations = toCamelKeys(toJsonObject(tool)).functionDeclarations;
    for (const declaration of Array.isArray(declarations) ? declarations : []) {
      const { name, parameters, parametersJsonSchema } = toCamelKeys(toJsonObject(declaration));
      if (typeof name === 'string') tools.set(name, parametersJsonSchema ?? parameters);
    }
  }
  return tools;
}

function parseCalling(toolConfig: JsonValue | undefined): Calling {
  const { functionCallingConfig } = toCamelKeys(toJsonObject(toolConfig));
  const { mode, allowedFunctionNames } = toCamelKeys(toJsonObject(functionCallingConfig));
  const isUnset = mode === undefined || mode === null || mode === 'MODE_UNSPECIFIED';
  const names = isList(allowedFunctionNames) ? allowedFunctionNames : [];
  return { mode: isUnset ? 'AUTO' : String(mode), allowed: names.map(String) };
}

export function listCallableTools({ tools, calling }: DemoRequest): readonly string[] {
  if (calling.mode === 'NONE') return [];
  return calling.allowed.length === 0 ? [...tools.keys()] : calling.allowed;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: { readonly nextPageToken?: string };
}

/** Divides a list as Google's APIs do, by `pageSize` and `pageToken`. */
export function slicePage<Item>(
  all: readonly Item[],
  query: URLSearchParams,
  { usual, most }: { readonly usual: number; readonly most: number },
): Page<Item> {
  const size = Math.min(Math.max(Number(query.get('pageSize')) || usual, 1), most);
  const start = Number(query.get('pageToken')) || 0;
  const end = start + size;
  return { items: all.slice(start, end), next: end < all.length ? { nextPageToken: String(end) } : {} };
}

export function toCamelKeys(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
      inner,
    ]),
  );
}

export function joinPartTexts(parts: readonly DemoPart[]): string {
  return parts.map((part) => (typeof part.text === 'string' && part.thought !== true ? part.text : '')).join('');
}

export function isFunctionResponse(part: DemoPart): boolean {
  return isObject(part.functionResponse);
}

export function isFunctionCall(part: DemoPart): boolean {
  return isObject(part.functionCall);
}

/** A message of the user, also one that comes with the answers of calls that were stopped before it. */
export function asksSomething({ role, parts }: DemoContent): boolean {
  return role !== 'model' && (!parts.some(isFunctionResponse) || typeof parts.at(-1)?.text === 'string');
}

/** The contents from the last user message on; function responses do not count as one. */
export function findActiveLoop(contents: readonly DemoContent[]): readonly DemoContent[] {
  const start = contents.findLastIndex(({ role, parts }) => role !== 'model' && !parts.some(isFunctionResponse));
  return contents.slice(Math.max(start, 0));
}

const KINDS: readonly (readonly [RegExp, string, string])[] = [
  [/^image\//, 'image', 'images'],
  [/^audio\//, 'audio file', 'audio files'],
  [/^video\//, 'video', 'videos'],
  [/^application\/pdf$/, 'PDF', 'PDFs'],
  [/^/, 'file', 'files'],
];

export function isMedia(part: DemoPart): boolean {
  return isObject(part.inlineData) || isObject(part.fileData);
}

export function describeParts(parts: readonly DemoPart[]): string {
  const items = parts.filter(isMedia).map((part) => {
    const inline = toJsonObject(part.inlineData ?? part.fileData);
    const mimeType = String(inline.mimeType ?? 'unknown type');
    const size =
      typeof inline.data === 'string'
        ? formatSize(countBase64Bytes(inline.data))
        : String(inline.about ?? inline.fileUri ?? '');
    return { mimeType, about: `${mimeType}, ${size}` };
  });
  const groups = KINDS.map(([, one, many], rank) => {
    const found = items.filter((item) => KINDS.findIndex(([earlier]) => earlier.test(item.mimeType)) === rank);
    const noun = found.length === 1 ? one : many;
    return found.length === 0 ? '' : `${found.length} ${noun} (${found.map(({ about }) => about).join('; ')})`;
  }).filter((group) => group !== '');
  return groups.length < 2 ? groups.join('') : `${groups.slice(0, -1).join(', ')} and ${groups.at(-1)}`;
}
