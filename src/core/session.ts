import type { StoredContent } from './content.ts';
import type { Compaction, History, TurnRecord } from './history.ts';

/** Who holds the conversation. A session that was used in several ways has the one nearest to the person. */
export type SessionSource = 'chat' | 'prompt' | 'mcp' | 'agent';

export const SOURCE_LABELS = {
  chat: 'chat',
  prompt: 'one-shot',
  mcp: 'served',
  agent: 'sub-agent',
} as const satisfies Record<SessionSource, string>;

export interface SessionSummary {
  /** A UUID, or what `--session-id` gave. */
  readonly id: string;
  readonly name?: string;
  /** Untrusted text. */
  readonly title: string;
  readonly cwd: string;
  readonly model?: string;
  /** In milliseconds since the epoch, like all times here. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Prompts that were answered and not rewound. */
  readonly turns: number;
  readonly isUnanswered: boolean;
  readonly source: SessionSource;
  readonly bytes: number;
  readonly file: string;
}

/** Who is asked in a conversation, and with which instruction. Absent in sessions of versions that did not keep it. */
export interface KeptSetup {
  /** The name it was asked for by, which may be an alias; `default` means gmn's own. */
  readonly model?: string;
  /** Only in sessions of older versions: `@` and the path of a file that contains the instruction. */
  readonly system?: string;
  /** The text that replaces gmn's own instruction. */
  readonly systemText?: string;
  readonly appendText?: string;
  readonly start?: SessionStart;
}

/** Facts in the agent prompt about the start of the session; kept, so that later requests begin with the same text. */
export interface SessionStart {
  /** `Tue Nov 17 2026` */
  readonly date: string;
  readonly branch?: string;
}

export interface Session extends History {
  /** The n-th has the n-th of `contents`. */
  readonly records: readonly SavedRecord[];
  readonly compactions: readonly Compaction[];
  compact(compaction: Compaction): Promise<void>;
  readonly id: string;
  readonly name: string | undefined;
  readonly turns: number;
  /** The last prompt, if it got no answer. It is not in `contents`. */
  readonly unanswered: StoredContent | undefined;
  readonly setup: KeptSetup;
  readonly isSaved: boolean;
  /** Takes effect now; saved with the next prompt. */
  choose(setup: KeptSetup): void;
  rename(name: string): Promise<void>;
  /** The file keeps them. */
  rewind(turns: number): Promise<void>;
  /** Removes the last prompt, which got no answer, from `contents`; it is `unanswered` until the next one. */
  retractPrompt(): Promise<void>;
  /**
   * Records keep their times, if they have any. Give some only to a session without a file: a crash could cut off what
   * replaces those of an existing one.
   */
  replace(records: readonly (TurnRecord & { readonly at?: number })[]): Promise<void>;
  /** Writes it with the time of now, also before the first prompt. Absent: it has no file. */
  readonly touch?: () => Promise<void>;
  close(): Promise<void>;
}

export type SavedRecord = TurnRecord & { readonly at: number };

export interface SavedSession {
  readonly summary: SessionSummary;
  readonly records: readonly SavedRecord[];
  readonly compactions?: readonly Compaction[];
  readonly notices: readonly string[];
}

export interface SessionStore {
  /** The newest first. Omits files that are not sessions, and sessions with neither a name nor any turn. */
  list(): Promise<readonly SessionSummary[]>;
  /** An id or its beginning, `last`, `latest`, a number of `list`, a name. Throws AppError `usage`. */
  find(reference: string): Promise<SessionSummary>;
  /** Started in this directory, and the caller may resume it. Throws AppError `usage` if there is none. */
  newestIn(cwd: string): Promise<SessionSummary>;
  read(summary: SessionSummary): Promise<SavedSession>;
  create(beginning: NewSession): Promise<Session>;
  /** If another process has it open, a copy with a new id is continued instead, and a notice says so. */
  resume(summary: SessionSummary, cwd: string): Promise<Session>;
  /** Continues a copy of the session under a new id. Throws AppError `usage` if the name is taken. */
  fork(summary: SessionSummary, beginning: Pick<NewSession, 'cwd' | 'name'>): Promise<Session>;
  /** Throws AppError `usage` if another session has that name, and while the session is open elsewhere. */
  rename(summary: SessionSummary, name: string): Promise<void>;
  remove(summary: SessionSummary): Promise<void>;
}

export interface NewSession {
  readonly cwd: string;
  readonly by: SessionSource;
  readonly name?: string;
  /** Must be unused and safe as a file name; a new UUID if absent. */
  readonly id?: string;
  readonly at?: number;
}
