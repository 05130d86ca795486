import type { JsonObject } from './json.ts';

/** A part as it came off the wire. The types name the fields we read; the object keeps them all. */
export type Part = TextPart | CallPart | AnswerPart | MediaPart;

interface ModelPart {
  readonly thought?: boolean;
  /** Opaque. Goes back on the same part, in the same place, even when the part has no text. */
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

export interface AnswerPart {
  readonly functionResponse: {
    readonly id?: string;
    readonly name: string;
    readonly response: JsonObject;
  };
}

/** An attachment, base64. */
export interface MediaPart extends ModelPart {
  readonly inlineData: { readonly mimeType: string; readonly data: string };
}

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Part[];
}

/** A content as a conversation keeps it: the model's parts exactly as they came. */
export interface KeptContent extends Content {
  /** Who made the model's signatures, backend and account in one word; to anybody else they mean nothing. */
  readonly origin?: string;
}

/** What stands for the name of a call that has none: its answer must name something. */
export const NAMELESS = 'generic_tool';
