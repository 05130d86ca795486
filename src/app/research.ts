import { join } from 'node:path';
import type { App } from '../core/app.ts';
import type { Part } from '../core/content.ts';
import { AppError, findStatus } from '../core/error.ts';
import type { Notify, Source, TurnEvent } from '../core/event.ts';
import { FAILED_ENDS, hasInteractionEnded, type Interaction } from '../core/interaction.ts';
import { formatAge, formatDollars } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import { isKnownNotBegun, type Researcher } from '../engine/model/research.ts';
import { hasEnded, type JobRecord, type ResearchFields, toEndFields } from '../jobs/record.ts';
import type { JobStore } from '../jobs/store.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { makePrivateDirectory, WRITE_HINT } from '../platform/files/write.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { appendUsage } from '../session/usage-log.ts';
import type { AnswerView } from './answer.ts';

/** A job of research as it is begun here: everything but what the service adds. */
export type ResearchJob = JobRecord & Pick<ResearchFields, 'kind' | 'agent'> & { readonly title: string };

export function isResearch(record: JobRecord): record is ResearchJob {
  return record.kind === 'research' && record.agent !== undefined && record.title !== undefined;
}

export interface ResearchContext {
  readonly app: App;
  readonly store: JobStore;
  readonly researcher: Researcher;
  readonly notify: Notify;
  readonly isDemo: boolean;
}

/** With what waits for its report, or why there is none, to have left gmn. */
export type DeliveryContext = ResearchContext & Pick<AnswerView, 'afterDelivery'>;

export interface ResearchTask {
  readonly agent: string;
  readonly input: readonly Part[];
  readonly title: string;
  /** The interaction that the question has begun already, as the user says. */
  readonly interactionId?: string;
}

/**
 * The job of a question: one that goes on, or whose report nobody has got yet, else a new one. What is about to begin is written down
 * before it is asked for, so that no question is begun twice. Throws AppError, `api` also where it cannot be known whether the service
 * has begun.
 */
export async function beginResearch(task: ResearchTask, context: ResearchContext): Promise<ResearchJob> {
  const { app, store, researcher, notify } = context;
  if (task.interactionId !== undefined) return adoptInteraction(task.interactionId, task, context);
  const key = researcher.toKey(task.agent, task.input);
  return withLock(key, context, async () => {
    const earlier = (await store.list()).filter(isResearch).find((record) => isOpen(record, key));
    if (earlier?.interaction_id !== undefined) {
      notify(
        `going on with research ${earlier.job_id}, begun ${formatAge(Date.parse(earlier.created_at), app.clock.now())}`,
      );
      return earlier;
    }
    if (earlier !== undefined) throw doubtError(earlier, 'gmn was ended before the service had answered');
    const input = await researcher.prepare(task.input, app.signal);
    const record = createRecord(key, task, context);
    await store.saveDurably(record);
    notify(`research ${record.job_id} begins; Ctrl+C leaves it running`);
    return askService(record, input, context);
  });
}

/** Whether a question is in flight, or its end has reached nobody. */
function isOpen(record: ResearchJob, key: string): boolean {
  return record.prompt_sha256 === key && (!hasEnded(record) || record.is_delivered !== true);
}

function createRecord(key: string, { agent, title }: ResearchTask, { app, isDemo }: ResearchContext): ResearchJob {
  return {
    ...{ job_id: randomId(), kind: 'research', status: 'queued', created_at: formatNow(app), agent, title },
    ...{ working_directory: app.cwd, prompt_sha256: key, timeout_ms: 0, is_demo: isDemo || undefined },
  };
}

/** The request is not aborted by the first Ctrl+C: its answer has the id, without which nobody finds the research again. */
async function askService(record: ResearchJob, input: readonly Part[], context: ResearchContext): Promise<ResearchJob> {
  const { app, store, researcher } = context;
  const { agent } = record;
  const begun = await researcher.client.create({ agent, input }, new AbortController().signal).catch(async (thrown) => {
    const error = AppError.from(thrown);
    if (!isKnownNotBegun(error)) throw doubtError(record, error.message);
    const { message } = error;
    await store.saveDurably({
      ...record,
      status: 'failed',
      is_delivered: true,
      error: message,
      ...toEndFields(record, app.clock.now()),
    });
    throw error;
  });
  return saveBegun(record, begun.id, context);
}

/** The research runs by now, so a full disk must not end the wait: the id is said instead. */
async function saveBegun(record: ResearchJob, id: string, context: ResearchContext): Promise<ResearchJob> {
  const { app, store, notify } = context;
  const begun: ResearchJob = { ...record, status: 'running', started_at: formatNow(app), interaction_id: id };
  await store.saveDurably(begun).catch((thrown: unknown) => {
    notify(`${requireWriteError(thrown).message}; the research has begun at Google as ${id}: ${toAdoption(id)}`);
  });
  return begun;
}

/** The error of a file that cannot be written; throws any other. */
function requireWriteError(thrown: unknown): AppError {
  if (thrown instanceof AppError && thrown.fault === 'config') return thrown;
  throw thrown;
}

/** The job that has this interaction already, else the one of this question whose beginning is in doubt, else a new one. */
async function adoptInteraction(id: string, task: ResearchTask, context: ResearchContext): Promise<ResearchJob> {
  const { app, store, researcher } = context;
  if ((await researcher.client.get(id, app.signal)) === undefined) throw unknownError();
  const key = task.input.length === 0 ? '' : researcher.toKey(task.agent, task.input);
  return withLock(key || id, context, async () => {
    const records = (await store.list()).filter(isResearch);
    const known = records.find(({ interaction_id }) => interaction_id === id);
    if (known !== undefined) return known;
    const doubtful = records.find(
      (record) => key !== '' && record.interaction_id === undefined && !hasEnded(record) && isOpen(record, key),
    );
    return saveBegun(doubtful ?? createRecord(key, task, context), id, context);
  });
}

function formatNow({ clock }: App): string {
  return new Date(clock.now()).toISOString();
}

/** Only one process at a time begins a question, or saves the end of a job. */
async function withLock<Result>(name: string, { app }: ResearchContext, work: () => Promise<Result>): Promise<Result> {
  const directory = join(app.homes().gmn, 'jobs');
  await makePrivateDirectory(directory);
  const path = join(directory, `${name.replace(/[^\w-]/g, '').slice(0, 80)}.lock`);
  const { clock, signal } = app;
  const lock = await acquireLock(path, {
    clock,
    signal,
    maxWaitMs: LOCK_MS,
    isDone: async () => false,
    takesFrom: 'gone',
  });
  if (lock?.isTaken === true) {
    throw new AppError('limit', 'another gmn is busy with the same research', { hint: 'Wait for it: gmn jobs list' });
  }
  if (lock?.isHeld !== true) throw new AppError('config', `cannot write ${path}`, { hint: WRITE_HINT });
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** Longer than a request to begin may take. */
const LOCK_MS = 120_000;

/** Whether it was begun is not known, and it is not begun a second time. */
export function doubtError({ job_id: id }: JobRecord, why: string): AppError {
  return new AppError('api', `it cannot be known whether research ${id} has begun: ${why}`, {
    hint:
      'gmn does not begin it again by itself, because it may run, and cost, already. If you know its id at Google, go on with it: ' +
      `${toAdoption('<id>')}. ` +
      `To give it up: gmn jobs cancel ${id}; the same command then begins anew.`,
  });
}

function toAdoption(id: string): string {
  return `gmn research --interaction ${id} "…"`;
}

function unknownError(): AppError {
  return new AppError('api', 'the service does not know the research, or not for this API key', {
    hint: 'Use the key that began it: gmn auth status',
  });
}

export interface FinishedResearch {
  readonly record: ResearchJob;
  /** With its sources. */
  readonly report: string;
  readonly sources: readonly Source[];
  readonly usage: Usage;
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly maxCost?: number;
}

/**
 * Waits for the end, for hours if need be, and saves it. What fails on the way is tried again; only a refusal ends the wait, not the
 * research. Throws AppError, with how to go on.
 */
async function* followResearch(
  record: ResearchJob,
  options: FollowOptions,
  context: ResearchContext,
): AsyncGenerator<TurnEvent, FinishedResearch> {
  if (hasEnded(record)) {
    const { sources = [], usage = NO_USAGE } = record;
    return { record, report: (await context.store.find(record.job_id))?.output ?? '', sources, usage };
  }
  try {
    return yield* waitForEnd(record, options, context);
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.fault === 'limit' || error.fault === 'internal') throw error;
    throw error.with({ hint: `${error.hint ?? ''} ${toGoOn(record)}`.trimStart() });
  }
}

function toGoOn({ job_id: id }: JobRecord): string {
  return `The research goes on at Google. To wait for it: gmn jobs wait ${id}, or the same command again. To end it: gmn jobs cancel ${id}`;
}

/** In multiples of the first delay: the longest pause, and how long the service may not know a new interaction yet. */
const LONGEST_DELAY = 30;
const LAG = 60;

async function* waitForEnd(
  record: ResearchJob,
  { signal, maxCost }: FollowOptions,
  context: ResearchContext,
): AsyncGenerator<TurnEvent, FinishedResearch> {
  const { app, researcher } = context;
  const { retryBaseMs: baseMs } = researcher.opened;
  const thoughts = createThoughts(record, context);
  const look = createLook(record, context);
  let delayMs = baseMs;
  for (;;) {
    yield { type: 'wait', what: `the research, which may take an hour` };
    const hadNews = yield* thoughts(signal);
    const interaction = await look(signal);
    if (interaction !== undefined && hasInteractionEnded(interaction)) return saveEnd(record, interaction, context);
    if (interaction !== undefined && maxCost !== undefined) {
      const finished = await stopAtCost(record, interaction, maxCost, context);
      if (finished !== undefined) return finished;
    }
    delayMs = hadNews ? baseMs : Math.min(2 * delayMs, LONGEST_DELAY * baseMs);
    await app.clock.sleep(delayMs, signal);
  }
}

/** What the agent says it is doing, for as long as a connection lasts; the next one resumes after the last event. True if it said something. */
function createThoughts({ interaction_id: id = '' }: ResearchJob, { app, researcher }: ResearchContext) {
  let lastEventId: string | undefined;
  let isPossible = true;
  return async function* followThoughts(signal: AbortSignal): AsyncGenerator<TurnEvent, boolean> {
    let hadNews = false;
    if (!isPossible) return hadNews;
    try {
      for await (const { eventId, thought, isLast } of researcher.client.follow(id, lastEventId, signal)) {
        lastEventId = eventId ?? lastEventId;
        if (thought !== undefined) {
          hadNews = true;
          yield { type: 'thought', delta: thought };
        }
        if (isLast) break;
      }
    } catch (thrown) {
      signal.throwIfAborted();
      const error = AppError.from(thrown);
      if (error.fault !== 'api' && error.fault !== 'auth') throw error;
      app.trace(`research: ${error.message}`);
      // Its state is still asked for; only its thoughts are missed.
      isPossible = error.retry !== undefined;
    }
    return hadNews;
  };
}

/** Its state; undefined if it cannot be had now. */
function createLook(
  { interaction_id: id = '', started_at }: ResearchJob,
  { app, researcher, notify }: ResearchContext,
) {
  const startedAt = Date.parse(started_at ?? '') || app.clock.now();
  let isSaid = false;
  return async (signal: AbortSignal): Promise<Interaction | undefined> => {
    try {
      const found = await researcher.client.get(id, signal);
      if (found !== undefined) {
        isSaid = false;
        return found;
      }
      if (app.clock.now() - startedAt < LAG * researcher.opened.retryBaseMs) return undefined;
      throw unknownError();
    } catch (thrown) {
      signal.throwIfAborted();
      const error = AppError.from(thrown);
      const isTemporary = error.fault === 'api' && (error.retry !== undefined || (findStatus(error) ?? 0) >= 500);
      if (!isTemporary) throw error;
      if (!isSaid) notify(`${error.message}; the research goes on, and gmn keeps asking for it`);
      isSaid = true;
      return undefined;
    }
  };
}

/** Undefined below the limit. A report that was ready before it could be cancelled is paid for, and returned. */
async function stopAtCost(
  record: ResearchJob,
  { usage }: Interaction,
  maxCost: number,
  context: ResearchContext,
): Promise<FinishedResearch | undefined> {
  const cost = context.researcher.toCost(record.agent, usage) ?? 0;
  if (cost <= maxCost) return undefined;
  const finished = await cancelResearch(record, { signal: new AbortController().signal, usage }, context);
  if (finished === undefined) throw unknownError();
  if (finished.record.status === 'completed') return finished;
  throw new AppError(
    'limit',
    `stopped at --max-cost: ${formatDollars(cost)} of ${formatDollars(maxCost)} is spent, and the research is cancelled`,
    {
      hint: 'Raise --max-cost, or ask for less.',
      isCostSpent: true,
    },
  );
}

interface CancelOptions {
  readonly signal: AbortSignal;
  /** What it had used when it was last seen, in case the service does not say it again. */
  readonly usage?: Interaction['usage'];
}

/** Ends it at the service, and saves what came of it. Undefined if the service does not know it, or not for this API key. */
export async function cancelResearch(
  record: ResearchJob,
  { signal, usage: seen = {} }: CancelOptions,
  context: ResearchContext,
): Promise<FinishedResearch | undefined> {
  const found = await context.researcher.client.cancel(record.interaction_id ?? '', signal);
  if (found === undefined) return undefined;
  const usage = Object.keys(found.usage).length === 0 ? seen : found.usage;
  // It may take the service a moment to end it.
  const status = hasInteractionEnded(found) ? found.status : 'cancelled';
  const finished = await saveEnd(record, { ...found, usage, status }, context);
  // Whoever cancels it knows: the same question is a new one.
  if (finished.record.status !== 'completed') await markDelivered(finished.record, context);
  return finished;
}

/** Once, by whichever process sees it first. A disk that is full loses no report: it is shown, and still at Google. */
export async function saveEnd(
  record: ResearchJob,
  interaction: Interaction,
  context: ResearchContext,
): Promise<FinishedResearch> {
  const { app, store, researcher, notify } = context;
  const finished = toFinished(record, interaction, context);
  const save = async (): Promise<FinishedResearch> => {
    const known = (await store.find(record.job_id))?.record;
    if (known !== undefined && isResearch(known) && hasEnded(known)) return { ...finished, record: known };
    await store.saveOutput(record.job_id, finished.report);
    await store.saveDurably(finished.record);
    const call = researcher.toCall(record.agent, interaction.usage);
    if (call.backend !== 'demo') {
      appendUsage(app.homes().gmn, { at: call.at, kind: 'research', id: record.job_id, cwd: app.cwd, calls: [call] });
    }
    return finished;
  };
  return withLock(record.job_id, context, save).catch((thrown: unknown) => {
    notify(`${requireWriteError(thrown).message}; the end of research ${record.job_id} is not saved`);
    return finished;
  });
}

function toFinished(
  record: ResearchJob,
  { text, sources, usage, status, error }: Interaction,
  { app, researcher }: ResearchContext,
): FinishedResearch {
  const { promptTokensDetails: _, ...plain } = usage;
  const why = FAILED_ENDS[status] ?? (text.trim() === '' ? 'it ended without a report' : undefined);
  const cost = researcher.toCost(record.agent, usage);
  const ended: ResearchJob = {
    ...record,
    status: why === undefined ? 'completed' : status === 'cancelled' ? 'cancelled' : 'failed',
    ...toEndFields(record, app.clock.now()),
    error: why === undefined || error === undefined ? why : `${why}: ${error}`,
    code: why === undefined ? undefined : status.toUpperCase(),
    cost,
    ...{ model_used: record.agent, sources, usage: plain },
  };
  return { record: ended, report: formatWithSources(text, sources), sources, usage: plain };
}

/** The report is Markdown, and so is the list of what it cites. */
function formatWithSources(text: string, sources: readonly Source[]): string {
  const body = text.trimEnd();
  if (body === '' || sources.length === 0) return body === '' ? '' : `${body}\n`;
  const list = sources.map((source, index) => `${index + 1}. ${formatSource(source)}\n`);
  return `${body}\n\n## Sources\n\n${list.join('')}`;
}

/** A link only to the web: a reader would run `javascript:`. Nothing of it is Markdown or HTML of its own. */
function formatSource({ title, uri }: Source): string {
  const [words, address] = [title, uri].map((text) => sanitize(text).replace(/[[\]<>`\\]/g, ''));
  const link = URL.canParse(uri) ? new URL(uri) : undefined;
  if (link?.protocol !== 'https:' && link?.protocol !== 'http:')
    return [...new Set([words, address])].join(' ').trimEnd();
  return `[${words}](${sanitize(link.href).replaceAll('(', '%28').replaceAll(')', '%29')})`;
}

/** The report has left: the same question begins new research from now on. If this cannot be written, the same report is shown once more. */
export async function markDelivered(record: ResearchJob, { store }: Pick<ResearchContext, 'store'>): Promise<void> {
  if (record.is_delivered !== true) await store.saveDurably({ ...record, is_delivered: true }).catch(requireWriteError);
}

/** The events of a job of research, as those of a turn. */
export async function* answerResearch(
  record: ResearchJob,
  options: FollowOptions,
  context: DeliveryContext,
): AsyncGenerator<TurnEvent, void> {
  const { job_id: jobId, agent } = record;
  yield { type: 'begin', model: agent, jobId };
  const { record: ended, report, sources, usage } = yield* followResearch(record, options, context);
  context.afterDelivery(() => markDelivered(ended, context));
  if (report !== '') yield { type: 'text', delta: report };
  if (ended.status !== 'completed') {
    throw new AppError('api', `research ${jobId}: ${ended.error ?? 'it failed'}`, {
      hint:
        report === '' ? 'Ask again, perhaps in other words.' : 'What it had written is above; ask again for the rest.',
    });
  }
  yield { type: 'end', model: agent, finishReason: 'STOP', usage, cost: ended.cost, sources, jobId };
}
