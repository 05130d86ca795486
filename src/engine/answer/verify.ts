import type { Agent, RunTurn } from '../../agent/agent.ts';
import type { App } from '../../core/app.ts';
import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { formatDuration, plural } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { addUsage, NO_USAGE } from '../../core/usage.ts';
import { runShell, type ShellResult } from '../../platform/process/shell.ts';
import { chooseShell, isPosixShell } from '../../platform/process/shell-choice.ts';
import type { Host } from '../host.ts';
import { createRounds, passEvents, type Round } from '../limits/rounds.ts';
import type { LimitSetup } from '../limits/setup.ts';
import { DEFAULT_TIMEOUT_MS } from '../model/model.ts';
import { createHarmCheck } from '../tools/sandbox/harm-check.ts';
import type { Sandbox } from '../tools/sandbox/sandbox.ts';
import type { ToolSetup } from '../tools/setup.ts';

export interface VerifyOptions {
  readonly verify?: string;
  readonly maxVerify?: number;
}

const MAX_FAILURES = 3;
const OUTPUT_BYTES = 4096;

export interface Verification {
  readonly command: string;
  readonly maxVerify?: number;
  readonly hint?: string;
}

/** `--verify` as the turn takes it. Throws AppError `usage` if there is nothing that it could verify. */
export function toVerification(
  { verify: command = '', maxVerify = MAX_FAILURES }: VerifyOptions,
  {
    setup,
    agent,
  }: { readonly setup: { readonly tools: Pick<ToolSetup, 'approvalMode'> }; readonly agent: Pick<Agent, 'tools'> },
): Verification {
  if (command.trim() === '') {
    throw new AppError('usage', '--verify needs a command', { hint: 'Example: --verify "npm test"' });
  }
  if (maxVerify < 0)
    throw new AppError('usage', '--max-verify must not be negative', { hint: 'Example: --max-verify 3' });
  if (setup.tools.approvalMode === 'plan') {
    throw new AppError('usage', '--verify cannot be combined with plan mode, which changes nothing', {
      hint: 'Choose another mode: --approval-mode auto_edit',
    });
  }
  if (agent.tools.length === 0) {
    throw new AppError('usage', '--verify means nothing without tools', {
      hint: 'Add those the model may use, e.g. --tools edit; or leave it out.',
    });
  }
  return { command, maxVerify };
}

/** Throws AppError `usage` for a command that nothing confines, and that is known to destroy more than the workspace. */
export function requireHarmless({ command }: Verification, { app, shell }: Pick<VerifyContext, 'app' | 'shell'>): void {
  const isPosix = isPosixShell(chooseShell(shell, app.env));
  const harm = createHarmCheck(app)({ command, isPosix });
  if (harm === undefined) return;
  throw new AppError(
    'usage',
    `--verify is refused: its command would destroy more than the workspace (${sanitize(harm)})`,
    {
      hint: 'Leave it out and run it yourself, or confine it: --sandbox',
    },
  );
}

interface VerifyContext {
  readonly app: Pick<App, 'cwd' | 'env' | 'clock'>;
  readonly host: Pick<Host, 'showOutput'>;
  readonly shell?: string;
  readonly limits: Pick<LimitSetup, 'timing' | 'timeout'>;
  /** Whether only the last answer is shown. */
  readonly isLastOnly: boolean;
  readonly sandbox?: Pick<Sandbox, 'confine' | 'explain'>;
}

const HINT = 'What the model changed is kept: gmn undo takes it back. To let it try more often: --max-verify';

/**
 * Runs a turn, and the command when it ends. The command is the user's own, so nobody is asked, and it runs like those of
 * the shell tool. If it fails, the model gets its output and goes on, `maxVerify` times at most. All attempts share the limit
 * of model calls. The result throws AppError `verify` if the command still fails.
 */
export function verifyTurn(run: RunTurn, verification: Verification, context: VerifyContext): RunTurn {
  const { command, maxVerify = MAX_FAILURES } = verification;
  const { app, isLastOnly } = context;
  return async function* runVerifiedTurn(agent, turn) {
    let { prompt } = turn;
    let usage = NO_USAGE;
    const ask = createRounds(run, agent, turn);
    for (let failures = 0; ; failures += 1) {
      const { end, held, last } = yield* passEvents(ask(prompt), { isFirst: failures === 0, isHeld: isLastOnly });
      usage = addUsage(usage, end.usage);
      yield { type: 'wait', what: `verify: ${sanitize(command)}` };
      const startedMs = app.clock.now();
      const result = await runVerification(command, context, turn.signal);
      const printed = takeLastBytes(result);
      const output = (await agent.redaction?.redact(printed)) ?? printed;
      const exit = { code: result.exitCode, signal: result.signal };
      yield { type: 'verify', command, exit, output, elapsedMs: app.clock.now() - startedMs };
      if (exit.code === 0) {
        yield* held;
        yield { ...end, usage };
        return;
      }
      const ending = formatVerifyEnding(result, context);
      if (failures >= maxVerify) throw verifyError({ ...verification, ending, failures, output, held });
      if (!isLastOnly && last !== '' && last !== '\n') yield { type: 'text', delta: '\n' };
      const refusal = context.sandbox?.explain(output);
      prompt = failurePrompt(command, ending, refusal === undefined ? output : `${output}\n\n${refusal}`);
    }
  };
}

/** For one run of the command. The clock of a run ends it, too. */
function chooseVerifyTimeout({ timing, timeout = DEFAULT_TIMEOUT_MS }: VerifyContext['limits']): number {
  return timing === 'request' ? timeout : 0;
}

async function runVerification(
  command: string,
  { app, host, shell, limits, sandbox }: VerifyContext,
  signal: AbortSignal,
): Promise<ShellResult> {
  const { cwd, env } = app;
  const run = {
    ...{ shell: chooseShell(shell, env), command, cwd, env, confine: sandbox?.confine },
    timeoutMs: chooseVerifyTimeout(limits) || Number.POSITIVE_INFINITY,
    // Half of it is kept from the end.
    maxChars: 2 * OUTPUT_BYTES,
    onOutput: host.showOutput,
  };
  try {
    return await runShell(run, signal);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.fault !== 'api' || !thrown.details.isTimeout) throw thrown;
    throw thrown.with({
      hint: `The command of --verify was still running: ${sanitize(command)}. ${thrown.hint ?? ''}`.trimEnd(),
    });
  }
}

function takeLastBytes({ head, tail, omitted }: ShellResult): string {
  const text = omitted === 0 ? head + tail : tail;
  const bytes = Buffer.from(text.trimEnd());
  if (bytes.length <= OUTPUT_BYTES) return bytes.toString();
  return bytes
    .subarray(-OUTPUT_BYTES)
    .toString()
    .replace(/^\ufffd+/, '');
}

function formatVerifyEnding({ exitCode, signal, hasTimedOut }: ShellResult, { limits }: VerifyContext): string {
  if (hasTimedOut) return `it was stopped after ${formatDuration(chooseVerifyTimeout(limits))}`;
  return signal === null ? `exit code ${exitCode}` : `ended by ${signal}`;
}

function failurePrompt(command: string, ending: string, output: string): StoredContent {
  const printed = output === '' ? 'It printed nothing.' : `The end of what it printed:\n\n${output}`;
  const text = `The work is not done yet: this command, which checks it, fails (${ending}):\n\n${command}\n\n${printed}\n\nFind the cause and repair it. It is run again when you are done.`;
  return { role: 'user', parts: [{ text }], isFollowUp: true };
}

interface LastFailure extends Pick<Round, 'held'>, Pick<Verification, 'command' | 'hint'> {
  readonly ending: string;
  readonly failures: number;
  readonly output: string;
}

function verifyError({ command, ending, failures, output, held, hint = HINT }: LastFailure): AppError {
  const repairs = failures === 0 ? '' : ` after ${plural(failures, 'repair')}`;
  return new AppError('verify', `verify still fails${repairs}: ${sanitize(command)} (${ending})`, {
    hint,
    output,
    answer: held.map(({ delta }) => delta).join(''),
  });
}
