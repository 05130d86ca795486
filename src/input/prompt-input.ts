import type { Clock, Env } from '../core/io.ts';
import type { Stdin } from '../platform/stdin.ts';
import type { StdinMode } from './stdin.ts';

export type Attached = (path: string, bytes: Uint8Array) => void;

/** What the user hands over for one turn. */
export interface PromptInput {
  /** The words, joined. Blank is the same as absent; `-` stands for stdin. */
  readonly prompt: string | undefined;
  /** The `-f` values, in order. */
  readonly files: readonly string[];
  readonly stdinMode: StdinMode;
  /** Whether `@path` in the prompt attaches a file. */
  readonly mentions: boolean;
  /** Told of every file that goes along as a whole: its real path, and what it holds. */
  readonly attached?: Attached;
  readonly cwd: string;
  readonly env: Env;
  readonly stdin: Stdin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
