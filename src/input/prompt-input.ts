import type { Homes } from '../core/app.ts';
import type { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import type { FileSupport } from '../core/files.ts';
import type { Clock, Env, Stdin } from '../core/io.ts';
import type { StdinMode } from './stdin.ts';

export type OnAttached = (path: string, bytes: Uint8Array) => void;

export interface Resource {
  readonly uri: string;
  readonly pieces: readonly (string | Uint8Array)[];
}

/**
 * Reads the resource that a mention means. Gets all candidates without `@`, the longest first; undefined if none is a
 * resource. Throws AppError `mcp` if the server fails.
 */
export type ReadResource = (mentions: readonly string[], signal: AbortSignal) => Promise<Resource | undefined>;

export interface OtherAttachments {
  readonly attach: readonly string[];
  /** Media type of those, and of `-f -`; guessed if absent. */
  readonly mimeType?: string;
  /** Reads the clipboard; absent if not requested. Throws AppError `usage`. */
  readonly clipboard?: (signal: AbortSignal) => Promise<Uint8Array>;
}

export interface PromptInput {
  /** The arguments, joined. Blank is the same as absent; `-` means stdin. */
  readonly prompt: string | undefined;
  /** Goes before all else, as a part of its own; an `@` in it mentions nothing. */
  readonly opening?: string;
  /** What the person typed, if the prompt is made from it: the words beside a template, or the name of one. */
  readonly question?: string;
  /** What is thrown if neither stdin nor a file has anything; absent: the prompt needs neither. */
  readonly missingInput?: AppError;
  /** What is asked is not part of the prompt: with files, stdin is not awaited for ever. */
  readonly isAskedElsewhere?: boolean;
  readonly files: readonly string[];
  readonly otherAttachments?: OtherAttachments;
  readonly stdinMode: StdinMode;
  readonly allowsMentions: boolean;
  readonly allowsStdinMentions?: boolean;
  /** Resolves `@server:uri`; if absent, that is plain text. */
  readonly readResource?: ReadResource;
  /** What the backend does with files that are too large for a request; absent: nothing. */
  readonly fileSupport?: FileSupport;
  readonly onAttached?: OnAttached;
  readonly notify: Notify;
  readonly cwd: string;
  readonly env: Env;
  readonly homes?: () => Homes;
  readonly stdin: Stdin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
