import { isObject, type JsonObject } from './json.ts';

/** A part as it came off the wire. The types name the fields we read; the object keeps all of them. */
export type Part = TextPart | CallPart | ResponsePart | MediaPart;

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

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Part[];
}

export interface StoredContent extends Content {
  /** Backend and account that produced the thought signatures; no other backend or account accepts them. */
  readonly origin?: string;
}

export function isResponse(part: Part): part is ResponsePart {
  return 'functionResponse' in part && isObject(part.functionResponse);
}

/** Placeholder for a call without a name: the API requires one in the response. */
export const UNNAMED_TOOL = 'generic_tool';

/** Whether a person wrote it: tool results have the role `user`, too. */
export function isPrompt({ role, parts }: StoredContent): boolean {
  return role === 'user' && !parts.some((part) => 'functionResponse' in part);
}
