import { isObject, type JsonObject, type JsonValue, objectsOf, stringOf } from '../../core/json.ts';
import type {
  CallResult,
  ContentBlock,
  PromptMessage,
  PromptResult,
  RemotePrompt,
  RemoteResource,
  RemoteResourceTemplate,
  RemoteTool,
  ResourceContent,
} from './types.ts';

/** The protocol allows no more in one response. */
const MAX_SUGGESTIONS = 100;

/** Deeper JSON would overflow the stack of whoever walks it. */
const MAX_DEPTH = 100;

/** Undefined if the tool has no name, or a schema that is no object or too deep. */
export function parseTool(value: Fields): RemoteTool | undefined {
  const name = stringOf(value.name);
  // Some servers send no schema for a tool without arguments; `true` accepts everything.
  const schema = value.inputSchema === true ? {} : (value.inputSchema ?? {});
  if (name === undefined || !isObject(schema) || isTooDeep(schema, MAX_DEPTH)) return undefined;
  const title = stringOf(value.title);
  const hints = isTooDeep(value.annotations, MAX_DEPTH) ? undefined : value.annotations;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description: stringOf(value.description) ?? '',
    inputSchema: parseObject(schema),
    ...(isObject(hints) ? { annotations: parseObject(hints) } : {}),
  };
}

/** Undefined if the prompt has no name. */
export function parsePrompt(value: Fields): RemotePrompt | undefined {
  const name = stringOf(value.name);
  if (name === undefined) return undefined;
  const title = stringOf(value.title);
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description: stringOf(value.description) ?? '',
    arguments: objectsOf(value.arguments).flatMap((item) => {
      const argument = stringOf(item.name);
      if (argument === undefined) return [];
      return [{ name: argument, description: stringOf(item.description) ?? '', isRequired: item.required === true }];
    }),
  };
}

/** Undefined if the resource has no URI. */
export function parseResource(value: Fields): RemoteResource | undefined {
  const uri = stringOf(value.uri);
  if (uri === undefined) return undefined;
  return { uri, ...described(value, uri), ...(typeof value.size === 'number' ? { size: value.size } : {}) };
}

/** Undefined if it has no URI template. */
export function parseTemplate(value: Fields): RemoteResourceTemplate | undefined {
  const uriTemplate = stringOf(value.uriTemplate);
  return uriTemplate === undefined ? undefined : { uriTemplate, ...described(value, uriTemplate) };
}

/** The contents of a resource; pieces without a URI or without content are skipped. */
export function parseContents(value: unknown): readonly ResourceContent[] {
  return objectsOf(isObject(value) ? value.contents : undefined).flatMap((item) => parseContent(item) ?? []);
}

/**
 * A tool result; blocks of a type gmn does not know are skipped and named in `omitted`. Undefined if it is no tool
 * result.
 */
export function parseCallResult(value: unknown): CallResult | undefined {
  const { content, structuredContent, isError } = isObject(value) ? value : {};
  const isResult = Array.isArray(content) || (content === undefined && structuredContent !== undefined);
  if (!isResult) return undefined;
  const pieces: readonly unknown[] = Array.isArray(content) ? content : [];
  const blocks = pieces.map((item) => (isObject(item) ? parseBlock(item) : undefined));
  const omitted = pieces.flatMap((item, index) => (blocks[index] === undefined ? [kindOf(item)] : []));
  return {
    content: blocks.filter((block) => block !== undefined),
    ...(omitted.length === 0 ? {} : { omitted }),
    ...(structuredContent === undefined || isTooDeep(structuredContent, MAX_DEPTH)
      ? {}
      : { structuredContent: parseValue(structuredContent) }),
    isError: isError === true,
  };
}

export function parsePromptResult(value: unknown): PromptResult {
  const { description, messages } = isObject(value) ? value : {};
  return {
    description: stringOf(description) ?? '',
    messages: objectsOf(messages).flatMap(({ role, content }): readonly PromptMessage[] => {
      const block = isObject(content) ? parseBlock(content) : undefined;
      return block === undefined ? [] : [{ role: role === 'assistant' ? 'assistant' : 'user', content: block }];
    }),
  };
}

/** The suggested completions; anything but strings is skipped. */
export function parseSuggestions(value: unknown): readonly string[] {
  const { completion } = isObject(value) ? value : {};
  const { values } = isObject(completion) ? completion : {};
  return Array.isArray(values) ? values.filter((item) => typeof item === 'string').slice(0, MAX_SUGGESTIONS) : [];
}

/** An object from parsed JSON; `{}` for anything else. */
export function parseObject(value: unknown): JsonObject {
  return isObject(value) ? (value as JsonObject) : {};
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((item) => isTooDeep(item, left - 1));
}

type Fields = Readonly<Record<string, unknown>>;

function parseValue(value: unknown): JsonValue {
  return value as JsonValue;
}

function described(value: Fields, otherwise: string) {
  const mimeType = stringOf(value.mimeType);
  return {
    name: stringOf(value.name) ?? otherwise,
    description: stringOf(value.description) ?? '',
    ...(mimeType === undefined ? {} : { mimeType }),
  };
}

function parseContent(value: unknown): ResourceContent | undefined {
  if (!isObject(value) || typeof value.uri !== 'string') return undefined;
  const mimeType = stringOf(value.mimeType);
  const type = mimeType === undefined ? {} : { mimeType };
  if (typeof value.text === 'string') return { uri: value.uri, ...type, text: value.text };
  return typeof value.blob === 'string' ? { uri: value.uri, ...type, blob: value.blob } : undefined;
}

function kindOf(piece: unknown): string {
  return (isObject(piece) ? stringOf(piece.type) : undefined)?.slice(0, 80) ?? 'none';
}

function parseBlock(value: Fields): ContentBlock | undefined {
  const { type, text, data, mimeType, resource, uri, name } = value;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? { type, text } : undefined;
    case 'image':
    case 'audio':
      return typeof data === 'string' && typeof mimeType === 'string' ? { type, mimeType, data } : undefined;
    case 'resource': {
      const content = parseContent(resource);
      return content === undefined ? undefined : { type, resource: content };
    }
    case 'resource_link': {
      if (typeof uri !== 'string') return undefined;
      const kind = stringOf(mimeType);
      return { type, uri, name: stringOf(name) ?? uri, ...(kind === undefined ? {} : { mimeType: kind }) };
    }
    default:
      return undefined;
  }
}
