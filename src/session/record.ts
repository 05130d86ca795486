import type { KeptContent } from '../core/content.ts';
import type { TurnRecord } from '../core/history.ts';
import type { SessionSetup, SessionSource } from '../core/session.ts';
import { isoTime } from './iso-time.ts';

/** The version of the format that is written. docs/sessions.md describes it. */
export const VERSION = 1;

/** The first line of a session's file. */
export interface Header {
  readonly v: number;
  readonly id: string;
  readonly at: number;
  readonly cwd: string;
  readonly by: SessionSource;
  /** The version of the program that wrote it. */
  readonly gmn: string;
  readonly title: string;
  readonly name?: string;
  /** The session it is a copy of. */
  readonly parent?: { readonly id: string };
}

/** What every line repeats, so that the last one alone tells how a session stands. */
export interface Standing {
  /** Prompts that count. */
  readonly turn: number;
  readonly name?: string | undefined;
  /** The model that answered last. */
  readonly model?: string | undefined;
  /** Where it is held, if that is not what the header says. */
  readonly by?: SessionSource | undefined;
  /** Whether the last prompt was taken back since nothing came of it. */
  readonly unanswered?: true | undefined;
}

/** What a line after the first says. */
export type Entry =
  | TurnRecord
  /** Text since the last record of the kind, of a reply that is under way. */
  | { readonly kind: 'partial'; readonly text: string }
  /** What was chosen for the prompts that follow. */
  | { readonly kind: 'setup'; readonly chosen: SessionSetup }
  /** The name is now that of the line, or none. */
  | { readonly kind: 'name' }
  | { readonly kind: 'rewind'; readonly turns: number }
  | { readonly kind: 'replace'; readonly contents: readonly KeptContent[] };

/** Media that are kept apart from the line: in which content and part of it, and under which fingerprint. */
export type Apart = readonly (readonly [content: number, part: number, print: string])[];

export interface Line {
  readonly seq: number;
  readonly at: number;
  readonly standing: Standing;
  readonly entry: Entry;
}

/** The contents of an entry: none, one, or those of a `replace`. */
export function contentsOf(entry: Entry): readonly KeptContent[] {
  if ('content' in entry) return [entry.content];
  return entry.kind === 'replace' ? entry.contents : [];
}

/** The header as it is written, with its newline. */
export function headerText({ v, id, at, ...rest }: Header): string {
  return `${JSON.stringify({ v, type: 'session', id, t: isoTime(at), ...rest })}\n`;
}

/** A line as it is written, with its newline; `apart` names the media that its contents no longer hold. */
export function lineText({ seq, at, standing, entry }: Line, apart: Apart = []): string {
  const { kind, ...body } = entry;
  const { turn, name, model, by, unanswered } = standing;
  const blobs = apart.length === 0 ? undefined : apart;
  return `${JSON.stringify({ seq, t: isoTime(at), type: kind, turn, name, model, by, unanswered, ...body, blobs })}\n`;
}

const TITLE_LENGTH = 100;

const LONGEST_TYPED = TITLE_LENGTH * 10;

/** What the person said in a prompt, as one short line; untrusted text. */
export function titleOf({ parts }: KeptContent): string {
  const texts = parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []));
  const line = ownWords(texts).slice(0, LONGEST_TYPED).replace(/\s+/g, ' ').trim();
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1).toWellFormed()}…` : line;
}

/** Output of commands, names of media, files and stdin go before what the person said, the latter two in the same text. */
function ownWords(texts: readonly string[]): string {
  const last = texts.findLast((text) => text.trim() !== '' && !/^=== .* ===$/.test(text));
  if (last === undefined) return texts.join(' ');
  if (last.length <= LONGEST_TYPED && !last.startsWith('=== ')) return last;
  const end = last.trimEnd();
  return end.slice(end.lastIndexOf('\n\n') + 1);
}

/** The name of a session's file: when it was begun, and its id. */
export function fileName(at: number, id: string): string {
  return `${isoTime(at).replace(/[-:]|\.\d+/g, '')}-${id}.jsonl`;
}
