import type { Part } from './content.ts';
import type { Source } from './event.ts';
import type { Usage, UsageDetails } from './usage.ts';

/** Work of one of the service's own agents, which goes on there whatever becomes of this process. */
export interface Interaction {
  readonly id: string;
  /** As the API names it: `in_progress`, `completed` …; new ones may appear. */
  readonly status: string;
  /** What the agent has written, all of it. */
  readonly text: string;
  /** What it cites, each once. */
  readonly sources: readonly Source[];
  readonly usage: Usage & UsageDetails;
  /** Why it failed, as the service says it. Untrusted text. */
  readonly error?: string;
}

export interface InteractionEvent {
  /** Where the stream can be resumed. */
  readonly eventId?: string;
  /** A piece of what the agent says it is doing. Untrusted text. */
  readonly thought?: string;
  /** The interaction has ended, or the service says so. */
  readonly isLast: boolean;
}

const ID = /^(?!\.{1,2}$)[!-~]{1,2000}$/;

/** Visible ASCII, and no `..`: what may stand in an address and on a terminal. */
export function isInteractionId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

export interface InteractionRequest {
  readonly agent: string;
  readonly input: readonly Part[];
}

/** Every method throws AppError `auth` or `api`. */
export interface InteractionsClient {
  /** Never repeated, because that could begin it twice. After an error it may have begun all the same: `isKnownNotBegun`. */
  create(request: InteractionRequest, signal: AbortSignal): Promise<Interaction>;
  /** Undefined if the service has none of that id, or not for this account. */
  get(id: string, signal: AbortSignal): Promise<Interaction | undefined>;
  /** What happens from now on, or since the event. Ends when the service ends it, which may be before the interaction does. */
  follow(id: string, lastEventId: string | undefined, signal: AbortSignal): AsyncGenerator<InteractionEvent, void>;
  /** Undefined as for `get`. Does nothing to one that has ended. */
  cancel(id: string, signal: AbortSignal): Promise<Interaction | undefined>;
}

export const RESEARCH_AGENTS = {
  usual: 'deep-research-preview-04-2026',
  max: 'deep-research-max-preview-04-2026',
} as const;

/** Ends that are no report. A status that is not known counts as running: it is never given up. */
export const FAILED_ENDS: Readonly<Record<string, string>> = {
  failed: 'it failed',
  cancelled: 'it was cancelled',
  incomplete: 'it ended before it was complete',
  budget_exceeded: 'it used up its budget',
  requires_action: 'the agent waits for an action that gmn cannot take',
};

export function hasInteractionEnded({ status }: Pick<Interaction, 'status'>): boolean {
  return status === 'completed' || Object.hasOwn(FAILED_ENDS, status);
}
