import { expect } from 'vitest';
import { type JsonObject, toJsonObject } from '../../src/core/json.ts';
import type { WirePart } from '../support/gemini-rules.ts';

/** How gmn is asked: as `gmn "…"`, in `gmn chat` and by another agent, with `delegate` of `gmn mcp serve`. */
export const WAYS = ['one-shot', 'chat', 'delegate'] as const;

export type Way = (typeof WAYS)[number];

/** What a request holds that a model would look at first. */
export interface Seen {
  /** The words of the user in the last content. */
  readonly text: string;
  /** The results of the last calls, in order. */
  readonly results: readonly JsonObject[];
  readonly system: string;
  readonly tools: readonly string[];
}

/** Parts of a reply, or the status of a refusal. */
export type Reply = readonly WirePart[] | { readonly status: number };

/** A step of the scripted model. It throws if the request is not what the task needs. */
export type Step = (seen: Seen) => Reply;

/** What a task left behind. */
export interface End {
  /** The answers to the prompts, as they were shown. */
  readonly answer: string;
  /** Everything else that was shown. */
  readonly notices: string;
  readonly exitCodes: readonly (number | null)[];
  /** The text of a file of the project; undefined if there is none. */
  file(path: string): string | undefined;
}

export interface Task {
  readonly name: string;
  /** For the table in the docs. */
  readonly what: string;
  readonly files: Readonly<Record<string, string>>;
  readonly home?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** `read`: nothing may be changed; `edit`: files; `shell`: commands, too. */
  readonly may: 'read' | 'edit' | 'shell';
  /** More flags of a one-shot and a chat. */
  readonly flags?: readonly string[];
  readonly verify?: string;
  /** Each is asked by a process of its own, which continues the session. */
  readonly prompts: readonly string[];
  readonly model: readonly Step[];
  /** All, if it is not said; why not all, is said where it is. */
  readonly ways?: readonly Way[];
  /** Throws if the end is not the right one. */
  check(end: End, way: Way): void;
}

export function say(text: string): WirePart {
  return { text };
}

/** A step that does not depend on the request. */
export function always(...parts: readonly WirePart[]): Step {
  return () => parts;
}

/** The output of one of the last calls. Throws if it failed. */
export function outputOf({ results }: Seen, index = 0): string {
  const { output, ...rest } = results[index] ?? {};
  if (output === undefined) throw new Error(`call ${index} has no output: ${JSON.stringify(rest)}`);
  return typeof output === 'string' ? output : JSON.stringify(output);
}

/** The message of one of the last calls that failed. */
export function errorOf({ results }: Seen, index = 0): string {
  const { error } = results[index] ?? {};
  if (typeof error !== 'string') throw new Error(`call ${index} did not fail: ${JSON.stringify(results[index])}`);
  return error;
}

/** The files in which a search found something. */
export function foundIn({ results }: Seen, index = 0): readonly string[] {
  const { matches } = toJsonObject(results[index]?.output);
  return Array.isArray(matches) ? matches.map((match) => String(toJsonObject(match).file)) : [];
}

/** What `pattern` finds in a text; its first group. Throws if there is nothing. */
export function pick(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`${pattern} is not in: ${text.slice(0, 2000)}`);
  return found;
}

/** For `env`: the project's own commands and context files are used. */
export const TRUSTED = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };

export function succeed({ exitCodes }: Pick<End, 'exitCodes'>): void {
  expect(exitCodes.every((code) => code === 0)).toBe(true);
}
