import type { TlsOptions } from 'node:tls';
import type { GmnOptions } from '../support/gmn.ts';
import type { Scene } from './scene.ts';
import type { Ended } from './started.ts';
import type { ProxyManner } from './wire-proxy.ts';
import type { Play } from './wire-server.ts';

/** An output format; `none` for commands that have no `-o`. */
export type Format = 'text' | 'json' | 'stream-json' | 'none';

/** How a run is looked at: what it prints, and where to. */
export interface Way {
  readonly format: Format;
  readonly surface: 'pipe' | 'terminal';
}

/** What a run must come to, in every format. */
export interface Expected {
  /** The exit code, or all that will do; null: ended by a signal. */
  readonly code: number | null | readonly (number | null)[];
  /** Key words of what is said to the person: an error with its next step, or a notice. */
  readonly says?: RegExp;
  /** The whole answer, or all that had come of it. */
  readonly text?: string;
}

/** One way to cause a fault. In `env`, SERVER, PORT, PROXY, HOME and WORK stand for what they are called. */
export interface Variant extends Omit<GmnOptions, 'gemini'> {
  readonly name: string;
  readonly expect: Expected;
  /** What the model's server does, one entry a request. A request more or fewer is a problem, unless `isEndless`. */
  readonly model?: readonly Play[];
  /** The same for the token server. */
  readonly token?: readonly Play[];
  /** Whether the last entry is played for every further request, and some may not be asked for. */
  readonly isEndless?: boolean;
  /** Whether the server speaks TLS, and with which certificate. */
  readonly tls?: TlsOptions;
  /** A proxy, and what it does to those who want through. */
  readonly proxy?: ProxyManner;
  /** The command line after the format; a plain prompt unless given. */
  readonly args?: readonly string[];
  /** With a Google sign-in (`stale`: to be refreshed first) and Code Assist, in place of an API key. */
  readonly signIn?: 'fresh' | 'stale';
  /** The ways it is run in; all formats in a pipe and on a terminal unless given. */
  readonly ways?: readonly Way[];
  /** Runs it in another way than to its end; what it returns is held against `expect`. */
  readonly play?: (scene: Scene) => Promise<Ended | undefined>;
  /** Looked at after the run; what it throws is a problem. */
  readonly check?: (scene: Scene) => Promise<void> | void;
  readonly withinMs?: number;
  /** Whether nothing else may run at the same time: a terminal is gone only when nobody has inherited it. */
  readonly isAlone?: boolean;
  readonly memoryMb?: number;
  /** What this variant may leave behind, though others may not. */
  readonly leaves?: readonly ('lock' | 'gemini' | 'temporary' | 'foreign-mode')[];
  /** Why it cannot be run here. */
  readonly skip?: () => string | undefined;
}

/** A row of the matrix. */
export interface Fault {
  /** As in the fault table, e.g. `N12`. */
  readonly id: string;
  readonly what: string;
  /** The first is the one that every test run takes. */
  readonly variants: readonly Variant[];
  /** Tests elsewhere that prove it through the real surface: the file, and the name of the test in its source. */
  readonly seenBy: readonly (readonly [file: string, name: string])[];
}

export function row(id: string, what: string, variants: readonly Variant[], ...seenBy: Fault['seenBy']): Fault {
  return { id, what, variants, seenBy };
}

const FORMATS = ['text', 'json', 'stream-json'] as const;

/** Every format, in a pipe. */
export const IN_PIPES: readonly Way[] = FORMATS.map((format) => ({ format, surface: 'pipe' }));

/** Every format on a terminal. */
export const ON_TERMINALS: readonly Way[] = FORMATS.map((format) => ({ format, surface: 'terminal' }));

/** Text in a pipe, and nothing else. */
export const PLAIN_PIPE: readonly Way[] = [{ format: 'text', surface: 'pipe' }];

/** A command that has no format, in a pipe. */
export const COMMAND: readonly Way[] = [{ format: 'none', surface: 'pipe' }];

/** A command that has no format, on a terminal: the chat. */
export const COMMAND_ON_TERMINAL: readonly Way[] = [{ format: 'none', surface: 'terminal' }];

/** The ways of a variant. */
export function waysOf({ ways }: Variant): readonly Way[] {
  return ways ?? [...IN_PIPES, ...ON_TERMINALS];
}

/** The kinds of trouble that are counted. */
export type ProblemKind =
  | 'hang'
  | 'code'
  | 'words'
  | 'lost'
  | 'grammar'
  | 'stack'
  | 'noise'
  | 'leak'
  | 'process'
  | 'leftover'
  | 'foreign'
  | 'session'
  | 'terminal'
  | 'memory'
  | 'mode'
  | 'requests'
  | 'other';

export interface Problem {
  readonly kind: ProblemKind;
  readonly detail: string;
}
