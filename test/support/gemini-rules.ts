import { isDeepStrictEqual } from 'node:util';
import { isObject, toJsonObject } from '../../src/core/json.ts';
import { isPictureModel } from '../../src/demo/picture.ts';
import { parseRequest } from '../../src/demo/request.ts';
import { checkRequest, isFourthFamily } from '../../src/demo/rules.ts';
import { declarationObjection } from './gemini-schemas.ts';

export type WirePart = Readonly<Record<string, unknown>>;

interface WireContent {
  readonly role?: string;
  readonly parts?: readonly WirePart[];
}

/** What the service has said so far in a conversation: the parts of each reply that was not cut. */
export type IssuedReplies = readonly (readonly WirePart[])[];

const FIELDS = [
  ...['contents', 'systemInstruction', 'tools', 'toolConfig', 'safetySettings', 'generationConfig', 'cachedContent'],
  ...['serviceTier', 'continuationToken'],
];
const CONFIG = [
  ...['temperature', 'topP', 'topK', 'maxOutputTokens', 'stopSequences', 'seed', 'candidateCount', 'thinkingConfig'],
  ...['responseMimeType', 'responseJsonSchema', 'responseModalities', 'mediaResolution', 'imageConfig', 'speechConfig'],
];
const TOOLS = ['functionDeclarations', 'googleSearch', 'urlContext', 'codeExecution'];
const DECLARATION = ['name', 'description', 'parametersJsonSchema'];
const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'];
/** Of the family that wants a signature with every first call. */
export const STRICT_MODEL = 'gemini-3-pro-preview';
export const SKIP = 'skip_thought_signature_validator';
/** What the API takes inline, and how many functions. */
const MAX_BYTES = 20_000_000;
const MAX_DECLARATIONS = 128;

/**
 * The first thing for which the API, or the strictest of its backends, would refuse this request of the Gemini API, with
 * its place; undefined if there is none. What the API itself refuses is in the rule book of the offline model; here is what
 * the others and gmn's own promises add. `sent` are the parts that the service has issued; without it, those of the request
 * are believed.
 */
export function requestObjection(
  text: string,
  sent?: readonly WirePart[],
  model: string = STRICT_MODEL,
): string | undefined {
  const why = strictObjection(text, sent);
  if (why !== undefined) return why;
  // Tests name any model. These take pictures' shapes and files of Office, which others refuse.
  const taken = isPictureModel(model) || isFourthFamily(model) ? model : STRICT_MODEL;
  const parsed = parseRequest(toJsonObject(JSON.parse(text)), taken);
  return parsed.ok ? checkRequest(parsed.value) : parsed.message;
}

function strictObjection(text: string, sent?: readonly WirePart[]): string | undefined {
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
    objection(contents, sent ?? contents.flatMap(({ role, parts }) => (role === 'model' ? parts : [])))
  );
}

/** The same; and the model's contents must be these replies, all of them, in order and with every byte, except for thoughts. */
export function conversationObjection(text: string, replies: IssuedReplies): string | undefined {
  return requestObjection(text, replies.flat()) ?? replyObjection(JSON.parse(text).contents, replies);
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

const GOOD_TOOLS = new Set<string>();

function toolsObjection(tools: unknown): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return 'tools: is no list of tools';
  const stray = tools.map((tool) => unknownOf(tool, TOOLS)).find((key) => key !== undefined);
  if (stray !== undefined) return `tools: unknown name ${stray}`;
  // Thousands of requests declare the same tools.
  const text = JSON.stringify(tools);
  if (GOOD_TOOLS.has(text)) return undefined;
  const declarations: readonly unknown[] = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
  if (declarations.length > MAX_DECLARATIONS) return `tools: more than ${MAX_DECLARATIONS} functions`;
  const names = declarations.map((declaration) => (isObject(declaration) ? declaration.name : undefined));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `tools: ${twice} is declared twice`;
  for (const declaration of declarations) {
    const why = declarationObjection(declaration) ?? describedObjection(declaration);
    if (why !== undefined) return `tools: ${why}`;
  }
  GOOD_TOOLS.add(text);
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

function isReturned({ thought, functionCall }: WirePart): boolean {
  return thought !== true || functionCall !== undefined;
}

/** The first thing in a conversation that the API would refuse; `sent` are the parts that it has issued. */
export function objection(contents: readonly WireContent[], sent: readonly WirePart[]): string | undefined {
  if (contents.length === 0) return 'contents is empty';
  for (const [index, content] of contents.entries()) {
    const why = contentObjection(content, contents[index - 1], index, sent);
    if (why !== undefined) return `contents[${index}]: ${why}`;
  }
  if (contents.at(-1)?.role !== 'user') return 'the last content is not the user’s';
  return signatureObjection(contents, sent);
}

function contentObjection(
  { role, parts, ...rest }: WireContent,
  before: WireContent | undefined,
  index: number,
  sent: readonly WirePart[],
): string | undefined {
  if (Object.keys(rest).length > 0) return `unknown name ${Object.keys(rest)}`;
  if (role !== (index % 2 === 0 ? 'user' : 'model')) return `role ${role} out of turn`;
  if (!Array.isArray(parts) || parts.length === 0) return 'no parts';
  for (const part of parts as readonly WirePart[]) {
    const why = partObjection(part, role, sent);
    if (why !== undefined) return `${why}: ${JSON.stringify(part)}`;
  }
  return role === 'user' ? pairObjection(before?.parts ?? [], parts) : undefined;
}

function partObjection(part: WirePart, role: string, sent: readonly WirePart[]): string | undefined {
  const { thought, thoughtSignature, functionCall: call, functionResponse: answer } = part;
  const isIssued = thoughtSignature === SKIP || sent.some((one) => one.thoughtSignature === thoughtSignature);
  if (thoughtSignature !== undefined && !isIssued) return 'a thought_signature nobody issued';
  if (thought === true && call === undefined) return 'a thought came back';
  if (part.text === '' && part.thoughtSignature === undefined) return 'an empty text';
  if (role === 'user') {
    if (call !== undefined || part.thoughtSignature !== undefined) return 'a part of the model in a user content';
    if (!DATA.some((key) => part[key] !== undefined)) return 'no data';
    return answer === undefined ? undefined : answerObjection(answer as WirePart);
  }
  if (answer !== undefined) return 'an answer in a model content';
  const isEmpty = Object.keys(part).every((key) => key === 'thought' || key === 'thoughtSignature');
  if (isEmpty) return 'no data';
  if (call !== undefined) return callObjection(call as WirePart);
  const isKnown = typeof part.text === 'string' || sent.some((one) => isDeepStrictEqual(one, part));
  return isKnown ? undefined : 'a part of the model was changed';
}

function answerObjection({ name, response, id }: WirePart): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a response without a name';
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return 'a response is no object';
  return id === undefined || typeof id === 'string' ? undefined : 'an id is no string';
}

function callObjection({ name, args }: WirePart): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a call without a name';
  return args === undefined || (typeof args === 'object' && args !== null && !Array.isArray(args))
    ? undefined
    : 'args is no object';
}

function pairObjection(asked: readonly WirePart[], given: readonly WirePart[]): string | undefined {
  const names = (parts: readonly WirePart[], key: string): readonly string[] =>
    parts.flatMap((part) => {
      const one = part[key] as WirePart | undefined;
      return one === undefined ? [] : [`${one.name}#${one.id}`];
    });
  const calls = names(asked, 'functionCall');
  const answers = names(given, 'functionResponse');
  return isDeepStrictEqual(calls, answers) ? undefined : `calls ${calls} but responses ${answers}`;
}

function nameOf({ functionCall }: WirePart): unknown {
  return (functionCall as WirePart | undefined)?.name;
}

/** In the current turn, the first call of every content must have the signature that was issued with it. */
function signatureObjection(contents: readonly WireContent[], sent: readonly WirePart[]): string | undefined {
  const start = contents.findLastIndex(
    ({ role, parts = [] }) => role === 'user' && !parts.some(({ functionResponse }) => functionResponse !== undefined),
  );
  for (const { role, parts = [] } of contents.slice(start + 1)) {
    const part = role === 'model' ? parts.find(({ functionCall }) => functionCall !== undefined) : undefined;
    if (part === undefined) continue;
    // A call that the program made itself, of a function that the service has never called, has none to repeat.
    const isOwn = !sent.some((one) => nameOf(one) === nameOf(part));
    if (isOwn && part.thoughtSignature === SKIP) continue;
    const issued: unknown[] = sent.filter((one) => isSameCall(one, part)).map((one) => one.thoughtSignature ?? SKIP);
    if (!issued.includes(part.thoughtSignature))
      return `Function call has no valid thought_signature: ${JSON.stringify(part)}`;
  }
  return undefined;
}

function isSameCall(issued: WirePart, returned: WirePart): boolean {
  if (issued.functionCall === undefined) return false;
  const [one, other] = [issued.functionCall as WirePart, returned.functionCall as WirePart];
  const args = typeof one.args === 'object' && one.args !== null ? one.args : undefined;
  return (
    (one.name ?? 'generic_tool') === other.name &&
    isDeepStrictEqual(args, other.args) &&
    (one.id === undefined || one.id === other.id)
  );
}
