import { isObject } from '../../src/core/json.ts';
import { objection, type WirePart } from './strict-gemini.ts';
import { declarationObjection } from './strict-schema.ts';

/** What the service has said so far in a conversation: the parts of each reply that was not cut. */
export type IssuedReplies = readonly (readonly WirePart[])[];

const FIELDS = [
  ...['contents', 'systemInstruction', 'tools', 'toolConfig', 'safetySettings', 'generationConfig', 'cachedContent'],
];
const CONFIG = [
  ...['temperature', 'topP', 'topK', 'maxOutputTokens', 'stopSequences', 'seed', 'candidateCount', 'thinkingConfig'],
  ...['responseMimeType', 'responseJsonSchema', 'responseModalities', 'mediaResolution', 'imageConfig', 'speechConfig'],
];
const TOOLS = ['functionDeclarations', 'googleSearch', 'urlContext', 'codeExecution'];
const DECLARATION = ['name', 'description', 'parametersJsonSchema'];
/** What the API takes inline, and how many functions. */
const MAX_BYTES = 20_000_000;
const MAX_DECLARATIONS = 128;

/**
 * The first thing for which the API, or the strictest of its backends, would refuse this request of the Gemini API, with
 * its place; undefined if there is none. With `replies`, the model's contents must be these replies, all of them, in
 * order and with every byte, except for thoughts.
 */
export function requestObjection(text: string, replies?: IssuedReplies): string | undefined {
  if (Buffer.byteLength(text) > MAX_BYTES) return `the request is larger than ${MAX_BYTES} bytes`;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'the request is not JSON';
  }
  if (!isObject(body)) return 'the request is no object';
  const { contents, systemInstruction, tools, generationConfig } = body;
  const stray = unknownOf(body, FIELDS) ?? unknownOf(generationConfig ?? {}, CONFIG);
  if (stray !== undefined) return `unknown name ${stray}`;
  if (!Array.isArray(contents)) return 'contents is no list';
  return (
    systemObjection(systemInstruction) ??
    toolsObjection(tools) ??
    objection(contents, replies?.flat() ?? contents.flatMap(({ role, parts }) => (role === 'model' ? parts : []))) ??
    (replies === undefined ? undefined : replyObjection(contents, replies))
  );
}

function unknownOf(value: unknown, known: readonly string[]): string | undefined {
  return isObject(value) ? Object.keys(value).find((key) => !known.includes(key)) : 'that is no object';
}

function systemObjection(system: unknown): string | undefined {
  if (system === undefined) return undefined;
  const parts = isObject(system) ? system.parts : undefined;
  const isText = (part: unknown): boolean => isObject(part) && typeof part.text === 'string' && part.text !== '';
  const isGood = Array.isArray(parts) && parts.length > 0 && parts.every(isText);
  return isGood ? undefined : 'systemInstruction: has no text';
}

function toolsObjection(tools: unknown): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return 'tools: is no list of tools';
  const stray = tools.map((tool) => unknownOf(tool, TOOLS)).find((key) => key !== undefined);
  if (stray !== undefined) return `tools: unknown name ${stray}`;
  const declarations: readonly unknown[] = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
  if (declarations.length > MAX_DECLARATIONS) return `tools: more than ${MAX_DECLARATIONS} functions`;
  const names = declarations.map((declaration) => (isObject(declaration) ? declaration.name : undefined));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `tools: ${twice} is declared twice`;
  for (const declaration of declarations) {
    const why = declarationObjection(declaration) ?? describedObjection(declaration);
    if (why !== undefined) return `tools: ${why}`;
  }
  return undefined;
}

function describedObjection(declaration: unknown): string | undefined {
  const { name, description } = declaration as Readonly<Record<string, unknown>>;
  const stray = unknownOf(declaration, DECLARATION);
  if (stray !== undefined) return `${name}: unknown name ${stray}`;
  return typeof description === 'string' && description !== '' ? undefined : `${name}: has no description`;
}

function replyObjection(contents: readonly WireContent[], replies: IssuedReplies): string | undefined {
  const returned = contents.filter(({ role }) => role === 'model').map(({ parts }) => JSON.stringify(parts));
  const issued = replies.map((parts) => JSON.stringify(parts.filter(isReturned)));
  const index = issued.findIndex((reply, each) => reply !== returned[each]);
  if (index >= 0) return `reply ${index} came back as ${returned[index]}, not as ${issued[index]}`;
  return returned.length === issued.length ? undefined : `a reply that nobody gave: ${returned[issued.length]}`;
}

interface WireContent {
  readonly role: string;
  readonly parts: readonly WirePart[];
}

function isReturned({ thought, functionCall }: WirePart): boolean {
  return thought !== true || functionCall !== undefined;
}
