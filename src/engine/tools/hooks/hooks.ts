import type { AgentHooks, HookedCall, RunTurn } from '../../../agent/agent.ts';
import { addHookText } from '../../../agent/decision.ts';
import { type Hook, parseHooks } from '../../../config/conventions/hooks.ts';
import { AppError } from '../../../core/error.ts';
import type { Notify } from '../../../core/event.ts';
import type { JsonObject } from '../../../core/json.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { errorResult, type Tool, type ToolResult } from '../../../core/tool.ts';
import { createDeadline } from '../../../platform/runtime/clock.ts';
import { formatCall } from '../../../render/tool-line.ts';
import { listOtherNames } from '../../../tools/builtins.ts';
import type { Host } from '../../host.ts';
import { readHookSwitches } from '../conventions.ts';
import { type HookAnswer, hookEnding } from './hook-output.ts';
import { HookPlaces, type PlaceQuestion } from './hook-place.ts';
import { createHookRunner, type HookContext, type HookRunner } from './hook-runner.ts';
import { type HookedSession, hookTurn } from './hook-turn.ts';

/** The hooks of a run. */
export interface Hooks extends AgentHooks {
  aroundTurn(run: RunTurn, sessionId: string | undefined): RunTurn;
  /** Tells hooks when a person is asked. */
  watchPerson(host: Host): Host;
  /** Stops what still runs, and runs the hooks of the end. Never throws. */
  close(): Promise<void>;
}

/** For all hooks of the end together. */
const MAX_END_MS = 60_000;
/** A run that was stopped does not wait longer for them. */
const STOPPED_MS = 2000;

/** Undefined if there is none that could run. Faulty ones are named. */
export async function openHooks(given: Omit<HookContext, 'places'> & PlaceQuestion): Promise<Hooks | undefined> {
  const { app, shell, kind, notify, withPerson, confine } = given;
  const settings = await app.settings();
  const { hooks: found, faults } = parseHooks(settings.hooks ?? []);
  const { isOn, isOff } = readHookSwitches(settings);
  if (!isOn) return undefined;
  for (const { file, name, why, isQuiet } of faults)
    if (!isQuiet) notify(`${sanitize(file)}: hook ${sanitize(name)} is not used: ${sanitize(why)}`);
  const hooks = found.filter((hook) => !isOff(hook));
  if (hooks.length === 0) return undefined;
  const places = new HookPlaces({ app, withPerson, confine });
  const runner = createHookRunner(hooks, { app, shell, kind, notify, places });
  const session: HookedSession = { runner, isChat: kind === 'chat', isStarted: false };
  const person = createPersonWatch(runner, hooks);
  return {
    ...createToolHooks(runner, notify),
    noteRun: (tool, isUnasked) => {
      if (tool.effect === 'execute' || (tool.effect === 'write' && isUnasked)) places.noteChange();
    },
    beforeSummary: async (trigger, signal) =>
      void (await runner.gather({ event: 'PreCompress', names: [trigger], fields: { trigger } }, signal)),
    aroundTurn: (run, id = '') => {
      runner.setSession(id);
      return hookTurn(run, session);
    },
    watchPerson: person.watch,
    async close() {
      await person.close();
      if (!session.isStarted) return;
      const limitMs = app.signal.aborted ? STOPPED_MS : MAX_END_MS;
      const deadline = createDeadline(new AbortController().signal, limitMs, () => endedError());
      const ending = { event: 'SessionEnd', names: ['exit'], fields: { reason: 'exit' } } as const;
      await runner.gather(ending, deadline.signal).catch(() => {});
      deadline.clear();
    },
  };
}

function endedError(): AppError {
  return new AppError('interrupted', 'the run has ended');
}

/** They run beside the question, which must not wait for them. */
function createPersonWatch(runner: HookRunner, hooks: readonly Hook[]) {
  const ended = new AbortController();
  const running = new Set<Promise<unknown>>();
  const type = 'ToolPermission';
  const tell = (): void => {
    const fields = { notification_type: type, message: 'gmn asks about a tool call', details: {} };
    const telling = runner.gather({ event: 'Notification', names: [type], fields }, ended.signal).catch(() => {});
    running.add(telling);
    void telling.then(() => running.delete(telling));
  };
  return {
    watch(host: Host): Host {
      const { withPerson } = host;
      if (withPerson === undefined || !hooks.some(({ event }) => event === 'Notification')) return host;
      const watched: Host['withPerson'] = (work) =>
        withPerson((person) => {
          tell();
          return work(person);
        });
      return { ...host, withPerson: watched };
    },
    async close() {
      ended.abort(endedError());
      await Promise.all(running);
    },
  };
}

function createToolHooks(runner: HookRunner, notify: Notify): Pick<AgentHooks, 'beforeTool' | 'afterTool'> {
  return {
    async beforeTool(tool, args, signal) {
      let current = args;
      let mustAsk: true | undefined;
      const contexts: string[] = [];
      const deny = (why: string): HookedCall => {
        notify({
          type: 'notice',
          message: `${formatCall(tool.name, args)} was not run: ${sanitize(why)}`,
          isDenial: true,
        });
        return { denial: `${tool.name} was not run: ${why}` };
      };
      const fields = (hook: Hook): JsonObject => toCallFields(tool, current, hook);
      for await (const { hook, answer } of runner.fire(
        { event: 'BeforeTool', names: listMatchedNames(tool), fields },
        signal,
      )) {
        // What a hook could not check does not run.
        if ('failure' in answer) return deny(`the hook ${hook.name} failed: ${answer.failure}`);
        if (answer.ends) throw hookEnding(hook, answer);
        if (answer.isDenial) return deny(answer.reason || `the hook ${hook.name} says no`);
        if (answer.asks) mustAsk = true;
        if (answer.context !== undefined) contexts.push(answer.context);
        if (answer.input !== undefined)
          current = answer.input.isWhole ? answer.input.args : { ...current, ...answer.input.args };
      }
      const context = contexts.length === 0 ? undefined : contexts.join('\n');
      return { args: current === args ? undefined : current, mustAsk, context };
    },
    async afterTool(tool, args, given, signal) {
      let result = given;
      const fields = (hook: Hook): JsonObject => ({
        ...toCallFields(tool, args, hook),
        tool_response: toResponseFields(result, hook),
      });
      for await (const fired of runner.fire({ event: 'AfterTool', names: listMatchedNames(tool), fields }, signal)) {
        const answer = runner.report(fired);
        if (answer === undefined) continue;
        result = applyAnswer(result, answer, fired.hook);
        if (answer.ends) return { result, ending: hookEnding(fired.hook, answer) };
      }
      return { result };
    },
  };
}

/** What others call the one tool by which they ask any sub-agent. */
const AGENT_TOOLS = { official: 'invoke_agent', claude: 'Task' } as const;

/** Every name that a matcher may have meant. */
function listMatchedNames({ name, remote, isAgent }: Tool): readonly string[] {
  const { official, claude } = listOtherNames(name);
  if (isAgent) return [name, AGENT_TOOLS.official, AGENT_TOOLS.claude];
  if (remote === undefined) return [name, ...official, ...claude];
  return [name, `mcp_${remote.server}_${remote.tool}`, `mcp__${remote.server}__${remote.tool}`];
}

function toCallFields(tool: Tool, args: JsonObject, hook: Hook): JsonObject {
  const isTask = tool.isAgent && hook.isClaude;
  return { tool_name: nameTool(tool, hook), tool_input: isTask ? { subagent_type: tool.name, ...args } : args };
}

/** As the program that the hook was written for calls it. */
function nameTool({ name, remote, isAgent }: Tool, { isClaude }: Hook): string {
  if (isAgent) return isClaude ? AGENT_TOOLS.claude : name;
  if (remote !== undefined)
    return isClaude ? `mcp__${remote.server}__${remote.tool}` : `mcp_${remote.server}_${remote.tool}`;
  const { official, claude } = listOtherNames(name);
  return (isClaude ? claude : official)[0] ?? name;
}

/** A no replaces the result in the official CLI; in Claude Code the model gets the reason beside it. */
function applyAnswer(
  result: ToolResult,
  { isDenial, reason, context }: HookAnswer,
  { isClaude, name }: Hook,
): ToolResult {
  const why = reason || `the hook ${name} says no`;
  const judged = !isDenial
    ? result
    : isClaude
      ? addHookText(result, why)
      : { ...result, ...errorResult(why), media: undefined };
  return addHookText(judged, context);
}

function toResponseFields({ response, summary = '', ok }: ToolResult, { isClaude }: Hook): JsonObject {
  if (isClaude) return response;
  const { output = response, error = 'failed' } = response;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return { llmContent: text, returnDisplay: summary, error: ok ? undefined : error };
}
