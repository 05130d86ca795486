import type { Clock } from '../../core/io.ts';
import type { Gate } from './concurrency.ts';
import type { Conversations } from './conversations.ts';
import type { Engine } from './engine.ts';
import type { Jobs } from './jobs/table.ts';
import type { Pages } from './pages.ts';
import type { RecentIds } from './recent.ts';
import type { Roots } from './roots.ts';

/** A tool, as far as the tools themselves know of each other. */
export interface Offer {
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

/** What all clients of this process share. */
export interface Host {
  readonly name: string;
  readonly version: string;
  /** What there is, in the order in which it is listed. */
  readonly offers: readonly Offer[];
  /** Opened with the first call that needs it; a start must not wait for settings and credentials. */
  readonly engine: () => Promise<Engine>;
  /** Resolves when every turn that has ended is written down. */
  readonly settled: () => Promise<void>;
  readonly clock: Clock;
  readonly roots: Roots;
  /** What the model may do besides reading. */
  readonly allowed: { readonly write: boolean; readonly shell: boolean };
  /** Where the server was started, free of links. */
  readonly startDirectory: string;
  readonly jobs: Jobs;
  readonly pages: Pages;
  readonly conversations: Conversations;
  /** Holds back calls of plain tools when there are too many. */
  readonly gate: Gate;
  /** The calls that are being answered. */
  readonly calls: Set<Promise<unknown>>;
  /** The sessions that were begun or continued here, wherever that was; the newest of them. */
  readonly ownSessions: RecentIds;
  /** What `chat` began, or went on with, last. */
  readonly latest: { sessionId?: string };
}
