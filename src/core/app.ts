import type { SendHttp } from "./http.ts";
import type { Clock, Env, Io, Trace } from "./io.ts";

/** What gmn reads from the settings files; every other key in them is left alone. */
export interface Settings {
	readonly model?: string;
	/** `security.auth.selectedType` */
	readonly authType?: string;
}

/** Everything a command may need, handed to it. Thunks are memoised: building an App costs nothing. */
export interface App {
	readonly version: string;
	readonly io: Io;
	readonly env: Env;
	readonly cwd: string;
	readonly clock: Clock;
	/** Aborted, with an AppError as its reason, by a signal from the system. */
	readonly signal: AbortSignal;
	readonly trace: Trace;
	readonly send: SendHttp;
	readonly settings: () => Promise<Settings>;
}
