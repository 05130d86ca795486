import type { Homes } from '../core/app.ts';
import type { Clock, Env } from '../core/io.ts';
import type { Stdin } from '../platform/terminal/stdin.ts';
import type { StdinMode } from './stdin.ts';

export type Attached = (path: string, bytes: Uint8Array) => void;

/** What is in a resource, piece by piece. */
export interface Resource {
  readonly uri: string;
  readonly pieces: readonly (string | Uint8Array)[];
}

/**
 * The resource that a mention stands for, given all it may be, without `@`, the longest first; undefined: none, it is
 * text. Throws AppError `mcp` if it names a server that cannot be asked.
 */
export type ReadResource = (mentions: readonly string[], signal: AbortSignal) => Promise<Resource | undefined>;

/** What goes along besides files. */
export interface Extras {
  /** The `-a` values, in order. */
  readonly attach: readonly string[];
  /** The media type of those, and of `-f -`; absent: it is guessed. */
  readonly mimeType?: string;
  /** What is in the clipboard; absent: it is not asked for. Throws AppError `usage` if it cannot be had. */
  readonly clipboard?: (signal: AbortSignal) => Promise<Uint8Array>;
}

/** What the user hands over for one turn. */
export interface PromptInput {
  /** The words, joined. Blank is the same as absent; `-` stands for stdin. */
  readonly prompt: string | undefined;
  /** The `-f` values, in order. */
  readonly files: readonly string[];
  /** What else goes along. */
  readonly extras?: Extras;
  readonly stdinMode: StdinMode;
  /** Whether `@path` in the prompt attaches a file. */
  readonly mentions: boolean;
  /** The same for a prompt that comes through stdin, where no words are given. */
  readonly stdinMentions?: boolean;
  /** What `@server:uri` means; absent: it is text. */
  readonly readResource?: ReadResource;
  /** Told of every file that goes along as a whole: its real path, and what it holds. */
  readonly attached?: Attached;
  readonly cwd: string;
  readonly env: Env;
  /** Where gmn and the official CLI keep their state; absent: nowhere. */
  readonly homes?: () => Homes;
  readonly stdin: Stdin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
