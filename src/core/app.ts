import type { AppError } from './error.ts';
import type { Clock, Env, HttpTimers, Io, SendHttp, Trace } from './io.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** Where the official CLI and gmn keep their files. */
export interface Homes {
  /** The official CLI's directory, `~/.gemini`; `GEMINI_CLI_HOME` moves it. */
  readonly gemini: string;
  /** gmn's own directory, `~/.gmn`; `GMN_HOME` names another. */
  readonly gmn: string;
  /** There is no home directory, and these are places where nothing is and nothing can be kept. */
  readonly isMissing?: true;
}

/** An MCP server as the settings define it. */
export interface ServerSetting {
  readonly name: string;
  /** As written, variables put in; whoever uses it checks it. */
  readonly definition: JsonValue;
  /** Whose settings define it; `flag`: the file of `--mcp-config`. A server of the workspace never carries `trust`. */
  readonly scope: 'system' | 'user' | 'workspace' | 'flag';
  readonly file: string;
}

/** What gmn reads from the settings files; every other key in them is left alone. */
export interface Settings {
  /** The environment, with the user's own `.env` files under it. Endpoints are never taken from here, only from App.env. */
  readonly env: Env;
  /** `GEMINI_MODEL`, else `model.name` */
  readonly model?: string;
  /** `security.auth.selectedType` */
  readonly authType?: string;
  /** `security.auth.enforcedType` */
  readonly enforcedAuthType?: string;
  /** `oauth.clientId` and `oauth.clientSecret` of gmn's own config. */
  readonly oauthClient?: { readonly id: string; readonly secret: string };
  /** `sessions.oneShot`: whether one-shots are saved; they are unless it is false. */
  readonly keepsOneShots?: boolean;
  /** `sessions.retention`: how long sessions without a name are kept, e.g. `30d`, or `never`: never removed. */
  readonly retention?: string;
  /** `output.format`: what `-o` and `GMN_OUTPUT_FORMAT` override. */
  readonly outputFormat?: 'text' | 'json' | 'stream-json';
  /** `modelConfigs`: the aliases and overrides of the official CLI; config/model-configs.ts reads them. */
  readonly modelConfigs?: JsonObject;
  /** All settings as one document, unknown keys too; `readSetting` in config reads it by key. Absent: nothing is set. */
  readonly document?: JsonObject;
  /** The MCP servers that may be used here, in the order of the files. Absent: none. */
  readonly servers?: readonly ServerSetting[];
  /** `mcp.serverCommand`: the server named `mcp`, whose definition is a command line. Absent: there is none. */
  readonly serverCommand?: ServerSetting | undefined;
  /** Things the person should know about the settings, e.g. that an untrusted workspace file was not read. */
  readonly notices: readonly string[];
}

/** Everything a command may need, handed to it. Thunks are memoised: building an App costs nothing. */
export interface App {
  readonly version: string;
  /** What the command line itself gives cause to say, for the `warnings` of a report. Absent: nothing. */
  readonly notices?: readonly string[];
  readonly io: Io;
  readonly env: Env;
  readonly cwd: string;
  readonly clock: Clock;
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number;
  /** Aborted, with an AppError as its reason, by a signal from the system. */
  readonly signal: AbortSignal;
  readonly trace: Trace;
  /** The run was ended: a write still blocked after a moment fails with `reason`, so that nothing waits for its reader. */
  readonly hurry: (reason: AppError) => void;
  readonly send: SendHttp;
  /** For clients of another kind than `send`. */
  readonly httpTimers: HttpTimers;
  /** Throws AppError `config` if there is no home directory. */
  readonly homes: () => Homes;
  /** Throws AppError `config` if a settings file is broken. */
  readonly settings: () => Promise<Settings>;
}
