import { dirname } from 'node:path';
import { isStillApproved } from '../../../config/conventions/folder-hooks.ts';
import { type Hook, type HookEvent, matchesHook } from '../../../config/conventions/hooks.ts';
import type { App } from '../../../core/app.ts';
import { AppError } from '../../../core/error.ts';
import type { Notify } from '../../../core/event.ts';
import type { JsonObject } from '../../../core/json.ts';
import { referToVariables } from '../../../core/text/shell-line.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { runFilter } from '../../../platform/process/filter.ts';
import type { ShellCommand } from '../../../platform/process/shell.ts';
import { chooseShell, isPosixShell } from '../../../platform/process/shell-choice.ts';
import { createLazyRedaction } from '../../agent.ts';
import type { SessionSetup } from '../../session/setup.ts';
import { createHarmCheck } from '../sandbox/harm-check.ts';
import { type HookAnswer, type HookFailure, readHookAnswer } from './hook-output.ts';
import type { HookPlaces } from './hook-place.ts';

export interface HookContext {
  readonly app: App;
  readonly shell?: string;
  readonly kind: SessionSetup['kind'];
  readonly notify: Notify;
  readonly places: HookPlaces;
}

/** A hook that has run. */
export interface Fired {
  readonly hook: Hook;
  readonly answer: HookAnswer | HookFailure;
}

/** What is about to happen, for the hooks of an event. */
export interface Occasion {
  readonly event: HookEvent;
  /** What matchers are compared with. Absent: they do not count. */
  readonly names?: readonly string[];
  /** A function if names depend on whom a hook was written for, or an earlier hook changes them. */
  readonly fields: JsonObject | ((hook: Hook) => JsonObject);
}

/** The one way to run hooks. All throw the signal's reason. */
export interface HookRunner {
  /** One after the other, in the order of the settings. What a hook has to say to the user is said. */
  fire(occasion: Occasion, signal: AbortSignal): AsyncGenerator<Fired, void>;
  /** Whether there is a hook of the event. */
  has(event: HookEvent): boolean;
  /** For events whose hooks decide nothing: undefined for one that failed, which is reported. */
  report(fired: Fired): HookAnswer | undefined;
  /** What they have for the model. */
  gather(occasion: Occasion, signal: AbortSignal): Promise<readonly string[]>;
  /** Which session they are told. */
  setSession(id: string): void;
}

/** Of stdout and stderr each; whoever prints more has not understood the question. */
const MAX_OUTPUT = 500_000;

export function createHookRunner(hooks: readonly Hook[], context: HookContext): HookRunner {
  const { app, notify } = context;
  const redaction = createLazyRedaction(app);
  let sessionId = '';
  const reported = new Set<string>();

  /** What it says may go to the model, and into a session; the arguments that it gives are for the tool. */
  async function redactAnswer(answer: Fired['answer']): Promise<Fired['answer']> {
    if ('failure' in answer) return redaction.redact(answer);
    const { input, ...said } = answer;
    return { ...(await redaction.redact(said)), input };
  }

  async function* fire({ event, names, fields }: Occasion, signal: AbortSignal): AsyncGenerator<Fired, void> {
    for (const hook of hooks.filter(
      (each) => each.event === event && (names === undefined || matchesHook(each, names)),
    )) {
      // As for the model: hooks get none of gmn's own credentials.
      const payload = await redaction.redact({
        session_id: sessionId,
        transcript_path: '',
        cwd: app.cwd,
        hook_event_name: hook.writtenEvent,
        timestamp: new Date(app.clock.now()).toISOString(),
        ...(typeof fields === 'function' ? fields(hook) : fields),
      });
      const answer = await redactAnswer(await runHook(hook, payload, { ...context, sessionId }, signal));
      if (!('failure' in answer) && answer.message) notify(sanitize(answer.message));
      yield { hook, answer };
    }
  }

  const report: HookRunner['report'] = ({ hook, answer }) => {
    if (!('failure' in answer)) return answer;
    const message = `hook ${sanitize(hook.name)} failed: ${sanitize(answer.failure)}`;
    if (!reported.has(message)) notify(message);
    if (answer.isRefusal) reported.add(message);
    return undefined;
  };

  return {
    fire,
    has: (event) => hooks.some((hook) => hook.event === event),
    report,
    async gather(occasion, signal) {
      const contexts: string[] = [];
      for await (const fired of fire(occasion, signal)) {
        const context = report(fired)?.context;
        if (context !== undefined) contexts.push(context);
      }
      return contexts;
    },
    setSession: (id) => {
      sessionId = id;
    },
  };
}

interface RunContext extends HookContext {
  readonly sessionId: string;
}

async function runHook(
  hook: Hook,
  payload: JsonObject,
  context: RunContext,
  signal: AbortSignal,
): Promise<Fired['answer']> {
  try {
    const { timeoutMs, scope } = hook;
    // Its files may have changed since the settings were read, by the model's own tools, for instance.
    if (scope === 'folder' && !(await isStillApproved(hook, context.app)))
      return { failure: 'it is not, or no longer, what gmn trust has shown' };
    const start = await toShellCommand(hook, context, signal);
    const isPosix = isPosixShell(start.shell);
    const harm =
      start.confine === undefined ? createHarmCheck(context.app)({ command: start.command, isPosix }) : undefined;
    if (harm !== undefined) return { failure: `it was not run: it would destroy more than the workspace (${harm})` };
    const run = {
      ...start,
      input: `${JSON.stringify(payload)}\n`,
      timeoutMs,
      maxChars: MAX_OUTPUT,
    };
    return readHookAnswer(hook, await runFilter(run, signal));
  } catch (thrown) {
    signal.throwIfAborted();
    const { message, fault } = AppError.from(thrown);
    return { failure: message, isRefusal: fault === 'config' };
  }
}

async function toShellCommand(hook: Hook, context: RunContext, signal: AbortSignal): Promise<ShellCommand> {
  const { command: written, scope, file } = hook;
  const { app, sessionId } = context;
  const { cwd, env } = app;
  const shell = chooseShell(context.shell, env);
  const project = { GEMINI_PROJECT_DIR: cwd, CLAUDE_PROJECT_DIR: cwd, GEMINI_CWD: cwd, GEMINI_SESSION_ID: sessionId };
  const extension = { extensionPath: dirname(file), CLAUDE_PLUGIN_ROOT: dirname(file), workspacePath: cwd };
  const variables = scope === 'extension' ? Object.assign(extension, project) : project;
  const command = scope === 'extension' ? referToVariables(written, Object.keys(extension), shell.path) : written;
  const confine = await context.places.choose(hook, signal);
  return { shell, command, cwd, env, variables, confine };
}
