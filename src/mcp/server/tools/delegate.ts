import { AppError } from '../../../core/error.ts';
import type { SessionSummary } from '../../../core/session.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import type { Host } from '../host.ts';
import type { JobWork } from '../jobs/runner.ts';
import { NO_ROOT } from '../roots.ts';
import { requireSession, resolveDirectory } from '../sessions.ts';
import { type Call, checkModelName, serverTool } from '../tool.ts';
import { collectAnswer } from '../turn.ts';
import { delegateAnswer, delegateFailure, delegateResult, JOB_OUTPUT } from './delegate-result.ts';
import { describeOmitted } from './results.ts';

const DEFAULT_TIMEOUT_MS = 120_000;

const USAGE =
  'Waits for the answer (mode sync), or returns a job_id at once (mode async) for delegate_status: use async for anything that may take over a minute. ' +
  'Stateless unless session_id is given; every answer names its session_id.';

export const delegate = serverTool({
  name: 'delegate',
  title: 'Delegate a task to Gemini',
  description: `Hand a task to Gemini, which can read the files of the working directory. ${USAGE}`,
  withoutRoots: `Hand a task to Gemini, which sees no files here: say everything in the prompt. ${USAGE}`,
  annotations: 'agent',
  input: {
    properties: {
      prompt: { type: 'string', description: 'The task, in full: Gemini knows nothing of your conversation.' },
      working_directory: {
        type: 'string',
        description:
          'Where Gemini looks at files: a directory inside a root of this server; the first root by default.',
      },
      model: { type: 'string', description: "Model id or alias; gmn's default if it is not given." },
      session_id: { type: 'string', description: 'Continue the session with this full id.' },
      mode: { type: 'string', description: 'Wait, or get a job_id.', enum: ['sync', 'async'], default: 'sync' },
      timeout_ms: {
        type: 'integer',
        description: 'Give up after this many milliseconds.',
        default: DEFAULT_TIMEOUT_MS,
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
  },
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run(args, call) {
    const { host, signal } = call;
    const { mode = 'sync', timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS } = args;
    checkModelName(args.model);
    const target = await resolveTarget(args, host);
    checkVerify(args.verify, target, host);
    // The call may have been cancelled meanwhile.
    signal.throwIfAborted();
    const isAwaited = mode === 'sync';
    const job = host.jobs.submit({
      promptSha256: sha256(args.prompt),
      workingDirectory: target.directory,
      sessionId: target.earlier?.id,
      timeoutMs,
      isAwaited,
      run: createWork(args, target, call),
    });
    if (!isAwaited) {
      await job.saved;
      return delegateResult({ job_id: job.id, status: 'queued' }, `Queued as job ${job.id}`);
    }
    const cancel = (): void => void host.jobs.cancel(job.id);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    const view = await job.ended.finally(() => signal.removeEventListener('abort', cancel));
    return delegateAnswer(view);
  },
});

const BRAINSTORM = 'BRAINSTORMING MODE: Generate creative, diverse ideas for the following:\n\n';

interface DelegateArguments {
  readonly prompt: string;
  readonly working_directory?: string | undefined;
  readonly model?: string | undefined;
  readonly session_id?: string | undefined;
  readonly brainstorm?: boolean | undefined;
  readonly system_prompt?: string | undefined;
  readonly verify?: string | undefined;
}

interface DelegateTarget {
  /** Absent: there is no root, and the model has no tools. */
  readonly directory?: string | undefined;
  readonly earlier?: SessionSummary | undefined;
}

/** Throws CodedError if the directory or the session is not for this caller. */
async function resolveTarget(args: DelegateArguments, host: Host): Promise<DelegateTarget> {
  const earlier = args.session_id === undefined ? undefined : await requireSession(host, args.session_id);
  return { directory: resolveDirectory(host, args.working_directory, earlier), earlier };
}

/** Throws AppError `usage` if this server runs no commands, or there is no place for one. */
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

function createWork(
  args: DelegateArguments,
  { directory, earlier }: DelegateTarget,
  { host, progress }: Call,
): JobWork['run'] {
  const text = args.brainstorm ? `${BRAINSTORM}${args.prompt}` : args.prompt;
  return async ({ signal, timeoutMs, onText, update }) => {
    let recorded = 0;
    const answer = await collectAnswer(
      await host.engine(),
      {
        prompt: { role: 'user', parts: [{ text }] },
        model: args.model,
        systemText: args.system_prompt,
        verify: args.verify,
        directory,
        storage: { kind: 'session', cwd: directory ?? host.startDirectory, earlier },
        onSession: (session_id) => {
          if (session_id !== undefined) host.ownSessions.add(session_id);
          update({ session_id });
        },
        // The job's own deadline must fire first.
        timeoutMs: timeoutMs + 1000,
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
      ...(cost === undefined ? {} : { cost }),
      ...(notices.length === 0 ? {} : { notices }),
    };
  };
}
