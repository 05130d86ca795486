import type { AuthScheme, Credential } from './credential.ts';
import type { AppError } from './error.ts';
import type { Flag } from './flag.ts';
import type { ClaimedStdout, Clock, Env, HttpTimers, Io, SendHttp, Stdin, Trace } from './io.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** The choices of `-o`; each has an entry in `renderers` of render/renderers.ts. */
export const OUTPUT_FORMATS = ['text', 'json', 'stream-json'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface Homes {
  /** The official CLI's directory, `~/.gemini`; `GEMINI_CLI_HOME` moves it. */
  readonly gemini: string;
  readonly gmn: string;
  /** There is no home directory. Nothing can be read or stored under either path then. */
  readonly isMissing?: true;
}

export interface ServerSetting {
  readonly name: string;
  /** As written, with variables expanded; not validated yet. */
  readonly definition: JsonValue;
  /** `flag` is the file given with `--mcp-config`, `client` whoever started gmn. A workspace server never carries `trust`. */
  readonly scope: 'system' | 'user' | 'workspace' | 'extension' | 'flag' | 'client';
  readonly file: string;
}

/** An extension of the official CLI. */
export interface Extension {
  readonly name: string;
  readonly version?: string;
  /** Without links. */
  readonly path: string;
  /** Its manifest. */
  readonly file: string;
  readonly contextFiles: readonly string[];
}

/** The value of `hooks` in one file. */
export interface HookSource {
  readonly scope: 'system' | 'user' | 'extension' | 'folder';
  readonly file: string;
  readonly hooks: JsonObject;
}

export interface Settings {
  /** The environment plus the user's own `.env` files. Endpoints are never taken from here, only from App.env. */
  readonly env: Env;
  /** `GEMINI_MODEL`, else `model.name` */
  readonly model?: string;
  readonly authType?: string;
  readonly enforcedAuthType?: string;
  readonly oauthClient?: { readonly id: string; readonly secret: string };
  /** `sessions.oneShot`: whether one-shot runs are saved; true unless set to false. */
  readonly keepsOneShots?: boolean;
  /** `sessions.retention`: how long unnamed sessions are kept, e.g. `30d`, or `never` to keep them all. */
  readonly retention?: string;
  /** `general.maxAttempts`: how often a model request is sent at most; `--retries` overrides it. */
  readonly maxAttempts?: number;
  /** `request.store`: whether the Gemini API may keep requests for the project's logs; `--store` overrides it. */
  readonly store?: boolean;
  readonly outputFormat?: OutputFormat;
  readonly modelConfigs?: JsonObject;
  /** All settings as one document, unknown keys too; `readSetting` in config reads it by key. Absent: nothing is set. */
  readonly document?: JsonObject;
  /** The same without what the folder sets, for what is not the folder's. */
  readonly ownDocument?: JsonObject;
  readonly servers?: readonly ServerSetting[];
  /** `mcp.serverCommand`: the server named `mcp`, whose definition is a command line. */
  readonly serverCommand?: ServerSetting;
  /** Of the official CLI, those in use here. */
  readonly extensions?: readonly Extension[];
  /** In the order in which they run. A folder's are those that `gmn trust` has shown. */
  readonly hooks?: readonly HookSource[];
  readonly notices: readonly string[];
}

/** Everything a command may need. Thunks cache their results, so building an App costs nothing. */
export interface App {
  readonly version: string;
  readonly notices?: readonly string[];
  /** The flags on the command line; what a variable sets is among the options only. */
  readonly typedFlags?: readonly Flag[];
  /**
   * Throws AppError `usage` if a prompt was most likely meant as a command: `asked`, one typed where gmn asks for a prompt; `alone`,
   * a single word with nothing else to send.
   */
  readonly guardPrompt?: (typed: string, source: 'asked' | 'alone') => void;
  readonly io: Io;
  readonly stdin: Stdin;
  /** Whatever else is printed to stdout from now on goes to stderr. */
  readonly claimStdout: () => Promise<ClaimedStdout>;
  readonly env: Env;
  readonly cwd: string;
  readonly clock: Clock;
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Aborts on SIGINT, SIGTERM or SIGHUP, with an AppError as its reason. */
  readonly signal: AbortSignal;
  readonly onExit: (action: () => void) => () => void;
  readonly trace: Trace;
  /** Called when the run is over: a write that is still blocked after a short grace period fails with `reason`. */
  readonly expireWrites: (reason: AppError) => void;
  readonly send: SendHttp;
  /** Opens a connection for the next request there. Call it while gmn waits for something else. Never fails. */
  readonly preconnect: (url: URL) => void;
  readonly httpTimers: HttpTimers;
  /** The exchanges are being recorded: what an earlier run has asked or uploaded is asked and uploaded again. */
  readonly isRecorded?: true;
  /** Context files of the user's home stay out of the instruction: it is recorded, and replayed on other machines. */
  readonly omitsHomeContext?: boolean;
  /** With `--replay`: what stands for the user's credential. `send` answers from the recording, and `clock` is its time. */
  readonly replayed?: { readonly credential: Credential; readonly carrier: AuthScheme };
  readonly homes: () => Homes;
  readonly settings: () => Promise<Settings>;
}
