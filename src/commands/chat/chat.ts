import { pruneIfDue } from '../../app/prune.ts';
import { createTerminalHost } from '../../app/terminal-host.ts';
import type { ApprovalMode } from '../../approval/policy.ts';
import { createChanges, createTurnJournal } from '../../chat/changes.ts';
import { type Chat, openChat } from '../../chat/chat.ts';
import { createCompleter } from '../../chat/completion.ts';
import type { CustomCommands } from '../../chat/custom-commands.ts';
import { createEntryHistory } from '../../chat/line/entry-history.ts';
import { pipedLines } from '../../chat/line/piped-source.ts';
import type { LineSource } from '../../chat/line/source.ts';
import { type LineHooks, terminalLines } from '../../chat/line/terminal-source.ts';
import { runChat } from '../../chat/loop.ts';
import { createNotifier } from '../../chat/notifier.ts';
import { attachPastedPaths, pasteClipboard } from '../../chat/pictures.ts';
import { requireFile } from '../../chat/prompt.ts';
import { createReports } from '../../chat/reports.ts';
import { copyConversation, createMemorySession } from '../../chat/session.ts';
import { restoredNotice } from '../../chat/setup.ts';
import { createSpending } from '../../chat/spending.ts';
import { formatStatus, prepareWindow } from '../../chat/window.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { loadOnce } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { type Io, NEVER_REDRAWN, wrapOut } from '../../core/io.ts';
import type { Session, SessionSetup, SessionStore } from '../../core/session.ts';
import { type AgentOptions, createLazyRedaction } from '../../engine/agent.ts';
import type { SessionOptions } from '../../engine/conversation.ts';
import type { Host } from '../../engine/host.ts';
import { chooseKept, type KeptOptions, toKeptSetup } from '../../engine/kept-setup.ts';
import type { ModelOptions } from '../../engine/model.ts';
import { openRun, type Run } from '../../engine/run.ts';
import type { RosterOptions } from '../../engine/servers/roster.ts';
import { checkSessionFlags, findContinued, openStore } from '../../engine/sessions.ts';
import type { RunSetup } from '../../engine/setup.ts';
import { chooseMode, openOwnWorkspace } from '../../engine/toolbox.ts';
import { createUndoStore } from '../../engine/undo-store.ts';
import { DEFAULT_NAME } from '../../models/choice.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { createTerminalInput } from '../../platform/terminal/input.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';
import type { PictureChoice } from '../../render/picture.ts';

export interface ChatOptions
  extends ModelOptions,
    AgentOptions,
    RosterOptions,
    SessionOptions,
    Pick<RunSetup, 'timeout' | 'maxCost'> {
  readonly args: readonly string[];
  readonly prompt?: string;
  readonly file?: readonly string[];
  readonly noMcp?: boolean;
  readonly quiet?: boolean;
  readonly plain?: boolean;
  readonly pictures?: PictureChoice;
}

const MODES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

export async function run(options: ChatOptions, given: App): Promise<number> {
  checkChatUsage(options);
  const shell = chooseShell(options.shell, given.env);
  const isPlain = (options.plain ?? false) || given.env.TERM === 'dumb';
  const app = isPlain ? { ...given, io: toPlainIo(given.io) } : given;
  const { version, env, homes, cwd, clock, signal, io } = app;
  const undo = createUndoStore(app);
  const turns = createTurnJournal(undo);
  const workspace = await openOwnWorkspace(options, app, turns.open);
  let chat: Chat | undefined;
  const lines = openLines(app, isPlain, {
    complete: createCompleter(() => chat),
    status: () => chat && formatStatus(chat),
    paste: async (pasted) => (chat === undefined ? { text: '' } : pasteClipboard(chat, pasted)),
    attach: async (text) => chat && attachPastedPaths(chat, text),
  });
  for (const path of options.file ?? []) await requireFile(path, cwd);
  const reports = createReports();
  if (options.noMcp && options.allowedMcpServerNames !== undefined) {
    reports.notify('--allowed-mcp-server-names has no effect with --no-mcp');
  }
  const store = openStore(app, reports.notify, { by: 'chat' });
  const { setup: kept, ...saved } = await openChatSession(options, app, store);
  const settings = await app.settings();
  const { document = {} } = settings;
  const isEnabled = readSetting(document, 'general.enableNotifications');
  const notifier = createNotifier({ err: io.err, env, clock, isPlain, isEnabled });
  const host = createTerminalHost(app, {
    notify: reports.notify,
    isText: true,
    async runPaused(work) {
      await notifier.notify('asks');
      return lines.withTerminal(work);
    },
  });
  const { mode, notices } = chooseMode(options, settings);
  for (const notice of notices) reports.notify(notice);
  const setup = { ...toChatSetup(options, mode), kept, workspace };
  const opened = await openRun(setup, app, host).catch(async (thrown) => {
    await saved.session.close();
    throw thrown;
  });
  try {
    await prepareWindow(saved.session);
    const restored = kept && describeRestored(opened, chooseKept(options, kept), settings.model);
    if (restored !== undefined) reports.notify(restored);
    const { budget } = opened;
    const left = budget && (() => budget.limit - budget.spent);
    chat = openChat({
      ...{ version, env, homes, cwd, clock, signal, io, isPlain, lines, store, notifier, reports, shell, ...saved },
      run: opened,
      spending: createSpending({ overrides: readSetting(document, 'prices'), left }),
      isQuiet: options.quiet ?? false,
      // Only the command line can choose `yolo`; a chat started with it can switch back to it.
      modes: mode === 'yolo' ? [...MODES, 'yolo'] : MODES,
      changes: createChanges(undo, { ...turns, workspace, cwd: workspace.roots[0] ?? cwd }),
      customCommands: createLazyCommands(options, { app, host }),
      openFiles: async (prompt) => {
        const { createAnswerFiles } = await import('../../engine/answer-files.ts');
        return createAnswerFiles({}, { app, prompt, canPipe: false, isPicture: false });
      },
      findPictures: async () => (await import('../../render/picture.ts')).choosePictures(options.pictures, env),
      resumeFlags: options.demo ? '--demo ' : '',
      files: [...(options.file ?? [])],
    });
    const first = options.prompt ?? (options.args.length > 0 ? options.args.join(' ') : undefined);
    const exitCode = await runChat(chat, first);
    if (chat.isSaved && !signal.aborted) await pruneIfDue(app);
    return exitCode;
  } finally {
    await opened.close();
  }
}

function toChatSetup(options: ChatOptions, mode: ApprovalMode): RunSetup {
  return {
    ...options,
    // `--shell` implies that the model may use it.
    tools: options.tools ?? (options.shell === undefined ? 'edit' : 'edit,run_shell_command'),
    // The default tools of a chat do not count as named by the user.
    namedTools: options.tools === undefined ? 'edit' : undefined,
    approvalMode: mode,
    yolo: undefined,
    isChat: true,
    servers: options.noMcp ? 'none' : 'all',
    timing: 'request',
    kind: 'chat',
    costHint: 'Leave the chat, and continue it with gmn chat -c and a higher --max-cost.',
  };
}

function checkChatUsage(options: ChatOptions): void {
  if (options.prompt !== undefined && options.args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', { hint: 'Use one of them.' });
  }
  checkSessionFlags(options);
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

interface ChatSession {
  readonly session: Session;
  readonly isSaved: boolean;
  /** Of the session that it continues. */
  readonly setup?: SessionSetup;
}

/**
 * The continued session, a new one, or one that is not saved. With the demo model a session is saved only if a flag
 * names it.
 */
async function openChatSession(options: ChatOptions, app: App, store: SessionStore): Promise<ChatSession> {
  const { cwd, homes } = app;
  const { resume, sessionId: id } = options;
  const name = await createLazyRedaction(app).redact(options.sessionName);
  if (resume !== undefined || options.continue) {
    const summary = await findContinued(options, app, store);
    const session = options.fork ? await store.fork(summary, { cwd, name }) : await store.resume(summary, cwd);
    const setup = toKeptSetup(session, summary);
    return { ...(options.noSession ? await continueUnsaved(session) : { session, isSaved: true }), setup };
  }
  const isNamed = name !== undefined || id !== undefined;
  const isUnsaved = (options.noSession || options.demo) && !isNamed;
  if (isUnsaved || homes().isMissing) return { session: createMemorySession(randomId()), isSaved: false };
  return { session: await store.create({ cwd, by: 'chat', name, id }), isSaved: true };
}

function describeRestored({ facts }: Run, kept: KeptOptions, setting: string | undefined): string | undefined {
  const { keptModel, start: _, ...texts } = kept;
  const isPlain = keptModel === undefined || (keptModel === DEFAULT_NAME && setting === undefined);
  return restoredNotice({ ...texts, model: isPlain ? undefined : facts.agent.request.model });
}

async function continueUnsaved(saved: Session): Promise<ChatSession> {
  await saved.close();
  const session = createMemorySession(randomId());
  await copyConversation(saved, session);
  return { session, isSaved: false };
}

function openLines({ clock, env, signal, homes, io }: App, isPlain: boolean, hooks: LineHooks): LineSource {
  if (!isInteractive()) return pipedLines(systemStdin().read(signal));
  return terminalLines({
    terminal: createTerminalInput(),
    err: io.err,
    clock,
    env: isPlain ? { ...env, TERM: 'dumb' } : env,
    signal,
    history: createEntryHistory(`${homes().gmn}/history`, { clock, signal }),
    ...hooks,
  });
}

function toPlainIo({ out, err }: Io): Io {
  const plain = { ...NEVER_REDRAWN, isStyled: false };
  return { out: wrapOut(out, plain), err: wrapOut(err, plain) };
}
