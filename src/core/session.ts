import type { Content, StoredContent } from './content.ts';
import type { History, TurnRecord } from './history.ts';

/**
 * Where a conversation is held: in a chat, as a one-shot, or by another agent through `gmn mcp serve`. A session that was held
 * in several of them has the one that is nearest to the person.
 */
export type SessionSource = 'chat' | 'prompt' | 'mcp';

/** What people call them. */
export const SOURCE_WORDS = { chat: 'chat', prompt: 'one-shot', mcp: 'served' } as const satisfies Record<
  SessionSource,
  string
>;

/** What a list of sessions says of one, read from the ends of its file. */
export interface SessionSummary {
  /** A UUID, or what `--session-id` gave. */
  readonly id: string;
  readonly name?: string;
  /** The first prompt, shortened to one line; untrusted text. */
  readonly title: string;
  /** The real path of the directory it was started in; empty if unknown. */
  readonly cwd: string;
  readonly model?: string;
  /** In milliseconds since the epoch, like all times here. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Prompts that count: what was rewound, or never answered, does not. */
  readonly turns: number;
  /** Whether its last prompt was never answered, and waits to be asked again. */
  readonly isUnanswered: boolean;
  readonly source: SessionSource;
  readonly bytes: number;
  readonly file: string;
}

export interface SessionSetup {
  readonly model?: string;
  /** A system instruction, or `@` and the path of a file that contains it. */
  readonly system?: string;
}

/** An open session: everything appended is written to its file. */
export interface Session extends History {
  readonly id: string;
  readonly name: string | undefined;
  /** The number of prompts, without those that were rewound. */
  readonly turns: number;
  /** What was asked last, if nothing came of that and it does not count. */
  readonly unanswered: Content | undefined;
  /** What was chosen for it last. */
  readonly setup: SessionSetup;
  /** Whether everything is on disk. */
  readonly isSaved: boolean;
  /** Takes effect now; saved with the next prompt. */
  choose(setup: SessionSetup): void;
  /** Throws AppError `usage` if another session has that name. */
  rename(name: string): Promise<void>;
  /** Removes the last `turns` turns from `contents`; the file keeps them. */
  rewind(turns: number): Promise<void>;
  /** Nothing came of the last prompt: it does not count, and is `unanswered` until the next one. */
  retractPrompt(): Promise<void>;
  /** Goes on from these contents in place of all earlier ones, which the file keeps. */
  replace(contents: readonly StoredContent[]): Promise<void>;
  /** Releases the session lock. */
  close(): Promise<void>;
}

export type SavedRecord = TurnRecord & { readonly at: number };

export interface SavedSession {
  readonly summary: SessionSummary;
  /** In order, without those that were rewound. */
  readonly records: readonly SavedRecord[];
  readonly notices: readonly string[];
}

export interface SessionStore {
  /** The newest first. Files that are no sessions are left out, and those with neither a name nor anything to go on with. */
  list(): Promise<readonly SessionSummary[]>;
  /**
   * The session that `reference` names: an id, the beginning of one, `last`, `latest`, a number of `list`, or a name. The last
   * is the newest that counts for whom the store was opened: in a chat one that was held in a chat, for another agent any,
   * else one of the person. Throws AppError `usage` if there is none, or more than one.
   */
  find(reference: string): Promise<SessionSummary>;
  /** The newest that was begun in this directory, of those that count. Throws AppError `usage` if there is none. */
  newestIn(cwd: string): Promise<SessionSummary>;
  read(summary: SessionSummary): Promise<SavedSession>;
  /** The file is created with the first record. */
  create(beginning: NewSession): Promise<Session>;
  /**
   * Continues a session. If another process has it open, continues a copy with a new id instead, and a notice says so.
   */
  resume(summary: SessionSummary, cwd: string): Promise<Session>;
  /** Continues a copy of the session under a new id. Throws AppError `usage` if the name is taken. */
  fork(summary: SessionSummary, beginning: Pick<NewSession, 'cwd' | 'name'>): Promise<Session>;
  /** Throws AppError `usage` if another session has that name, and while the session is open elsewhere. */
  rename(summary: SessionSummary, name: string): Promise<void>;
  /** Throws AppError `usage` while the session is open elsewhere. */
  remove(summary: SessionSummary): Promise<void>;
}

export interface NewSession {
  readonly cwd: string;
  /** Who began it. */
  readonly by: SessionSource;
  readonly name?: string;
  /** One that is free and safe in the name of a file; a UUID is made up if it is not given. */
  readonly id?: string;
  /** The creation time; that of the first record if absent. */
  readonly at?: number;
}
