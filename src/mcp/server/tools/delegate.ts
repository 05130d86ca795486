import { sha256 } from '../../../platform/runtime/native.ts';
import { checkedModel } from '../model-name.ts';
import { serverTool } from '../tool.ts';
import { delegateFailure, delegateResult, fromJob } from './delegate-result.ts';
import { DELEGATE_OUTPUT } from './delegate-schema.ts';
import { delegatedWork, placeOf } from './delegated-work.ts';

const DEFAULT_TIMEOUT_MS = 120_000;

const HOW =
  'Waits for the answer (mode sync), or returns a job_id at once (mode async) for delegate_status: use async for anything that may take over a minute. ' +
  'Stateless unless session_id is given; every answer names its session_id.';

/** Work for Gemini: an answer now, or a job to ask for later. */
export const delegate = serverTool({
  name: 'delegate',
  title: 'Delegate a task to Gemini',
  description: `Hand a task to Gemini, which can read the files of the working directory. ${HOW}`,
  withoutRoots: `Hand a task to Gemini, which sees no files here: say everything in the prompt. ${HOW}`,
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
      session_id: { type: 'string', description: 'Continue the session of this id, whole.' },
      mode: { type: 'string', description: 'Wait, or get a job_id.', enum: ['sync', 'async'], default: 'sync' },
      timeout_ms: {
        type: 'integer',
        description: 'Give up after so many milliseconds.',
        default: DEFAULT_TIMEOUT_MS,
        minimum: 1,
        maximum: 86_400_000,
      },
      brainstorm: { type: 'boolean', description: 'Ask for many different ideas.', default: false },
      system_prompt: { type: 'string', description: 'How Gemini should behave.' },
    },
    required: ['prompt'],
  },
  output: DELEGATE_OUTPUT,
  fail: delegateFailure,
  async run(args, call) {
    const { host, signal } = call;
    const { mode = 'sync', timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS } = args;
    checkedModel(args.model);
    const place = await placeOf(args, host);
    // It may have been taken back while the session was looked for.
    signal.throwIfAborted();
    const isAwaited = mode === 'sync';
    const job = host.jobs.submit({
      promptSha256: sha256(args.prompt),
      workingDirectory: place.directory,
      sessionId: place.earlier?.id,
      timeoutMs,
      isAwaited,
      run: delegatedWork(args, place, call),
    });
    if (!isAwaited) {
      await job.noted;
      return delegateResult({ job_id: job.id, status: 'queued' }, `Queued as job ${job.id}`);
    }
    const takeBack = (): void => void host.jobs.cancel(job.id);
    signal.addEventListener('abort', takeBack, { once: true });
    if (signal.aborted) takeBack();
    const view = await job.over.finally(() => signal.removeEventListener('abort', takeBack));
    return fromJob(view);
  },
});
