import { pruneIfDue } from '../../app/prune.ts';
import { type RunFlags, toRunSetup } from '../../app/run-setup.ts';
import { createTerminalHost } from '../../app/terminal-host.ts';
import type { ApprovalMode } from '../../approval/policy.ts';
import { listModes } from '../../chat/approval-modes.ts';
import { createChanges } from '../../chat/changes.ts';
import type { Chat, CustomCommands } from '../../chat/chat.ts';
import { openChatConversation } from '../../chat/conversation.ts';
import { openLines } from '../../chat/lines.ts';
import { runChat } from '../../chat/loop.ts';
import { requireFile } from '../../chat/prompt.ts';
import { restoredNotice } from '../../chat/recap.ts';
import { createStats } from '../../chat/stats.ts';
import { createView } from '../../chat/view.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { loadOnce } from '../../core/async.ts';
import { FAULTS } from '../../core/error.ts';
import { type Io, NEVER_REDRAWN, wrapOut } from '../../core/io.ts';
import { splitList } from '../../core/text/names.ts';
import type { Host } from '../../engine/host.ts';
import { Run } from '../../engine/run.ts';
import type { SessionOptions } from '../../engine/session/conversation.ts';
import { chooseKept, type KeptOptions } from '../../engine/session/kept-setup.ts';
import { checkSessionFlags } from '../../engine/session/sessions.ts';
import type { RunSetup } from '../../engine/setup.ts';
import { openProjectPermissions, tryListPermissions } from '../../engine/tools/permissions.ts';
import { chooseMode } from '../../engine/tools/toolbox.ts';
import { twoPromptsError } from '../../input/prompt.ts';
import { DEFAULT_NAME } from '../../models/choice.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import type { PictureChoice } from '../../render/picture.ts';
import { hasSpinner } from '../../render/spinner.ts';

export interface ChatOptions extends RunFlags, SessionOptions {
  readonly args: readonly string[];
  readonly prompt?: string;
  readonly file?: readonly string[];
  readonly skill?: readonly string[];
  readonly noMcp?: boolean;
  readonly quiet?: boolean;
  readonly plain?: boolean;
  readonly pictures?: PictureChoice;
}

/** Opens the parts of a chat, and runs it. */
export async function run(options: ChatOptions, given: App): Promise<number> {
  checkChatUsage(options, given);
  const isPlain = (options.plain ?? false) || given.env.TERM === 'dumb';
  const shown = isPlain ? { ...given, io: toPlainIo(given.io) } : given;
  const app = isInteractive() ? await (await import('../../app/trust.ts')).askTrust(shown) : shown;
  if (app === undefined) return FAULTS.interrupted.exitCode;
  const changes = await createChanges(options, app);
  let chat: Chat | undefined;
  const lines = openLines(app, isPlain, () => chat);
  for (const path of options.file ?? []) await requireFile(path, app.cwd);
  const settings = await app.settings();
  const { document = {} } = settings;
  const isNotifying = readSetting(document, 'general.enableNotifications');
  const view = createView(app, { isPlain, isQuiet: options.quiet ?? false, pictures: options.pictures, isNotifying });
  if (options.noMcp && options.allowedMcpServerNames !== undefined) {
    view.notify('--allowed-mcp-server-names has no effect with --no-mcp');
  }
  const { kept: permissions } = tryListPermissions(openProjectPermissions(app));
  const { mode, notices } = chooseMode(options, settings, permissions);
  for (const notice of notices) view.notify(notice);
  const resume = options.resume === '' ? await chooseContinued(app, lines) : options.resume;
  if (options.resume === '' && resume === undefined) return FAULTS.interrupted.exitCode;
  const { conversation, kept } = await openChatConversation({ ...options, resume }, app, view.notify);
  const host = createTerminalHost(app, {
    notify: view.notify,
    isText: true,
    async runPaused(work) {
      await view.notifier.notify('asks');
      return lines.withTerminal(work);
    },
  });
  const followThoughts = hasSpinner(app.io.err, { quiet: options.quiet ?? false, isDumb: isPlain });
  const asked = toChatSetup(options, mode, lines.isTerminal);
  const setup: RunSetup = {
    ...asked,
    model: { ...asked.model, followThoughts },
    tools: { ...asked.tools, workspace: changes.workspace },
    session: { ...asked.session, kept },
  };
  const opened = await Run.open(setup, app, host).catch(async (thrown) => {
    await conversation.session.close();
    throw thrown;
  });
  try {
    const restored = kept && describeRestored(opened, chooseKept(options, kept), settings.model);
    if (restored !== undefined) view.notify(restored);
    chat = {
      ...{ app, run: opened, lines, view, conversation, changes },
      attached: {
        files: options.file ?? [],
        notes: await opened.activateSkills(splitList(options.skill ?? [])),
        pictures: [],
      },
      stats: createStats({ clock: app.clock, prices: readSetting(document, 'prices'), budget: opened.limits.budget }),
      customCommands: createLazyCommands(options, { app, host }),
      canAsk: host.withPerson !== undefined,
      modes: listModes(mode),
      modeBeforePlan: undefined,
      verify: undefined,
    };
    const first = options.prompt ?? (options.args.length > 0 ? options.args.join(' ') : undefined);
    const exitCode = await runChat(chat, first);
    if (conversation.isSaved && !app.signal.aborted) await pruneIfDue(app);
    return exitCode;
  } finally {
    await opened.close();
  }
}

/** `-r` alone. The terminal is given back if the person chooses none. */
async function chooseContinued(app: App, lines: Chat['lines']): Promise<string | undefined> {
  let chosen: string | undefined;
  try {
    const { pickSession } = await import('../../chat/session-picker.ts');
    chosen = await pickSession(app, lines);
    return chosen;
  } finally {
    if (chosen === undefined) await lines.close();
  }
}

function toChatSetup(options: ChatOptions, mode: ApprovalMode, isTerminal: boolean): RunSetup {
  const { model, tools, instruction, limits, answer } = toRunSetup(options);
  const costHint = 'Leave the chat, and continue it with gmn chat -c and a higher --max-cost.';
  return {
    model,
    tools: {
      ...tools,
      // On a terminal somebody can be asked about each command. `--shell` implies that the model may use it.
      tools: options.tools ?? (isTerminal || options.shell !== undefined ? 'edit,run_shell_command' : 'edit'),
      // The default tools of a chat do not count as named by the user.
      namedTools: options.tools === undefined ? 'edit' : undefined,
      approvalMode: mode,
      yolo: undefined,
      servers: options.noMcp ? 'none' : 'all',
    },
    instruction: { ...instruction, isChat: true },
    limits: { ...limits, timing: 'request', costHint },
    answer,
    session: { kind: 'chat' },
  };
}

function checkChatUsage(options: ChatOptions, { env }: App): void {
  if (options.prompt !== undefined && options.args.length > 0) throw twoPromptsError(options.prompt);
  checkSessionFlags(options);
  chooseShell(options.shell, env);
}

/** Loaded when the user first types a slash. */
function createLazyCommands(
  { allowedTools, shell }: ChatOptions,
  context: { readonly app: App; readonly host: Host },
): CustomCommands {
  const load = loadOnce(async () => {
    const { createCustomCommands } = await import('../../app/custom-commands.ts');
    return createCustomCommands({ allowedTools, shell }, context);
  });
  return {
    list: async () => (await load()).list(),
    expand: async (...call) => (await load()).expand(...call),
  };
}

function describeRestored({ facts }: Run, kept: KeptOptions, setting: string | undefined): string | undefined {
  const { keptModel, start: _, ...texts } = kept;
  const isPlain = keptModel === undefined || (keptModel === DEFAULT_NAME && setting === undefined);
  return restoredNotice({ ...texts, model: isPlain ? undefined : facts.agent.request.model });
}

function toPlainIo({ out, err }: Io): Io {
  const plain = { ...NEVER_REDRAWN, isStyled: false };
  return { out: wrapOut(out, plain), err: wrapOut(err, plain) };
}
