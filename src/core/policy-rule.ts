import type { JsonObject } from './json.ts';

/** A rule of a policy file of the official CLI. */
export interface PolicyRule {
  readonly file: string;
  /** Its place in the file, from 1. */
  readonly number: number;
  readonly decision: 'allow' | 'deny' | 'ask_user';
  /** Of the tier and the rule: of those that match a call, the highest decides. */
  readonly priority: number;
  /** As written: with `*` for anything. */
  readonly toolNames: readonly string[];
  readonly mcpName?: string;
  readonly subagent?: string;
  readonly toolAnnotations?: JsonObject;
  readonly argsPattern?: string;
  readonly commandPrefixes?: readonly string[];
  readonly commandRegex?: string;
  /** By gmn's names. Absent: all of them. */
  readonly modes?: readonly string[];
  readonly interactive?: boolean;
  readonly message?: string;
}

export interface PolicyFiles {
  /** Those that were read, broken ones as well. */
  readonly files: readonly string[];
  /** The highest priority first. */
  readonly rules: readonly PolicyRule[];
  /** What was not understood. It may have denied anything. */
  readonly broken: readonly { readonly file: string; readonly why: string }[];
  /** Files of the machine that others could have written, which do not count. */
  readonly ignored: readonly string[];
}

export const NO_POLICIES: PolicyFiles = { files: [], rules: [], broken: [], ignored: [] };
