import { grounder } from '../agent/grounding.ts';
import { approval, type Lend } from '../approval/approve.ts';
import { type ApprovalMode, approvalPolicy, declared } from '../approval/policy.ts';
import { secretFiles, targetFiles } from '../approval/targets.ts';
import { contextNames } from '../config/context-place.ts';
import { readSetting } from '../config/keys.ts';
import type { App, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { stateDirectories } from '../core/text/secrets.ts';
import { visible } from '../core/text/terminal.ts';
import type { Approve, Tool } from '../core/tool.ts';
import type { McpTools } from '../mcp/client/tools/toolset.ts';
import { realPath } from '../platform/files/path.ts';
import { outputShelf } from '../platform/files/run-directory.ts';
import { userHomes } from '../platform/host.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import {
  allowedNames,
  builtins,
  isBuiltinName,
  isLeft,
  isToolSet,
  selectTools,
  type ToolLimits,
} from '../tools/builtins.ts';
import { type UndoStore, undoStore } from '../tools/workspace/journal.ts';
import { isTooBroad } from '../tools/workspace/protection.ts';
import { type Journal, openWorkspace, type Workspace } from '../tools/workspace/workspace.ts';
import type { OpenedModel } from './model.ts';

/** The flags that say which tools a run has, and how far they may go unasked. */
export interface ToolOptions extends ModeOptions {
  readonly tools?: string;
  /** Which of `tools` the person named; all of it unless given. */
  readonly namedTools?: string;
  readonly allowedTools?: readonly string[];
  readonly includeDirectories?: readonly string[];
  /** What `run_shell_command` uses; the user's own, or the system's, unless given. */
  readonly shell?: string;
  readonly outputFormat?: 'text' | 'json' | 'stream-json';
}

export interface Toolbox {
  readonly tools: readonly Tool[];
  /** Those that the mode keeps back. */
  readonly withheld: readonly Tool[];
  /** The names of the tools that were asked for, those that the mode keeps back included. */
  readonly chosen: readonly string[];
  readonly approve: Approve;
  /** Calls that were denied without a question since this was last asked, each told once, in words for the user. */
  readonly takeDenials: () => readonly string[];
  readonly notices: readonly string[];
}

export interface ToolboxContext {
  readonly app: App;
  readonly opened: OpenedModel;
  readonly lend: Lend;
  /** What the tools work in; one of its own unless given, and what it knows of files lasts as long. */
  readonly workspace?: Workspace;
  /** What the person said "always" to. */
  readonly remembered?: Set<string>;
  /** The tools of MCP servers; whoever opened them closes them. */
  readonly remote?: Pick<McpTools, 'tools' | 'isTrusted' | 'instructions' | 'owners'>;
}

/** The tools that `--tools` asks for, behind the fence and the approval. Throws AppError `usage`. */
export async function openToolbox(options: ToolOptions, context: ToolboxContext): Promise<Toolbox> {
  const { app } = context;
  const settings = await app.settings();
  const { mode, notices: modeNotices } = chosenMode(options, settings);
  const workspace =
    context.workspace ?? (await openOwnWorkspace(options, app, (roots) => undoStoreOf(app).journal(randomId(), roots)));
  const wanted = options.tools ?? 'none';
  const others = await otherTools(workspace, { ...options, tools: wanted }, context);
  const all = builtins({ workspace, env: app.env, others });
  const named = options.namedTools ?? wanted;
  const limits = limitsOf(settings);
  const left = withinLimits(selectTools(all, names([wanted])), limits, named);
  const { tools, notices } = withoutRisk(left.tools, workspace, app, named);
  const chosen = [...tools, ...(context.remote?.tools ?? []).filter(({ name }) => isLeft(name, limits))];
  const offered = declared(chosen, mode);
  const denials = denialLog();
  return {
    tools: offered,
    withheld: chosen.filter((tool) => !offered.includes(tool)),
    chosen: tools.map(({ name }) => name),
    approve: approveWith(options, mode, { ...context, workspace, onDenied: denials.add }),
    takeDenials: denials.take,
    notices: [...modeNotices, ...left.notices, ...notices, ...missingNotices(options, context.remote)],
  };
}

/** A model that is denied a call may well make it again. */
function denialLog() {
  const told = new Set<string>();
  const pending: string[] = [];
  return {
    add: (notice: string): void => {
      if (!told.has(notice)) pending.push(notice);
      told.add(notice);
    },
    take: (): readonly string[] => pending.splice(0),
  };
}

/** The working directory and those of `--include-directories`, behind the fence. Throws AppError `usage` or `config`. */
export async function openOwnWorkspace(
  options: ToolOptions,
  app: App,
  journalOf: (roots: readonly string[]) => Journal,
): Promise<Workspace> {
  const roots = [app.cwd, ...names(options.includeDirectories ?? [])];
  return openWorkspace({
    roots,
    denied: stateDirectories(app.homes(), userHomes(app.env)),
    protectedNames: contextNames(await app.settings()),
    outputs: outputShelf(`${app.homes().gmn}/output`, app.clock.now),
    journal: journalOf(roots.map((root) => realPath(root) ?? root)),
  });
}

/** The changes of all runs of this user. */
export function undoStoreOf({ homes, clock }: Pick<App, 'homes' | 'clock'>): UndoStore {
  return undoStore(`${homes().gmn}/undo`, clock);
}

/** Values of a flag that may be repeated, or hold several with commas. */
export function names(values: readonly string[]): readonly string[] {
  return values
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The tools that need more than files, each loaded only if the run may have it. */
async function otherTools(
  workspace: Workspace,
  { tools: wanted = 'none', shell }: ToolOptions,
  { app, opened }: ToolboxContext,
): Promise<readonly Tool[]> {
  if (names([wanted]).every((name) => isToolSet(name) && name !== 'all')) return [];
  const [{ runShellCommand }, { chooseShell }, { webFetch }, { sendPinned }, { isPublicAddress }, { googleWebSearch }] =
    await Promise.all([
      import('../tools/run-shell-command.ts'),
      import('../platform/process/shell-choice.ts'),
      import('../tools/web-fetch.ts'),
      import('../platform/http/pinned.ts'),
      import('../platform/http/pinned.ts'),
      import('../tools/google-web-search.ts'),
    ]);
  const directory = async (path: string): Promise<string> => {
    const { place, directory: held } = await workspace.openDirectory(path);
    await held.close();
    return place.path;
  };
  return [
    runShellCommand({ shell: chooseShell(shell, app.env), env: app.env, directory, keepOutput: workspace.keep }),
    webFetch({
      send: sendPinned({ isAllowedAddress: isPublicAddress, timers: app.httpTimers }),
      keep: workspace.keep,
    }),
    googleWebSearch(grounder(opened.model, { model: opened.modelId, generationConfig: opened.generationConfig })),
  ];
}

function limitsOf({ document = {} }: Settings): ToolLimits {
  return { core: readSetting(document, 'tools.core'), exclude: readSetting(document, 'tools.exclude') };
}

interface Offer {
  readonly tools: readonly Tool[];
  readonly notices: readonly string[];
}

/** What the settings leave; a tool that the person named is missed in words. */
function withinLimits(tools: readonly Tool[], limits: ToolLimits, wanted: string): Offer {
  const named = allowedNames(names([wanted]).filter((name) => !isToolSet(name)));
  return {
    tools: tools.filter(({ name }) => isLeft(name, limits)),
    notices: tools
      .filter(({ name }) => named.includes(name) && !isLeft(name, limits))
      .map(({ name }) => {
        const key = isLeft(name, { exclude: limits.exclude }) ? 'tools.core' : 'tools.exclude';
        return `${name} is not offered: ${key} of your settings leaves it out. Where: gmn config explain ${key}`;
      }),
  };
}

/** In the home directory or `/` nothing is written or run, unless the person named the very tool. */
function withoutRisk(tools: readonly Tool[], { roots }: Workspace, app: App, wanted: string): Offer {
  // Whether or not there is a home, `/` is too broad.
  const isBroad = roots.some((root) => ['/', ...userHomes(app.env)].some((home) => isTooBroad(root, home)));
  if (!isBroad) return { tools, notices: [] };
  const named = allowedNames(names([wanted]).filter((name) => !isToolSet(name)));
  const safe = tools.filter(({ name, effect }) => named.includes(name) || (effect !== 'write' && effect !== 'execute'));
  if (safe.length === tools.length) return { tools, notices: [] };
  return {
    tools: safe,
    notices: [
      'no tool that writes or runs is offered here: this directory is everything you have. Name them with --tools',
    ],
  };
}

/** What `--allowed-tools` says of remote tools is judged by whoever knows which server each of them belongs to. */
function ownNames({ allowedTools = [] }: ToolOptions, remote: ToolboxContext['remote']): readonly string[] {
  const isRemote = (name: string): boolean =>
    name.includes('__') || isOffered(name, remote) || missingOwners(name, remote).length > 0;
  return names(allowedTools).filter((name) => !isRemote(name));
}

function isOffered(name: string, remote: ToolboxContext['remote']): boolean {
  return remote?.tools.some((tool) => tool.name === name) ?? false;
}

/** The servers whose tool it may be, if nothing of that name is there: one that is down must not end the run. */
function missingOwners(name: string, remote: ToolboxContext['remote']): readonly string[] {
  return isBuiltinName(name) || isOffered(name, remote) ? [] : (remote?.owners(name) ?? []);
}

function missingNotices({ allowedTools = [] }: ToolOptions, remote: ToolboxContext['remote']): readonly string[] {
  return names(allowedTools)
    .filter((name) => !name.includes('__'))
    .flatMap((name) => {
      const owners = missingOwners(name, remote).map(visible);
      if (owners.length === 0) return [];
      const which = owners.length === 1 ? `the MCP server ${owners[0]}` : `the MCP servers ${owners.join(', ')}`;
      return [
        `--allowed-tools ${visible(name)}: no such tool is there now; ${which} may have it, and does not offer it`,
      ];
    });
}

function approveWith(
  options: ToolOptions,
  mode: ApprovalMode,
  {
    app,
    workspace,
    lend,
    remembered,
    remote,
    onDenied,
  }: ToolboxContext & { readonly workspace: Workspace; readonly onDenied: (notice: string) => void },
): Approve {
  return approval({
    policy: approvalPolicy({
      mode,
      allowedTools: allowedNames(ownNames(options, remote)),
      isTrusted: remote?.isTrusted ?? (() => false),
      ...(remembered === undefined ? {} : { remembered }),
    }),
    err: app.io.err,
    isTextFormat: (options.outputFormat ?? 'text') === 'text',
    env: app.env,
    ...secretFiles(workspace),
    ...targetFiles(workspace),
    lend,
    onDenied,
  });
}

/** The flags that say how much is asked. */
export interface ModeOptions {
  readonly approvalMode?: ApprovalMode;
  readonly yolo?: boolean;
}

/** The modes that a file may choose: one that asks nothing is for the command line alone. */
const MODES_OF_FILES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

/** `--yolo` is the same as `--approval-mode yolo`, and saying two different things is a mistake: AppError `usage`. */
export function modeOf({ approvalMode, yolo }: ModeOptions): ApprovalMode {
  if (yolo && approvalMode !== undefined && approvalMode !== 'yolo') {
    throw new AppError('usage', `--yolo cannot be combined with --approval-mode ${approvalMode}`, {
      hint: 'Use one of them.',
    });
  }
  return yolo ? 'yolo' : (approvalMode ?? 'default');
}

/** The mode of the flags, else that of `general.defaultApprovalMode`. Throws as `modeOf` does. */
export function chosenMode(
  options: ModeOptions,
  { document = {} }: Pick<Settings, 'document'>,
): { readonly mode: ApprovalMode; readonly notices: readonly string[] } {
  const mode = modeOf(options);
  const said = readSetting(document, 'general.defaultApprovalMode');
  if (options.yolo || options.approvalMode !== undefined || said === undefined) return { mode, notices: [] };
  const known = MODES_OF_FILES.find((each) => each === said);
  if (known !== undefined) return { mode: known, notices: [] };
  const why = said === 'yolo' ? 'is not taken from a file' : `cannot be "${visible(said)}"`;
  return { mode, notices: [`general.defaultApprovalMode ${why}: what changes anything is asked about`] };
}
