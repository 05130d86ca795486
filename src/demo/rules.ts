import { type JsonObject, toJsonObject } from '../core/json.ts';
import { isOfficeType } from '../core/text/office.ts';
import { isPictureModel } from './picture.ts';
import { type DemoContent, type DemoPart, type DemoRequest, isFunctionCall, isFunctionResponse } from './request.ts';

const DATA_KEYS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];

export function checkRequest(request: DemoRequest): string | undefined {
  return (
    checkRoles(request.contents) ??
    checkCalls(request.contents) ??
    checkFileTypes(request) ??
    checkCalling(request) ??
    checkConfig(request)
  );
}

function checkFileTypes({ contents, model }: DemoRequest): string | undefined {
  if (/^gemini-4-(?:carbon|hydrogen)/.test(model)) return undefined;
  const types = contents.flatMap(({ parts }) =>
    parts.map(({ inlineData, fileData }) => String(toJsonObject(inlineData ?? fileData).mimeType)),
  );
  const unread = types.find(isOfficeType);
  return unread === undefined ? undefined : `Unsupported MIME type: ${unread}`;
}

const CALLING_MODES = ['AUTO', 'ANY', 'NONE', 'VALIDATED'];

function checkCalling({ calling: { mode, allowed }, tools }: DemoRequest): string | undefined {
  if (!CALLING_MODES.includes(mode)) {
    return `Invalid value at 'tool_config.function_calling_config.mode': "${mode}" is not one of ${CALLING_MODES.join(', ')}.`;
  }
  if (mode === 'ANY' && tools.size === 0) return 'Function calling mode ANY needs function_declarations.';
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') {
    return `allowed_function_names can be set with mode ANY or VALIDATED only, not ${mode}.`;
  }
  const unknown = allowed.find((name) => !tools.has(name));
  return unknown === undefined
    ? undefined
    : `allowed_function_names: "${unknown}" is not among the function_declarations.`;
}

function checkRoles(contents: readonly DemoContent[]): string | undefined {
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== 'user' && role !== 'model' && role !== 'function') {
      return `Role "${role}" of contents[${index}] is not valid: use user or model.`;
    }
    const bare = parts.findIndex((part) => !DATA_KEYS.some((key) => part[key] !== undefined));
    // A model's part of an unknown kind is accepted back as it came.
    if (bare >= 0 && (role !== 'model' || Object.keys(parts[bare] ?? {}).length === 0)) {
      return `* GenerateContentRequest.contents[${index}].parts[${bare}].data: one field of data must be set`;
    }
  }
  if (contents[0]?.role === 'model') return 'The first content must have the role user.';
  if (contents.at(-1)?.role === 'model') return 'The last content must have the role user.';
  return undefined;
}

function checkCalls(contents: readonly DemoContent[]): string | undefined {
  for (const [index, { role, parts }] of contents.entries()) {
    const calls = role === 'model' ? parts.filter(isFunctionCall) : [];
    const previous = contents[index - 1];
    const previousCalls = previous?.role === 'model' ? previous.parts.filter(isFunctionCall) : [];
    const answers = role === 'model' ? [] : parts.filter(isFunctionResponse);
    if (role === 'model' ? parts.some(isFunctionResponse) : parts.some(isFunctionCall)) {
      return `contents[${index}]: calls belong to the role model, their answers to the role user.`;
    }
    if (calls.length > 0 && previous?.role === 'model') {
      return `contents[${index}]: a function call must come right after a user turn or an answer to a call.`;
    }
    if (answers.length > 0 && previousCalls.length === 0) {
      return `contents[${index}]: a function response must come right after the function call it answers.`;
    }
    const mismatch = checkPairs(previousCalls, answers);
    if (mismatch !== undefined) return `contents[${index}]: ${mismatch}`;
  }
  return undefined;
}

function checkPairs(calls: readonly DemoPart[], answers: readonly DemoPart[]): string | undefined {
  if (calls.length !== answers.length) {
    return `the number of function responses (${answers.length}) must equal the number of function calls (${calls.length}).`;
  }
  const called = calls.map((part) => toJsonObject(part.functionCall));
  const answered = answers.map((part) => toJsonObject(part.functionResponse));
  const sortNames = (items: readonly JsonObject[]) => items.map(({ name }) => String(name)).sort();
  if (sortNames(called).join() !== sortNames(answered).join()) {
    return `function responses for ${sortNames(answered).join(', ')} do not answer calls of ${sortNames(called).join(', ')}.`;
  }
  const ids = new Set(called.map(({ id }) => id));
  const unknown = ids.has(undefined) ? undefined : answered.find(({ id }) => id !== undefined && !ids.has(id));
  return unknown === undefined ? undefined : `no function call has the id "${String(unknown.id)}".`;
}

function checkConfig({ generationConfig: config, model, tools, ...request }: DemoRequest): string | undefined {
  const checkRange = (key: string, low: number, high: number): string | undefined => {
    const value = config[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= low && value <= high) return undefined;
    return `${key} must be a number from ${low}${high === Number.POSITIVE_INFINITY ? '' : ` to ${high}`}.`;
  };
  const hasServiceTool = request.hasSearch || request.hasCodeExecution || request.hasUrlContext;
  const { serviceTier: tier } = request;
  if (tier !== undefined && !['flex', 'standard', 'priority'].includes(tier)) {
    return `Invalid value at 'service_tier': "${tier}".`;
  }
  if (config.imageConfig !== undefined && !isPictureModel(model)) return `image_config is not supported by ${model}.`;
  const thinking = toJsonObject(config.thinkingConfig);
  const isThird = isThirdFamily(model);
  if (thinking.thinkingLevel !== undefined && thinking.thinkingBudget !== undefined) {
    return 'thinking_level and thinking_budget cannot be set together.';
  }
  if (thinking.thinkingLevel !== undefined && !isThird) return `thinking_level is not supported by ${model}.`;
  if (thinking.thinkingLevel === 'MINIMAL' && isFourthFamily(model)) {
    return `Thinking level MINIMAL is not supported by ${model}.`;
  }
  if (thinking.thinkingLevel === 'XHIGH' && !hasExtraHigh(model)) {
    return `Thinking level XHIGH is not supported by ${model}.`;
  }
  if (config.responseSchema !== undefined && config.responseJsonSchema !== undefined) {
    return 'response_schema and response_json_schema cannot be set together.';
  }
  const hasSchema = config.responseSchema !== undefined || config.responseJsonSchema !== undefined;
  if (hasSchema && config.responseMimeType !== 'application/json' && config.responseMimeType !== 'text/x.enum') {
    return 'A response schema needs response_mime_type application/json.';
  }
  if (config.responseMimeType === 'application/json' && (tools.size > 0 || hasServiceTool) && !isThird) {
    return `Tool use with a response mime type of application/json is not supported by ${model}.`;
  }
  if (tools.size > 0 && hasServiceTool && !isThird)
    return `${model} takes either tools of the service or function declarations.`;
  return (
    checkRange('temperature', 0, 2) ??
    checkRange('topP', 0, 1) ??
    checkRange('maxOutputTokens', 1, Number.POSITIVE_INFINITY)
  );
}

/** They always think, and have no explicit caches. */
export function isFourthFamily(model: string): boolean {
  return /^gemini-[45]-/.test(model);
}

/** Of the fourth family only models newer than its first two. */
function hasExtraHigh(model: string): boolean {
  return isFourthFamily(model) && !/^gemini-4-(?:argon|carbon)/.test(model);
}

/** They require thought signatures and support thinking levels. */
export function isThirdFamily(model: string): boolean {
  return /^gemini-[3-9]|^gemini-(flash|flash-lite|pro)-latest$|^gemma-4/.test(model);
}
