import {
  filterObjects,
  filterStrings,
  isObject,
  isTooDeep,
  type JsonValue,
  toJsonObject,
  toNonEmptyString,
} from '../../core/json.ts';
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

export function tryParseTool(value: Fields): RemoteTool | undefined {
  const name = toNonEmptyString(value.name);
  // Some servers send no schema for a tool without arguments; `true` accepts everything.
  const schema = value.inputSchema === true ? {} : (value.inputSchema ?? {});
  if (name === undefined || !isObject(schema) || isTooDeep(schema)) return undefined;
  const hints = isTooDeep(value.annotations) ? undefined : value.annotations;
  return {
    name,
    title: toNonEmptyString(value.title),
    description: toNonEmptyString(value.description) ?? '',
    inputSchema: toJsonObject(schema),
    annotations: isObject(hints) ? toJsonObject(hints) : undefined,
  };
}

export function tryParsePrompt(value: Fields): RemotePrompt | undefined {
  const name = toNonEmptyString(value.name);
  if (name === undefined) return undefined;
  return {
    name,
    title: toNonEmptyString(value.title),
    description: toNonEmptyString(value.description) ?? '',
    arguments: filterObjects(value.arguments).flatMap((item) => {
      const argument = toNonEmptyString(item.name);
      if (argument === undefined) return [];
      return [
        { name: argument, description: toNonEmptyString(item.description) ?? '', isRequired: item.required === true },
      ];
    }),
  };
}

export function tryParseResource(value: Fields): RemoteResource | undefined {
  const uri = toNonEmptyString(value.uri);
  if (uri === undefined) return undefined;
  return { uri, ...parseDescription(value, uri), size: typeof value.size === 'number' ? value.size : undefined };
}

export function tryParseTemplate(value: Fields): RemoteResourceTemplate | undefined {
  const uriTemplate = toNonEmptyString(value.uriTemplate);
  return uriTemplate === undefined ? undefined : { uriTemplate, ...parseDescription(value, uriTemplate) };
}

/** Skips pieces without a URI or without content. */
export function parseContents(value: unknown): readonly ResourceContent[] {
  return filterObjects(isObject(value) ? value.contents : undefined).flatMap(
    (item) => tryParseResourceContent(item) ?? [],
  );
}

/** Skips blocks of a type gmn does not know, and names them in `omitted`. Undefined if it is no tool result. */
export function tryParseCallResult(value: unknown): CallResult | undefined {
  const { content, structuredContent, isError } = isObject(value) ? value : {};
  const isResult = Array.isArray(content) || (content === undefined && structuredContent !== undefined);
  if (!isResult) return undefined;
  const pieces: readonly unknown[] = Array.isArray(content) ? content : [];
  const blocks = pieces.map((item) => (isObject(item) ? tryParseBlock(item) : undefined));
  const omitted = pieces.flatMap((item, index) => (blocks[index] === undefined ? [formatBlockType(item)] : []));
  return {
    content: blocks.filter((block) => block !== undefined),
    omitted: omitted.length === 0 ? undefined : omitted,
    structuredContent: isTooDeep(structuredContent) ? undefined : (structuredContent as JsonValue | undefined),
    isError: isError === true,
  };
}

export function parsePromptResult(value: unknown): PromptResult {
  const { description, messages } = isObject(value) ? value : {};
  return {
    description: toNonEmptyString(description) ?? '',
    messages: filterObjects(messages).flatMap(({ role, content }): readonly PromptMessage[] => {
      const block = isObject(content) ? tryParseBlock(content) : undefined;
      return block === undefined ? [] : [{ role: role === 'assistant' ? 'assistant' : 'user', content: block }];
    }),
  };
}

export function parseSuggestions(value: unknown): readonly string[] {
  const { completion } = isObject(value) ? value : {};
  const { values } = isObject(completion) ? completion : {};
  return filterStrings(values).slice(0, MAX_SUGGESTIONS);
}

type Fields = Readonly<Record<string, unknown>>;

function parseDescription(value: Fields, otherwise: string) {
  return {
    name: toNonEmptyString(value.name) ?? otherwise,
    description: toNonEmptyString(value.description) ?? '',
    mimeType: toNonEmptyString(value.mimeType),
  };
}

function tryParseResourceContent(value: unknown): ResourceContent | undefined {
  if (!isObject(value) || typeof value.uri !== 'string') return undefined;
  const mimeType = toNonEmptyString(value.mimeType);
  if (typeof value.text === 'string') return { uri: value.uri, mimeType, text: value.text };
  return typeof value.blob === 'string' ? { uri: value.uri, mimeType, blob: value.blob } : undefined;
}

function formatBlockType(piece: unknown): string {
  return (isObject(piece) ? toNonEmptyString(piece.type) : undefined)?.slice(0, 80) ?? 'none';
}

function tryParseBlock(value: Fields): ContentBlock | undefined {
  const { type, text, data, mimeType, resource, uri, name } = value;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? { type, text } : undefined;
    case 'image':
    case 'audio':
      return typeof data === 'string' && typeof mimeType === 'string' ? { type, mimeType, data } : undefined;
    case 'resource': {
      const content = tryParseResourceContent(resource);
      return content === undefined ? undefined : { type, resource: content };
    }
    case 'resource_link': {
      if (typeof uri !== 'string') return undefined;
      return { type, uri, name: toNonEmptyString(name) ?? uri, mimeType: toNonEmptyString(mimeType) };
    }
    default:
      return undefined;
  }
}
