import type { Content, KeptContent } from './content.ts';
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
  /** The real path of the directory it was begun in; empty if that cannot be read any more. */
  readonly cwd: string;
  /** The model that answered last; absent if none has. */
  readonly model?: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
  /** When its last record was written. */
  readonly updatedAt: number;
  /** Prompts that count: what was rewound, or never answered, does not. */
  readonly turns: number;
  /** Whether its last prompt was never answered, and waits to be asked again. */
  readonly isUnanswered: boolean;
  readonly source: SessionSource;
  readonly bytes: number;
  readonly file: string;
}

/** Who answers, and how, as far as somebody chose it. */
export interface SessionSetup {
  /** As it was named. */
  readonly model?: string;
  /** A system instruction, or `@` and the path of its file. */
  readonly system?: string;
}

/** A saved conversation that is open: what is appended is in its file. */
export interface Session extends History {
  readonly id: string;
  readonly name: string | undefined;
  /** Prompts that count. */
  readonly turns: number;
  /** What was asked last, if nothing came of that and it does not count. */
  readonly unanswered: Content | undefined;
  /** What was chosen for it last. */
  readonly setup: SessionSetup;
  /** Whether nothing of it is missing on disk. */
  readonly isSaved: boolean;
  /** This is chosen from now on; it is kept with the next prompt. */
  choose(setup: SessionSetup): void;
  /** Gives it a name, or another one. Throws AppError `usage` if another session has that name. */
  rename(name: string): Promise<void>;
  /** Forgets the last `turns` exchanges; the file keeps them, `contents` does not. */
  rewind(turns: number): Promise<void>;
  /** Nothing came of the last prompt: it does not count, and is `unanswered` until the next one. */
  takeBack(): Promise<void>;
  /** Goes on from these contents in place of all earlier ones, which the file keeps. */
  replace(contents: readonly KeptContent[]): Promise<void>;
  /** Lets others write to it. */
  close(): Promise<void>;
}

/** One thing that happened, with its time, for people to read back. */
export type SavedRecord = TurnRecord & { readonly at: number };

/** A session as it is read back. */
export interface SavedSession {
  readonly summary: SessionSummary;
  /** What counts, in order: nothing that was rewound. */
  readonly records: readonly SavedRecord[];
  /** What could not be read, in words for the person. */
  readonly notices: readonly string[];
}

/** All sessions of this user. */
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
  /** A new one; its file appears with the first record. */
  create(beginning: SessionBeginning): Promise<Session>;
  /** Goes on with one. If somebody else has it open, with a copy that has an id of its own; a notice says so. */
  resume(summary: SessionSummary, cwd: string): Promise<Session>;
  /** Goes on with a copy of one, which has an id of its own. Throws AppError `usage` if its name is another's. */
  fork(summary: SessionSummary, beginning: Pick<SessionBeginning, 'cwd' | 'name'>): Promise<Session>;
  /** Gives it a name. Throws AppError `usage` if another session has that name, and while somebody has it open. */
  rename(summary: SessionSummary, name: string): Promise<void>;
  /** Removes it for good. Throws AppError `usage` while somebody has it open. */
  remove(summary: SessionSummary): Promise<void>;
}

export interface SessionBeginning {
  readonly cwd: string;
  /** Who began it. */
  readonly by: SessionSource;
  readonly name?: string;
  /** One that is free and safe in the name of a file; a UUID is made up if it is not given. */
  readonly id?: string;
  /** When it was begun; unless given, with its first record. */
  readonly at?: number;
}
