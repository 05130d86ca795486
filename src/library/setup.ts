import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import { isObject } from '../core/json.ts';
import { THINKING_LEVELS } from '../core/model.ts';
import { tryParseDuration } from '../core/text/format.ts';
import type { Budget } from '../engine/limits/budget.ts';
import type { OpenedConversation } from '../engine/session/conversation.ts';
import type { RunSetup } from '../engine/setup.ts';
import type { ThinkingSetup } from '../models/thinking.ts';
import { chooseAuth } from './app.ts';
import type { ModelOptions, OwnTool, RunOptions, ServiceOptions } from './gmn.d.ts';
import { toEngineTool } from './tool.ts';

/** Throws AppError `usage`, and `auth` without a credential. */
export function toLibrarySetup(options: RunOptions, app: App): RunSetup {
  const { allowedTools, approvalMode, maxTurns, search, code, url, settings = false, mcpServers = [] } = options;
  for (const [index, tool] of requireList('tools', options.tools).entries()) {
    if (typeof tool === 'string' || (isObject(tool) && typeof tool.run === 'function')) continue;
    throw new AppError('usage', `tools[${index}] is neither a name nor a tool of defineTool`);
  }
  if (mcpServers.length > 0 && !settings) {
    throw new AppError('usage', 'mcpServers are those of the settings', { hint: 'Add settings: true.' });
  }
  checkOneOf('approvalMode', approvalMode, ['default', 'auto_edit', 'plan', 'yolo']);
  const builtin = listBuiltins(options);
  const { timeout, systemText, noContext, ...model } = toModelOptions(options, app);
  return {
    model: { ...model, showThoughts: options.thoughts },
    tools: {
      tools: builtin.length === 0 ? undefined : builtin.join(','),
      ownTools: (options.tools ?? []).filter(isOwnTool).map(toEngineTool),
      approvalMode,
      allowedTools,
      search,
      code,
      url,
      ignoresPermissions: settings ? undefined : true,
      servers: mcpServers.length === 0 ? 'none' : 'named',
      allowedMcpServerNames: mcpServers.length === 0 ? undefined : mcpServers,
    },
    // What the agent is told about files and commands is of no use without them.
    instruction: { systemText, noContext, noAgentPrompt: builtin.length === 0 },
    limits: { timeout, maxTurns, maxCost: parseCost(options.maxCost), costHint: COST_HINT },
    answer: { showsCost: true },
    session: { kind: options.session ? 'prompt' : undefined },
  };
}

/** The model and how it is asked. */
export function toModelOptions(options: ModelOptions, app: App) {
  const { model, temperature, maxOutputTokens, store, system: systemText, settings = false } = options;
  return {
    ...toServiceSetup(options, app),
    ...{ model, temperature, maxOutputTokens, store, systemText, noContext: !settings, ...chooseThinking(options) },
  };
}

/** Where requests go. */
export function toServiceSetup(options: ServiceOptions, app: App) {
  return { auth: chooseAuth(options, app), retries: options.retries, timeout: parseTimeout(options.timeout) };
}

/** What is spent counts for all requests that are made with it. */
export async function openLibraryBudget({ maxCost }: ServiceOptions, app: App): Promise<Budget | undefined> {
  const limit = parseCost(maxCost);
  if (limit === undefined) return undefined;
  return (await import('../engine/limits/budget.ts')).openBudget({ maxCost: limit, hint: COST_HINT }, app);
}

const COST_HINT = 'Raise maxCost, or choose a cheaper model.';

function chooseThinking({ thinking }: ModelOptions): ThinkingSetup {
  if (typeof thinking === 'string') checkOneOf('thinking', thinking, THINKING_LEVELS);
  return typeof thinking === 'number' ? { thinkingBudget: thinking } : { thinkingLevel: thinking };
}

/** Sessions, and what the tools of gmn keep of files they change. */
export function keepsFiles(options: RunOptions): boolean {
  return Boolean(options.session) || listBuiltins(options).length > 0;
}

/** In memory, unless it is to be saved. */
export async function openChosenConversation(
  session: RunOptions['session'],
  app: App,
  notify: Notify,
): Promise<OpenedConversation> {
  const { openLongConversation, openNamedConversation } = await import('../engine/session/long-conversation.ts');
  if (!session) return openLongConversation({ noSession: true }, app, notify);
  return openNamedConversation(session === true ? undefined : session, app, notify);
}

export function listBuiltins({ tools }: RunOptions): readonly string[] {
  return requireList('tools', tools).filter((tool) => typeof tool === 'string');
}

function isOwnTool(tool: string | OwnTool): tool is OwnTool {
  return typeof tool !== 'string';
}

function parseTimeout(timeout: RunOptions['timeout']): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = typeof timeout === 'string' ? tryParseDuration(timeout) : timeout;
  if (ms !== undefined && ms >= 0 && Number.isFinite(ms)) return ms;
  throw new AppError('usage', `timeout: ${JSON.stringify(timeout)} is not a duration`, {
    hint: "Milliseconds, or a text such as '2m'.",
  });
}

// The compiler checks these for those who have one.

export function requireList(name: string, value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new AppError('usage', `${name} must be a list`);
}

export function checkSignal(signal: unknown): void {
  if (signal === undefined || (isObject(signal) && typeof signal.addEventListener === 'function')) return;
  throw new AppError('usage', 'signal must be an AbortSignal');
}

export function checkApprove(approve: unknown, others: readonly string[] = []): void {
  if (approve === undefined || typeof approve === 'function' || others.some((other) => other === approve)) return;
  throw new AppError('usage', ['approve must be a function', ...others.map((other) => `'${other}'`)].join(' or '));
}

function checkOneOf(name: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.some((choice) => choice === value)) return;
  throw new AppError('usage', `${name} must be one of ${choices.join(', ')}`);
}

function parseCost(maxCost: number | undefined): number | undefined {
  if (maxCost === undefined || (Number.isFinite(maxCost) && maxCost > 0)) return maxCost;
  throw new AppError('usage', 'maxCost must be more than 0', { hint: 'In US dollars: maxCost: 0.05' });
}
