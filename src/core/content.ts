import { isObject, type JsonObject } from './json.ts';

/** A part as it was received. The types name the fields that gmn reads; the object keeps all of them. */
export type Part = TextPart | CallPart | ResponsePart | MediaPart | FilePart | ServicePart;

interface ModelPart {
  readonly thought?: boolean;
  /** Opaque. Must be sent back on the same part, in the same position, even when the part has no text. */
  readonly thoughtSignature?: string;
}

interface TextPart extends ModelPart {
  readonly text: string;
}

export interface CallPart extends ModelPart {
  readonly functionCall: {
    readonly id?: string;
    readonly name: string;
    readonly args?: JsonObject;
  };
}

export interface ResponsePart {
  readonly functionResponse: {
    readonly id?: string;
    readonly name: string;
    readonly response: JsonObject;
  };
}

export interface MediaPart extends ModelPart {
  readonly inlineData: { readonly mimeType: string; readonly data: string };
}

export interface FilePart extends ModelPart {
  readonly fileData: { readonly mimeType: string; readonly fileUri: string };
  /** The file on this machine. Never sent: before a request, `fileUri` is replaced by the address of its upload. */
  readonly localFile?: LocalFile;
}

export interface LocalFile {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** In milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** What the service's own tools did, in the model's content. Neither field is checked. */
interface ServicePart extends ModelPart {
  readonly executableCode?: { readonly language?: string; readonly code?: string };
  readonly codeExecutionResult?: { readonly outcome?: string; readonly output?: string };
}

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Part[];
}

export interface StoredContent extends Content {
  /** Backend and account that produced the thought signatures; no other backend or account accepts them. */
  readonly origin?: string;
  /** gmn itself asked, within the turn that a person began: after a failed check, or for an answer in a schema. */
  readonly isFollowUp?: true;
  /** What the person asked, in a prompt that has more text: files, stdin, a template. */
  readonly question?: string;
}

/** Enough for a title; the text has all of it. */
const QUESTION_LENGTH = 1000;

/** A prompt named by its question, if it has more than that. */
export function nameByQuestion({ role, parts }: Content, question: string | undefined): StoredContent {
  const [first, ...others] = parts;
  const isAlone = others.length === 0 && first !== undefined && 'text' in first && first.text === question;
  if (question === undefined || isAlone) return { role, parts };
  return { role, parts, question: question.slice(0, QUESTION_LENGTH).toWellFormed() };
}

/** The prompt with these before it; it is still named by what was asked. */
export function prependParts(prompt: StoredContent, parts: readonly Part[]): StoredContent {
  if (parts.length === 0) return prompt;
  const last = prompt.parts.at(-1);
  const question = prompt.question ?? (last !== undefined && 'text' in last ? last.text : undefined);
  return nameByQuestion({ role: 'user', parts: [...parts, ...prompt.parts] }, question);
}

export function isResponse(part: Part): part is ResponsePart {
  return 'functionResponse' in part && isObject(part.functionResponse);
}

/** Why a tool call failed or was not run; undefined if this is not its result. Untrusted text. */
export function findToolError(part: Part): string | undefined {
  const error = isResponse(part) ? part.functionResponse.response?.error : undefined;
  return typeof error === 'string' ? error : undefined;
}

/** Placeholder for a call without a name: the API requires one in the response. */
export const UNNAMED_TOOL = 'generic_tool';

/** Whether it asks for something: tool results have the role `user`, too. */
export function isPrompt({ role, parts }: StoredContent): boolean {
  return role === 'user' && !parts.some((part) => 'functionResponse' in part);
}

export function beginsTurn(content: StoredContent): boolean {
  return isPrompt(content) && content.isFollowUp !== true;
}
