import type { Agent, CompactionPolicy, Redaction } from '../agent/agent.ts';
import { REDACTED_NOTICE } from '../agent/turn.ts';
import {
  type Context,
  type ContextOptions,
  type ContextText,
  hasContext,
  joinSystemInstruction,
} from '../config/context-place.ts';
import { defaultSetting, readSetting } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import type { KeptSetup } from '../core/session.ts';
import { joinFirst } from '../core/text/format.ts';
import { mayHoldCredential, splitList } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Tool } from '../core/tool.ts';
import { findModelFacts, findPromptWindow } from '../models/table.ts';
import type { InstructionSetup } from './instruction/setup.ts';
import type { OpenedModel } from './model/model.ts';
import type { RunSetup } from './setup.ts';
import type { ToolSetup } from './tools/setup.ts';
import type { ParentRun } from './tools/sub-agents.ts';
import type { Toolbox, ToolboxContext } from './tools/toolbox.ts';

export interface OpenedAgent extends Agent, Pick<Toolbox, 'chosen' | 'mode'> {
  readonly contextText?: string;
  readonly contextFiles?: readonly ContextText[];
  /** What a session keeps to be continued in the same way. */
  readonly setup: KeptSetup;
}

const MAX_TURNS = 100;

const NO_TOOLS: Toolbox = {
  tools: [],
  withheld: [],
  chosen: [],
  approve: async () => ({ kind: 'deny', reason: 'no tools were offered' }),
  protect: () => {},
  isHidden: () => false,
};

/** The model with its instruction and tools. Loads tools only if there are any. Throws AppError `usage` or `config`. */
export async function openAgent(setup: RunSetup, context: ToolboxContext): Promise<OpenedAgent> {
  const { app, opened } = context;
  const { notify } = context.host;
  const { tools: toolSetup, instruction: told } = setup;
  const { maxTurns = MAX_TURNS } = setup.limits;
  checkTurns(maxTurns);
  const toolbox = await openToolboxIfWanted(toolSetup, context);
  const { tools, withheld, chosen, approve, mode, outputs } = toolbox;
  const service = await openServiceIfWanted(setup, opened, tools.length > 0);
  const skills = await listSkills(context.conventions, { tools, notify });
  const { text, given, prompt, contextText, contextFiles } = await readSystemInstruction(told, {
    ...{ app, notify, tools, skills },
    directories: splitList(toolSetup.includeDirectories ?? []),
    isPlanning: mode === 'plan' && withheld.length > 0,
  });
  toolbox.protect(await listFlagFiles(told, app));
  const redaction = createLazyRedaction(app, prompt);
  const instruction = addServerInstructions(text, context.remote);
  const system = await redaction.redact(instruction);
  if (system !== instruction) notify(REDACTED_NOTICE);
  const shared = {
    origin: () => formatOrigin(opened),
    tools,
    withheld,
    approve,
    redaction,
    hooks: context.hooks,
    now: app.clock.now,
    pause: async () => (await import('../platform/runtime/clock.ts')).nextTurn(),
    findNestedContext: tools.length === 0 || told.noContext ? undefined : findNestedContext(toolSetup, app),
    outputs,
    maxTurns,
    compaction: tools.length === 0 && !told.isChat ? undefined : await readCompactionPolicy(opened, app),
  };
  const agents = await openAgentsIfAny(context, shared, contextText);
  return {
    ...shared,
    model: opened.model,
    request: {
      model: opened.modelId,
      systemInstruction: system === undefined ? undefined : { role: 'user', parts: [{ text: system }] },
      generationConfig: opened.generationConfig,
      ...service,
    },
    tools: limitDeclarations([...tools, ...agents.filter((tool) => !toolbox.isHidden(tool))], notify),
    chosen,
    mode,
    setup: { ...(await redaction.redact(given)), model: await redactName(opened, redaction) },
    ...{ contextText, contextFiles },
  };
}

/** Of one request, as the API says: https://github.com/google-gemini/gemini-cli/issues/19083. Servers get fewer: `mcp/client/tools/registration.ts`. */
const MAX_DECLARATIONS = 512;

/** A request with more would be refused. Sub-agents and a program's own tools can be any number. */
function limitDeclarations(tools: readonly Tool[], notify: Notify): readonly Tool[] {
  const beyond = tools.slice(MAX_DECLARATIONS).map(({ name }) => name);
  if (beyond.length === 0) return tools;
  notify(`a model takes at most ${MAX_DECLARATIONS} tools; not offered: ${joinFirst(beyond, 3, sanitize)}`);
  return tools.slice(0, MAX_DECLARATIONS);
}

/** Sub-agents are for runs with tools, of which they have a part. */
async function openAgentsIfAny(
  { app, host, opened, watch, conventions, forAgents }: ToolboxContext,
  agent: ParentRun['agent'],
  contextText: string | undefined,
): Promise<readonly Tool[]> {
  const found = conventions?.agents ?? [];
  if (found.length === 0 || agent.tools.length === 0 || forAgents === undefined) return [];
  const { createAgentTools } = await import('./tools/sub-agents.ts');
  return createAgentTools(found, { app, host, opened, watch, agent, contextText, ...forAgents });
}

async function readCompactionPolicy(
  { modelId, backend, account }: OpenedModel,
  app: App,
): Promise<CompactionPolicy | undefined> {
  const { document = {} } = await app.settings();
  const key = 'model.compressionThreshold';
  const threshold = readSetting(document, key) ?? defaultSetting(key);
  if (threshold <= 0 || threshold >= 1) return undefined;
  const known = findPromptWindow(modelId);
  if (known !== undefined) return { threshold, windowTokens: known };
  const { findListedWindow } = await import('../models/listing.ts');
  return { threshold, windowTokens: findListedWindow(app, { backend, account: account() }, modelId) };
}

function findNestedContext(
  { includeDirectories = [] }: ToolSetup,
  { env, cwd, homes, settings }: App,
): NonNullable<Agent['findNestedContext']> {
  const roots = [cwd, ...splitList(includeDirectories)];
  return async (path, isSent) => {
    const { readNestedContext } = await import('../config/nested-context.ts');
    const question = { env, cwd, homes: homes(), settings: await settings(), roots };
    // A list of trusted folders that has become invalid must not end the turn.
    return readNestedContext(question, path, isSent).catch((thrown: unknown) => ({
      files: [],
      sources: [],
      notices: [AppError.from(thrown).message],
    }));
  };
}

/** Reads the credentials only when a value could hold one. `prompt` is known to hold none: it is skipped at the start of texts. */
export function createLazyRedaction(app: App, prompt = ''): Redaction {
  let opened: Redaction | undefined;
  return {
    async redact(value) {
      if (!mayHoldSecret(value, { prompt, left: MAX_INSPECTED })) return value;
      opened ??= (await import('./model/redaction.ts')).createRedaction(app);
      return opened.redact(value);
    },
    writesMark: (args) => opened?.writesMark(args) ?? false,
  };
}

/** Characters and fields; inspecting more of them would take longer than reading the credentials. */
const MAX_INSPECTED = 100_000;

interface Look {
  readonly prompt: string;
  left: number;
}

function mayHoldSecret(value: unknown, look: Look): boolean {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return false;
  look.left -= typeof value === 'string' ? value.length : 1;
  if (look.left < 0) return true;
  if (typeof value === 'string')
    return mayHoldCredential(value.startsWith(look.prompt) ? value.slice(look.prompt.length) : value);
  // Names of the API's own fields, such as generationConfig, have no digits.
  return Object.entries(value).some(
    ([key, item]) => (/\d/.test(key) && mayHoldCredential(key)) || mayHoldSecret(item, look),
  );
}

/** The name of a model that gmn knows is no credential, and needs no look at those there are. */
async function redactName({ modelId, askedName }: OpenedModel, { redact }: Redaction): Promise<string> {
  return findModelFacts(modelId) === undefined ? redact(askedName) : askedName;
}

/** Undefined if the model cannot choose any. */
async function listSkills(
  conventions: ToolboxContext['conventions'],
  { tools, notify }: Pick<InstructionContext, 'tools' | 'notify'>,
): Promise<string | undefined> {
  const names = (conventions?.toolSkills ?? []).map(({ name }) => name);
  if (conventions === undefined || names.length === 0) return undefined;
  const { activateSkill } = await import('../tools/activate-skill.ts');
  if (!tools.some(({ name }) => name === activateSkill.name)) return undefined;
  const { formatSkillList } = await import('../agent/prompt.ts');
  const listed = conventions.skills.filter(({ name }) => names.includes(name));
  const { text, omitted } = formatSkillList(listed, activateSkill.name);
  if (omitted.length > 0) notify(`there are too many skills to tell the model of all: ${omitted.join(', ')} left out`);
  return text;
}

function addServerInstructions(system: string | undefined, remote: ToolboxContext['remote']): string | undefined {
  const instructions = (remote?.instructions ?? []).map(
    ({ server, text }) => `# Instructions from the MCP server ${server}\n\n${text}`,
  );
  return instructions.length === 0 ? system : [...(system === undefined ? [] : [system]), ...instructions].join('\n\n');
}

function formatOrigin({ backend, account }: OpenedModel): string {
  return `${backend}:${account()}`;
}

function checkTurns(maxTurns: number): void {
  if (maxTurns < 1) {
    throw new AppError('usage', '--max-turns must be at least 1', { hint: 'Example: --max-turns 25' });
  }
}

async function openToolboxIfWanted(options: ToolSetup, context: ToolboxContext): Promise<Toolbox> {
  const { workspace } = context;
  const { tools = 'none', ownTools = [] } = options;
  const isWanted = tools !== 'none' || ownTools.length > 0 || context.remote !== undefined;
  if (!isWanted || workspace === undefined) return NO_TOOLS;
  const { openToolbox } = await import('./tools/toolbox.ts');
  return openToolbox(options, { ...context, workspace });
}

async function openServiceIfWanted(
  { tools: options, model: { serviceTier } }: RunSetup,
  { modelId, backend }: OpenedModel,
  hasTools: boolean,
): Promise<Pick<Agent['request'], 'tools' | 'toolConfig' | 'serviceTier'>> {
  const { search, code, url } = options;
  if (!search && !code && !url && serviceTier === undefined) return {};
  return (await import('./tools/service-tools.ts')).toServiceFields(options, {
    modelId,
    backend,
    hasTools,
    serviceTier,
  });
}

interface SystemInstruction extends Pick<OpenedAgent, 'contextText' | 'contextFiles'> {
  readonly text?: string;
  readonly given?: Pick<KeptSetup, 'systemText' | 'appendText' | 'start'>;
  /** The agent prompt, with which the text begins. Undefined if its branch might be a credential. */
  readonly prompt?: string;
}

interface InstructionContext {
  readonly app: App;
  readonly notify: Notify;
  readonly tools: readonly Tool[];
  /** The list of them, ready to be read. */
  readonly skills?: string;
  readonly directories: readonly string[];
  readonly isPlanning: boolean;
}

/** The agent prompt or what replaces it, the context files, the list of skills, and the text of the flags. */
async function readSystemInstruction(
  options: InstructionSetup,
  { app, notify, tools, skills, directories, isPlanning }: InstructionContext,
): Promise<SystemInstruction> {
  const { env, cwd, omitsHomeContext } = app;
  const question = { env, cwd, omitsHomeContext, homes: app.homes(), settings: await app.settings() };
  const flags = [options.system, options.systemText, options.appendSystemPrompt, options.appendText];
  const isContext = !options.noContext && hasContext(question);
  const isAgent = tools.length > 0 && !options.noAgentPrompt;
  if (flags.every((flag) => flag === undefined) && !isContext && !isAgent && skills === undefined) return {};
  const context = isContext ? await loadContext(question, tools, skills) : NO_CONTEXT;
  for (const notice of context.notices) notify(notice);
  const system = options.systemText ?? (await readTextFlag(options.system, '--system', app));
  const append = options.appendText ?? (await readTextFlag(options.appendSystemPrompt, '--append-system-prompt', app));
  const { isChat = false, start } = options;
  const prompt =
    isAgent && system === undefined && context.system === undefined
      ? (await import('./instruction/agent-prompt.ts')).createAgentPrompt(app, {
          start,
          directories,
          isChat,
          isPlanning,
        })
      : undefined;
  return {
    text: joinSystemInstruction(
      { ...context, system: context.system ?? prompt?.text },
      { system, append, skills: context.listsSkills && system === undefined ? undefined : skills },
    ),
    contextText: context.memory,
    contextFiles: context.files,
    given: { systemText: system, appendText: append, start: prompt?.start },
    prompt: mayHoldCredential(prompt?.start.branch ?? '') ? undefined : prompt?.text,
  };
}

const NO_CONTEXT: Context = { sources: [], files: [], notices: [] };

async function loadContext(question: ContextOptions, tools: readonly Tool[], skills?: string): Promise<Context> {
  const { readContext } = await import('../config/context.ts');
  return readContext(
    question,
    tools.map(({ name }) => name),
    { skills },
  );
}

/** Of `--system` and `--append-system-prompt`, as real paths. */
async function listFlagFiles({ system, appendSystemPrompt }: InstructionSetup, app: App): Promise<readonly string[]> {
  const names = [system, appendSystemPrompt].flatMap((value) => (value?.startsWith('@') ? [value.slice(1)] : []));
  if (names.length === 0) return [];
  const { resolveNamedFile } = await import('../input/named-file.ts');
  return Promise.all(names.map((name) => resolveNamedFile(name, app)));
}

async function readTextFlag(value: string | undefined, flag: string, app: App): Promise<string | undefined> {
  if (!value?.startsWith('@')) return value;
  return (await import('../input/text-or-file.ts')).readTextOrFile(value, flag, app);
}
