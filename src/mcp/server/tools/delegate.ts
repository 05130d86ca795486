import { nameByQuestion } from '../../../core/content.ts';
import { AppError } from '../../../core/error.ts';
import type { ArgumentsOf } from '../../../core/schema.ts';
import type { SessionSummary } from '../../../core/session.ts';
import { toJobTitle } from '../../../jobs/record.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import type { Host } from '../host.ts';
import type { JobWork } from '../jobs/runner.ts';
import { NO_ROOT } from '../roots.ts';
import { resolveDirectory, resolveSession } from '../sessions.ts';
import { type Call, checkModelName, serverTool } from '../tool.ts';
import { collectAnswer } from '../turn.ts';
import { delegateAnswer, delegateFailure, delegateResult, JOB_OUTPUT } from './delegate-result.ts';
import { describeOmitted } from './results.ts';

const SYNC_TIMEOUT_MS = 120_000;
/** Nobody waits for it. */
const ASYNC_TIMEOUT_MS = 1_800_000;

const USAGE =
  'Waits for the answer (mode sync), or returns a job_id at once (mode async) for delegate_status: use async for anything that may take over a minute. ' +
  'Stateless unless session_id is given; every answer names its session_id. A session keeps its model and system_prompt.';

const INPUT = {
  properties: {
    prompt: { type: 'string', description: 'The task, in full: Gemini knows nothing of your conversation.' },
    working_directory: {
      type: 'string',
      description: 'Where Gemini looks at files: a directory inside a root of this server; the first root by default.',
    },
    model: {
      type: 'string',
      description:
        "Model id or alias; haiku, sonnet and opus (h, s, o) mean flash-lite, flash and pro. The session's if it is not given, else gmn's default.",
    },
    session_id: {
      type: 'string',
      description:
        'Continue the session with this full id, or with this name of yours: letters, digits, - _ and dots. A new name begins a session.',
    },
    mode: { type: 'string', description: 'Wait, or get a job_id.', enum: ['sync', 'async'], default: 'sync' },
    timeout_ms: {
      type: 'integer',
      description: 'Give up after this many milliseconds; by default 120000, in mode async 1800000 (half an hour).',
      minimum: 1,
      maximum: 86_400_000,
    },
    brainstorm: { type: 'boolean', description: 'Ask for many different ideas.', default: false },
    system_prompt: { type: 'string', description: 'How Gemini should behave.' },
    verify: {
      type: 'string',
      description:
        'A command that must succeed, such as npm test: it runs when Gemini says it is done, and Gemini repairs what fails, at most three times. Only if the server runs with --allow-shell.',
    },
  },
  required: ['prompt'],
} as const;

export const delegate = serverTool({
  name: 'delegate',
  title: 'Delegate a task to Gemini',
  description: `Hand a task to Gemini, which can read the files of the working directory. ${USAGE}`,
  withoutRoots: `Hand a task to Gemini, which sees no files here: say everything in the prompt. ${USAGE}`,
  annotations: 'agent',
  input: INPUT,
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run(args, call) {
    const { host, signal } = call;
    const { mode = 'sync', timeout_ms: timeoutMs = mode === 'sync' ? SYNC_TIMEOUT_MS : ASYNC_TIMEOUT_MS } = args;
    const model = checkModelName(toModelName(args.model));
    const target = await resolveTarget(args, host);
    checkVerify(args.verify, target, host);
    // The call may have been cancelled meanwhile.
    signal.throwIfAborted();
    const isAwaited = mode === 'sync';
    const job = host.jobs.submit({
      promptSha256: sha256(args.prompt),
      title: toJobTitle(args.prompt),
      workingDirectory: target.directory,
      sessionId: target.earlier?.id,
      sessionName: target.name,
      timeoutMs,
      isAwaited,
      run: createWork({ ...args, model, timeout_ms: timeoutMs }, target, call),
    });
    if (!isAwaited) {
      // From now on its id survives this process.
      await job.waitForWrites();
      return delegateResult({ job_id: job.id, status: 'queued' }, `Queued as job ${job.id}`);
    }
    const cancel = (): void => void host.jobs.cancel(job.id);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    const view = await job.ended.finally(() => signal.removeEventListener('abort', cancel));
    return delegateAnswer(view);
  },
});

/** The words of agents that know three tiers. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ...['haiku', 'h'].map((word) => [word, 'flash-lite'] as const),
  ...['sonnet', 's'].map((word) => [word, 'flash'] as const),
  ...['opus', 'o'].map((word) => [word, 'pro'] as const),
]);

function toModelName(model: string | undefined): string | undefined {
  return model === undefined ? undefined : (TIERS.get(model.toLowerCase()) ?? model);
}

const BRAINSTORM = 'BRAINSTORMING MODE: Generate creative, diverse ideas for the following:\n\n';

type DelegateArguments = ArgumentsOf<typeof INPUT>;
type ResolvedArguments = DelegateArguments & { readonly timeout_ms: number };

interface DelegateTarget {
  readonly directory?: string;
  readonly earlier?: SessionSummary;
  readonly name?: string;
}

async function resolveTarget(args: DelegateArguments, host: Host): Promise<DelegateTarget> {
  const session = args.session_id === undefined ? {} : await resolveSession(host, args.session_id);
  return { directory: resolveDirectory(host, args.working_directory, session.earlier), ...session };
}

function checkVerify(verify: string | undefined, { directory }: DelegateTarget, { allowed }: Host): void {
  if (verify === undefined) return;
  if (verify.trim() === '') throw new AppError('usage', 'verify needs a command', { hint: 'Example: npm test' });
  if (!allowed.shell) {
    throw new AppError('usage', 'verify: this server runs no commands', {
      hint: 'Leave it out, or let whoever runs the server allow it with --allow-shell.',
    });
  }
  if (directory === undefined) {
    throw new AppError('usage', 'verify: this server has no directory to run a command in', { hint: NO_ROOT });
  }
}

function createWork(args: ResolvedArguments, target: DelegateTarget, call: Call): JobWork['run'] {
  if (target.name === undefined) return createTurnWork(args, target, call);
  return async (job) => {
    // An earlier job of the same name has begun the session meanwhile.
    const now = await resolveTarget(args, call.host);
    const run = createTurnWork(args, now, call);
    return now.earlier === undefined
      ? run(job)
      : call.host.queue.run(() => run(job), { signal: job.signal, key: now.earlier.id });
  };
}

function createTurnWork(
  args: ResolvedArguments,
  { directory, earlier, name }: DelegateTarget,
  { host, progress }: Call,
): JobWork['run'] {
  const text = args.brainstorm ? `${BRAINSTORM}${args.prompt}` : args.prompt;
  return async ({ signal, onText, update }) => {
    let recorded = 0;
    const answer = await collectAnswer(
      await host.engine(),
      {
        prompt: nameByQuestion({ role: 'user', parts: [{ text }] }, args.prompt),
        model: args.model,
        systemText: args.system_prompt,
        verify: args.verify,
        directory,
        storage: { kind: 'session', cwd: directory ?? host.startDirectory, earlier, name },
        onSession: (session_id) => {
          if (session_id !== undefined) host.ownSessions.add(session_id);
          update({ session_id });
        },
        // The job's own deadline must fire first.
        timeoutMs: args.timeout_ms + 1000,
        signal,
      },
      {
        progress,
        onText,
        onModel: (model_used) => update({ model_used }),
        onRefused: (refused) => {
          if (refused.length > recorded) update({ refused: [...refused] });
          recorded = refused.length;
        },
      },
    );
    const { model: model_used, sessionId: session_id, files, cost } = answer;
    // A job's output is text. The session keeps the files, and chat-reply can go on with them.
    const notices = files.length === 0 ? answer.notices : [...answer.notices, describeOmitted(files)];
    return {
      model_used,
      session_id,
      cost,
      notices: notices.length === 0 ? undefined : notices,
    };
  };
}
