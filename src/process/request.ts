import type { ApprovalMode } from '../approval/policy.ts';
import type { CallAnswer } from '../approval/program.ts';
import type { Content, Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { isObject, isTooDeep, type JsonObject, MAX_DEPTH, tryParseJson } from '../core/json.ts';

/** What is different in one turn. */
export interface TurnChoice {
  readonly model?: string;
  readonly system?: string;
  /** As `--tools` takes them. */
  readonly tools?: string;
  /** A JSON Schema, as text. */
  readonly schema?: string;
  /** Names of those that the model is to follow. */
  readonly skills?: readonly string[];
}

export interface PromptRequest {
  readonly type: 'prompt';
  readonly id: string;
  readonly content: Content;
  readonly choice: TurnChoice;
}

export type ApproveRequest = CallAnswer & { readonly type: 'approve'; readonly call: string };

export interface SetRequest {
  readonly type: 'set';
  readonly model?: string;
  readonly mode?: ApprovalMode;
}

/** One line of the input. docs/schemas/process-input.schema.json describes it. */
export type Request =
  | PromptRequest
  | ApproveRequest
  | SetRequest
  | { readonly type: 'cancel'; readonly id: string }
  | { readonly type: 'ping' };

type Fields = Readonly<Record<string, unknown>>;

const MAX_ID_LENGTH = 200;
const HINT = 'What is read: gmn help stream-json';

/** Throws AppError `usage` for everything that is not a request. */
export function parseProcessLine(text: string): Request {
  const value = tryParseJson(text);
  if (value === undefined) throw requestError('the line is not JSON');
  if (!isObject(value)) throw requestError('the line is not a JSON object');
  if (isTooDeep(value)) throw requestError(`the line is nested deeper than ${MAX_DEPTH} levels`);
  switch (value.type) {
    case 'prompt':
      return parsePrompt(takeFields(value, ['id', 'text', 'parts', 'model', 'system', 'tools', 'schema', 'skills']));
    case 'cancel':
      return { type: 'cancel', id: requireId(takeFields(value, ['id']), 'id') };
    case 'approve':
      return parseApprove(takeFields(value, ['call', 'decision', 'args', 'reason']));
    case 'set':
      return parseSet(takeFields(value, ['model', 'mode']));
    case 'ping':
      takeFields(value, []);
      return { type: 'ping' };
    default:
      throw requestError('"type" must be prompt, cancel, approve, set or ping');
  }
}

/** The id in a line that may be no request otherwise, so that its sender knows which one was refused. */
export function findId(text: string): string | undefined {
  const value = tryParseJson(text);
  const id = isObject(value) ? (value.id ?? value.call) : undefined;
  return typeof id === 'string' && id.length <= MAX_ID_LENGTH ? id : undefined;
}

/** A field with a wrong name would be ignored otherwise, with what it asks for. */
function takeFields(value: Fields, names: readonly string[]): Fields {
  const unknown = Object.keys(value).find((key) => key !== 'type' && !names.includes(key));
  if (unknown === undefined) return value;
  const known = names.length === 0 ? 'no other fields' : names.join(', ');
  throw requestError(`${String(value.type)} has no "${unknown.slice(0, 100)}"; it takes ${known}`);
}

function parsePrompt(fields: Fields): PromptRequest {
  const { text, parts, tools, schema, skills } = fields;
  if ((text === undefined) === (parts === undefined)) throw requestError('a prompt has either "text" or "parts"');
  if (schema !== undefined && !isObject(schema)) throw requestError('"schema" must be a JSON Schema, an object');
  return {
    type: 'prompt',
    id: requireId(fields, 'id'),
    content: {
      role: 'user',
      parts: parts === undefined ? [{ text: requireField(fields, 'text') }] : parsePromptParts(parts),
    },
    choice: {
      model: findText(fields, 'model'),
      system: findText(fields, 'system'),
      tools: Array.isArray(tools) ? requireNames(tools, 'tools').join(',') || 'none' : findText(fields, 'tools'),
      schema: schema === undefined ? undefined : JSON.stringify(schema),
      skills: skills === undefined ? undefined : requireNames(skills, 'skills'),
    },
  };
}

function requireNames(names: unknown, field: string): readonly string[] {
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw requestError(`"${field}" must be ${field === 'tools' ? 'a text or ' : ''}a list of names`);
}

function parsePromptParts(value: unknown): readonly Part[] {
  if (!Array.isArray(value) || value.length === 0) throw requestError('"parts" must be a list of Gemini parts');
  return value.map(parsePromptPart);
}

/** Built anew: a part may have fields that mean something inside of gmn only, such as the path of a local file. */
function parsePromptPart(part: unknown, index: number): Part {
  if (isObject(part) && Object.keys(part).length === 1) {
    const { text, inlineData, fileData } = part;
    if (typeof text === 'string') return { text };
    if (isObject(inlineData)) {
      const { mimeType, data } = inlineData;
      if (typeof mimeType === 'string' && typeof data === 'string') return { inlineData: { mimeType, data } };
    }
    if (isObject(fileData)) {
      const { mimeType, fileUri } = fileData;
      if (typeof mimeType === 'string' && typeof fileUri === 'string') return { fileData: { mimeType, fileUri } };
    }
  }
  const kinds = '{"text"}, {"inlineData":{"mimeType","data"}} or {"fileData":{"mimeType","fileUri"}}';
  throw requestError(`"parts[${index}]" must be ${kinds}`);
}

const DECISIONS = ['yes', 'no', 'always'] as const;

function parseApprove(fields: Fields): ApproveRequest {
  const { args } = fields;
  const decision = requireChoice(fields, 'decision', DECISIONS);
  if (args !== undefined && !isObject(args)) throw requestError('"args" must be an object');
  if (args !== undefined && decision === 'no') throw requestError('"args" go with yes or always');
  if (fields.reason !== undefined && decision !== 'no') throw requestError('"reason" goes with no');
  const request = { type: 'approve', call: requireId(fields, 'call') } as const;
  if (decision === 'no') return { ...request, decision, reason: findText(fields, 'reason') };
  // It comes from JSON.parse.
  return { ...request, decision, args: args as JsonObject | undefined };
}

const MODES = ['default', 'auto_edit', 'plan', 'yolo'] as const satisfies readonly ApprovalMode[];

function parseSet(fields: Fields): SetRequest {
  const mode = fields.mode === undefined ? undefined : requireChoice(fields, 'mode', MODES);
  const model = findText(fields, 'model');
  if (model === undefined && mode === undefined) throw requestError('set has "model", "mode" or both');
  return { type: 'set', model, mode };
}

function requireChoice<Choice extends string>(fields: Fields, name: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === fields[name]);
  if (found === undefined) throw requestError(`"${name}" must be one of ${choices.join(', ')}`);
  return found;
}

function requireId(fields: Fields, name: string): string {
  const id = requireField(fields, name);
  if (id.length > MAX_ID_LENGTH) throw requestError(`"${name}" has at most ${MAX_ID_LENGTH} characters`);
  return id;
}

function findText(fields: Fields, name: string): string | undefined {
  return fields[name] === undefined ? undefined : requireField(fields, name);
}

function requireField(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value.trim() === '')
    throw requestError(`"${name}" must be a text that is not empty`);
  return value.toWellFormed();
}

function requestError(message: string): AppError {
  return new AppError('usage', message, { hint: HINT });
}
