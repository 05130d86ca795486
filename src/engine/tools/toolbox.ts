import { join } from 'node:path';
import type { AgentHooks, OutputFiles } from '../../agent/agent.ts';
import type { Grant } from '../../approval/grants.ts';
import type { WithPerson } from '../../approval/person.ts';
import {
  type ApprovalMode,
  approvalPolicy,
  type ModeInForce,
  type PolicyOptions,
  selectOfferedTools,
} from '../../approval/policy.ts';
import { listContextNames } from '../../config/context-place.ts';
import { readSetting } from '../../config/keys.ts';
import type { App, Settings } from '../../core/app.ts';
import { loadOnce } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import type { Model, RequestWatch } from '../../core/model.ts';
import { formatCommandWords, type Permission } from '../../core/permission.ts';
import type { PolicyRule } from '../../core/policy-rule.ts';
import { splitList } from '../../core/text/names.ts';
import { listStateDirectories } from '../../core/text/secrets.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { type Approve, type Tool, toOfficialName } from '../../core/tool.ts';
import type { McpTools } from '../../mcp/client/tools/toolset.ts';
import { realPath } from '../../platform/files/path.ts';
import { createOutputStore } from '../../platform/files/run-directory.ts';
import { findUserHomes } from '../../platform/host.ts';
import { type BackgroundCommands, createBackgroundCommands } from '../../platform/process/background.ts';
import { findProgram } from '../../platform/process/program-path.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { dropLoneCompanions, isBuiltinName, isToolSet, selectTools, translateNames } from '../../tools/builtins.ts';
import type { ToolContext } from '../../tools/define.ts';
import { isAllowedBySettings, parseRule, splitRules, type ToolLimits, toPermission } from '../../tools/rules.ts';
import type { Buffers } from '../../tools/workspace/buffers.ts';
import { isTooBroad } from '../../tools/workspace/protection.ts';
import { type Journal, openWorkspace, type Workspace } from '../../tools/workspace/workspace.ts';
import type { Host } from '../host.ts';
import type { OpenedModel } from '../model/model.ts';
import type { Conventions } from './conventions.ts';
import {
  holdIn,
  openOfficialRules,
  openProjectPermissions,
  type ProjectPermissions,
  readAllowedSetting,
  readCommandLimits,
  tryListPermissions,
} from './permissions.ts';
import type { RunSandbox } from './sandbox/sandbox.ts';
import type { ToolSetup } from './setup.ts';
import type { ParentRun } from './sub-agents.ts';

export interface Toolbox {
  readonly tools: readonly Tool[];
  readonly withheld: readonly Tool[];
  readonly chosen: readonly string[];
  readonly approve: Approve;
  /** The approval mode in force; absent without tools. */
  readonly mode?: ApprovalMode;
  readonly outputs?: OutputFiles;
  readonly protect: Workspace['protect'];
  /** Whether a policy denies all calls of a tool. */
  readonly isHidden: (tool: Tool) => boolean;
}

export interface ToolboxContext {
  readonly app: App;
  readonly opened: OpenedModel;
  /** Is told about calls that are denied without a question, and about failed writes; each once a turn. */
  readonly host: Host;
  /** Of the requests that tools make. */
  readonly watch?: RequestWatch;
  /** It remembers which files were read. Absent: there are no tools. */
  readonly workspace?: Workspace;
  /** Keeps the commands in the background; the caller closes them. By default they end with the process. */
  readonly background?: BackgroundHolder;
  /** Opened if one of the tools runs commands. */
  readonly sandbox?: RunSandbox;
  /** What was allowed in this run. */
  readonly remembered?: Grant[];
  readonly inForce?: ModeInForce;
  /** Is called when the person changes the mode by an answer. */
  readonly onMode?: (mode: ApprovalMode) => void;
  /** Denials that were said, for whoever begins the turns to clear. */
  readonly denied?: Set<string>;
  readonly remote?: Pick<McpTools, 'tools' | 'isTrusted' | 'instructions' | 'findOwners'>;
  /** What the user's and the folder's files bring. Absent: nothing. */
  readonly conventions?: Conventions;
  readonly hooks?: AgentHooks;
  /** What sub-agents need of the run. Absent: there are none. */
  readonly forAgents?: Pick<ParentRun, 'openModel' | 'openSession' | 'count'>;
}

type ToolboxParts = ToolboxContext & { readonly workspace: Workspace };

/** Filled by the first toolbox that has the shell tool; most runs do not need it. */
export interface BackgroundHolder {
  commands?: BackgroundCommands;
}

export async function openToolbox(options: ToolSetup, context: ToolboxParts): Promise<Toolbox> {
  const { app, host, workspace } = context;
  const settings = await app.settings();
  const permissions = options.ignoresPermissions ? undefined : openProjectPermissions(app, workspace.roots);
  const kept = permissions === undefined ? { kept: [], notices: [] } : tryListPermissions(permissions);
  const { mode, notices: modeNotices } = chooseMode(options, settings, kept.kept);
  const policies = await openOfficialRules(app, host.withPerson !== undefined);
  const findHiding = (tool: Tool) => policies?.rules.findHiding(tool, mode);
  const wanted = options.tools ?? 'none';
  const reportDenial = createDenialReport(host, context.denied);
  const definitions = selectTools(splitList([wanted]));
  const runsCommands = definitions.some(({ effect }) => effect === 'execute');
  const sandbox = runsCommands ? await context.sandbox?.open() : undefined;
  const given = createToolContext(workspace, options, { ...context, sandbox });
  const selected = definitions
    .filter(({ isOffered }) => isOffered?.(given) ?? true)
    .map((tool) => reportFailedWrites(tool.create(given), reportDenial));
  const named = options.namedTools ?? wanted;
  const limits = readToolLimits(settings);
  const left = applyToolSettings(selected, limits, named);
  const { tools, notices } = dropRiskyTools(left.tools, workspace, app, named);
  const own = dropLoneCompanions(tools.filter((tool) => findHiding(tool) === undefined));
  const remote = (context.remote?.tools ?? []).filter((tool) =>
    listRuleNames(tool).every((name) => isAllowedBySettings(name, limits)),
  );
  const others = [...(options.ownTools ?? []), ...remote].filter((tool) => findHiding(tool) === undefined);
  const chosen = [...own, ...others];
  const offered = dropLoneCompanions(selectOfferedTools(chosen, mode));
  const setting = options.ignoresPermissions ? { allowed: [], notices: [] } : readAllowedSetting(settings);
  const written = [...parseAllowedTools(options, context.remote), ...setting.allowed];
  const allowed = [...holdIn(workspace.roots[0] ?? app.cwd, written), ...kept.kept];
  const missing = [
    ...formatMissingTools(options, context.remote),
    ...(await formatUselessRules(runsCommands ? written : [])),
  ];
  const hidden = formatHidden(tools, findHiding, named);
  for (const notice of [
    ...modeNotices,
    ...(policies?.notices ?? []),
    ...hidden,
    ...kept.notices,
    ...setting.notices,
    ...left.notices,
    ...notices,
    ...missing,
  ])
    host.notify(notice);
  return {
    tools: offered,
    withheld: chosen.filter((tool) => !offered.includes(tool)),
    chosen: own.map(({ name }) => name),
    approve: createApprove({
      ...{ ...context, mode, allowed, permissions, settings, onDenied: reportDenial },
      isConfined: sandbox !== undefined && !options.sandboxAsk,
      isFenced: sandbox !== undefined,
      rules: policies?.rules,
    }),
    isHidden: (tool) => findHiding(tool) !== undefined,
    mode,
    outputs: { keep: workspace.keep, allow: workspace.allowStored },
    protect: workspace.protect,
  };
}

/** Reports an approved write that fails, for example because the file is protected or was not read before. */
function reportFailedWrites(tool: Tool, report: (notice: string) => void): Tool {
  if (tool.effect !== 'write') return tool;
  return {
    ...tool,
    async invoke(args, signal) {
      const result = await tool.invoke(args, signal);
      if (result.ok) return result;
      report((await import('../../render/tool-line.ts')).formatToolFailure(tool.name, args, result));
      return { ...result, isReported: true };
    },
  };
}

/** Reports each denial once a turn, since a model often repeats a denied call. */
function createDenialReport({ notify }: Host, reported = new Set<string>()): (notice: string) => void {
  return (message) => {
    if (!reported.has(message)) notify({ type: 'notice', message, isDenial: true });
    reported.add(message);
  };
}

export async function openOwnWorkspace(
  options: ToolSetup,
  app: App,
  openJournal: (roots: readonly string[]) => Journal,
  buffers?: Buffers,
): Promise<Workspace> {
  const roots = [app.cwd, ...splitList(options.includeDirectories ?? [])];
  const settings = await app.settings();
  return openWorkspace({
    roots,
    denied: listStateDirectories(app.homes(), findUserHomes(app.env)),
    protectedNames: [true, false].flatMap((isInFolder) => listContextNames(settings, isInFolder)),
    // Read anew for every write, so that a file counts that was not there when the run began.
    listWatched: async (path) => {
      const { listWatched } = await import('./sandbox/watched.ts');
      return (await listWatched({ app, roots }, path)).entries.map((entry) => entry.path);
    },
    outputs: createOutputStore(join(app.homes().gmn, 'output'), app.clock.now),
    journal: openJournal(roots.map((root) => realPath(root) ?? root)),
    buffers,
  });
}

export function createLazyJournal(app: App, roots: readonly string[]): Journal {
  const journal = loadOnce(async () =>
    (await import('./undo-store.ts')).createUndoStore(app).createJournal(randomId(), roots),
  );
  return { record: async (...change) => (await journal()).record(...change) };
}

/** Getters and functions: a run pays only for what one of its tools needs. */
function createToolContext(
  workspace: Workspace,
  { shell }: ToolSetup,
  {
    app,
    opened,
    host,
    watch,
    sandbox,
    conventions,
    background: holder = {},
  }: Omit<ToolboxContext, 'sandbox'> & Pick<ToolContext, 'sandbox'>,
): ToolContext {
  const { env, httpTimers: timers } = app;
  const loadSend = loadOnce(async () => {
    const { createPinnedClient, isPublicAddress } = await import('../../platform/http/pinned.ts');
    return createPinnedClient({ isAllowedAddress: isPublicAddress, timers });
  });
  return {
    workspace,
    env,
    sandbox,
    get shell() {
      return chooseShell(shell, env);
    },
    get background() {
      holder.commands ??= createBackgroundCommands();
      return holder.commands;
    },
    resolveDirectory: async (path) => {
      const { place, directory } = await workspace.openDirectory(path);
      await directory.close();
      return place.path;
    },
    skills: conventions?.toolSkills,
    storeOutput: workspace.keep,
    storeUntrusted: workspace.keepUntrusted,
    onOutput: (text) => host.showOutput?.(text),
    runShell: host.runShell,
    send: async (...request) => (await loadSend())(...request),
    ground: async (...query) => {
      const { createGround } = await import('../../agent/grounding.ts');
      const { model, modelId, generationConfig } = opened;
      const counted: Model = { stream: (request, signal) => model.stream(request, signal, watch) };
      return createGround(counted, { model: modelId, generationConfig })(...query);
    },
  };
}

function readToolLimits({ document = {} }: Settings): ToolLimits {
  return { core: readSetting(document, 'tools.core'), exclude: readSetting(document, 'tools.exclude') };
}

interface ToolSelection {
  readonly tools: readonly Tool[];
  readonly notices: readonly string[];
}

/** Applies `tools.core` and `tools.exclude`; a notice names each tool the user asked for that they remove. */
function applyToolSettings(tools: readonly Tool[], limits: ToolLimits, wanted: string): ToolSelection {
  const named = translateNames(splitList([wanted]).filter((name) => !isToolSet(name)));
  return {
    tools: tools.filter(({ name }) => isAllowedBySettings(name, limits)),
    notices: tools
      .filter(({ name }) => named.includes(name) && !isAllowedBySettings(name, limits))
      .map(({ name }) => {
        const key = isAllowedBySettings(name, { exclude: limits.exclude }) ? 'tools.core' : 'tools.exclude';
        return `${name} is not offered: ${key} in your settings excludes it. Where: gmn config explain ${key}`;
      }),
  };
}

/** One line for each tool that the user named, and a policy denies. */
function formatHidden(
  tools: readonly Tool[],
  findHiding: (tool: Tool) => PolicyRule | undefined,
  wanted: string,
): readonly string[] {
  const named = translateNames(splitList([wanted]).filter((name) => !isToolSet(name)));
  return tools.flatMap((tool) => {
    const rule = named.includes(tool.name) ? findHiding(tool) : undefined;
    return rule === undefined
      ? []
      : `${tool.name} is not offered: the policy ${sanitize(rule.file)}, rule ${rule.number}, denies it`;
  });
}

/** In the home directory or `/`, tools that write or run commands are offered only if the user named them. */
function dropRiskyTools(tools: readonly Tool[], { roots }: Workspace, app: App, wanted: string): ToolSelection {
  // `/` is too broad even if there is no home directory.
  const isBroad = roots.some((root) => ['/', ...findUserHomes(app.env)].some((home) => isTooBroad(root, home)));
  if (!isBroad) return { tools, notices: [] };
  const named = translateNames(splitList([wanted]).filter((name) => !isToolSet(name)));
  const safe = tools.filter(({ name, effect }) => named.includes(name) || (effect !== 'write' && effect !== 'execute'));
  if (safe.length === tools.length) return { tools, notices: [] };
  return {
    tools: safe,
    notices: [
      'no tool that writes or runs is offered here: this is your home directory, or above it. Name them with --tools',
    ],
  };
}

/** Of `--allowed-tools`, what is about built-in tools; names of MCP tools are checked where their server is known. Throws AppError `usage`. */
function parseAllowedTools({ allowedTools = [] }: ToolSetup, remote: ToolboxContext['remote']): readonly Permission[] {
  const isRemote = (name: string): boolean =>
    isRemoteName(name) || isOffered(name, remote) || findMissingOwners(name, remote).length > 0;
  return splitRules(allowedTools).flatMap((entry) => {
    const rule = parseRule(entry);
    if (rule.command === undefined) {
      return isRemote(entry) ? [] : translateNames([entry]).map((tool): Permission => ({ kind: 'tool', tool }));
    }
    const permission = toPermission(rule);
    if (permission !== undefined) return [permission];
    throw new AppError('usage', `--allowed-tools ${sanitize(entry)} is not the beginning of a command`, {
      hint: "Name the first words, without operators and patterns: --allowed-tools 'run_shell_command(git status)'",
    });
  });
}

/** What rules may call a tool of a server. */
function listRuleNames({ name, remote }: Tool): readonly string[] {
  return remote === undefined ? [name] : [name, `${remote.server}__${remote.tool}`, toOfficialName(remote)];
}

/** `server__tool`, or `mcp_server_tool` as the official CLI has it: whether there is such a tool shows later. */
function isRemoteName(name: string): boolean {
  return name.includes('__') || name.startsWith('mcp_');
}

/** Rules about commands that gmn does not know to be harmless: they would fail without a word. */
async function formatUselessRules(permissions: readonly Permission[]): Promise<readonly string[]> {
  const rules = permissions.flatMap((permission) => (permission.kind === 'prefix' ? [permission.words] : []));
  if (rules.length === 0) return [];
  const { isCoverable } = await import('../../approval/judge-command.ts');
  return rules
    .filter((words) => !isCoverable(words))
    .map(
      (words) =>
        `run_shell_command(${formatCommandWords(words)}) lets nothing run without a question: it is not among the commands that gmn knows to be harmless`,
    );
}

function isOffered(name: string, remote: ToolboxContext['remote']): boolean {
  return remote?.tools.some((tool) => tool.name === name) ?? false;
}

/** The servers that may own a tool that is not available: a server that is down must not fail the run. */
function findMissingOwners(name: string, remote: ToolboxContext['remote']): readonly string[] {
  return isBuiltinName(name) || isOffered(name, remote) ? [] : (remote?.findOwners(name) ?? []);
}

function formatMissingTools({ allowedTools = [] }: ToolSetup, remote: ToolboxContext['remote']): readonly string[] {
  return splitRules(allowedTools)
    .filter((name) => !isRemoteName(name) && parseRule(name).command === undefined)
    .flatMap((name) => {
      const owners = findMissingOwners(name, remote).map(sanitize);
      if (owners.length === 0) return [];
      const which =
        owners.length === 1
          ? `the MCP server ${owners[0]} may have it, but does not offer it`
          : `one of the MCP servers ${owners.join(', ')} may have it, but none of them offers it`;
      return [`--allowed-tools ${sanitize(name)}: there is no such tool now; ${which}`];
    });
}

interface ApproveParts extends ToolboxParts {
  readonly mode: ApprovalMode;
  readonly allowed: readonly Permission[];
  readonly permissions: ProjectPermissions | undefined;
  readonly settings: Settings;
  readonly onDenied: (notice: string) => void;
  /** Commands are confined, so that fewer need be asked about. */
  readonly isConfined: boolean;
  /** Commands are confined, asked about or not. */
  readonly isFenced: boolean;
  readonly rules: PolicyOptions['rules'];
}

function createApprove(parts: ApproveParts): Approve {
  const { app, workspace, host, remembered, inForce, remote, onDenied, onMode } = parts;
  const { mode, allowed, permissions, settings, isConfined, isFenced, rules } = parts;
  const policy = approvalPolicy({
    mode,
    allowed,
    isTrusted: remote?.isTrusted ?? (() => false),
    limits: readCommandLimits(settings),
    rules,
    isConfined,
    remembered,
    inForce,
    onMode,
  });
  const approve = loadOnce(async () => {
    const [{ createApprover }, { secretFiles, targetFiles }, { createHarmCheck }] = await Promise.all([
      import('../../approval/approve.ts'),
      import('../../approval/targets.ts'),
      import('./sandbox/harm-check.ts'),
    ]);
    return createApprover({
      policy,
      withPerson: host.withPerson ?? NOBODY,
      explainDenial: host.explainDenial,
      ...secretFiles(workspace),
      ...targetFiles(workspace, (word, directory) => findProgram(word, app.env, directory) !== undefined),
      findHarm: isFenced ? undefined : createHarmCheck(app, workspace.roots),
      onDenied,
      keep: permissions?.keep,
      showsChanges: host.showsChanges,
    });
  });
  return async (tool, call, context) => (await approve())(tool, call, context);
}

const NOBODY: WithPerson = async () => undefined;

export type ModeOptions = Pick<ToolSetup, 'approvalMode' | 'yolo'>;

/** Beside `default`. A settings file cannot choose `yolo`; only the command line can. */
const SETTINGS_MODES: readonly ApprovalMode[] = ['auto_edit', 'plan'];

/** `--yolo` means `--approval-mode yolo`. Throws AppError `usage` if both are given and differ. */
function parseMode({ approvalMode, yolo }: ModeOptions): ApprovalMode {
  if (yolo && approvalMode !== undefined && approvalMode !== 'yolo') {
    throw new AppError('usage', `--yolo cannot be combined with --approval-mode ${approvalMode}`, {
      hint: 'Use one of them.',
    });
  }
  return yolo ? 'yolo' : (approvalMode ?? 'default');
}

/**
 * The mode of the flags, else of `general.defaultApprovalMode`; where that is to ask, a kept permission for all edits counts.
 * Throws AppError `usage` if they contradict each other.
 */
export function chooseMode(
  options: ModeOptions,
  { document = {} }: Pick<Settings, 'document'>,
  kept: readonly Permission[] = [],
): { readonly mode: ApprovalMode; readonly notices: readonly string[] } {
  const mode = parseMode(options);
  if (mode === 'yolo' && readSetting(document, 'security.disableYoloMode')) throw yoloDisabledError();
  const setting = readSetting(document, 'general.defaultApprovalMode');
  if (options.yolo || options.approvalMode !== undefined) return { mode, notices: [] };
  const asking = kept.some(({ kind }) => kind === 'edits') ? 'auto_edit' : 'default';
  if (setting === undefined || setting === 'default') return { mode: asking, notices: [] };
  const known = SETTINGS_MODES.find((each) => each === setting);
  if (known !== undefined) return { mode: known, notices: [] };
  const why = setting === 'yolo' ? 'is not taken from a file' : `cannot be "${sanitize(setting)}"`;
  return { mode, notices: [`general.defaultApprovalMode ${why}: gmn asks before every change`] };
}

function yoloDisabledError(): AppError {
  return new AppError('usage', 'yolo is turned off: security.disableYoloMode is true in the settings', {
    hint: 'Leave it out, or name what may run with --allowed-tools. Where it is set: gmn config explain security.disableYoloMode',
  });
}
