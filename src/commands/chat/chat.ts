import type { RunTurn } from '../../agent/agent.ts';
import { runTurn } from '../../agent/turn.ts';
import { createLazyRedaction } from '../../app/agent.ts';
import { pruneIfDue } from '../../app/history.ts';
import { chooseKept, type KeptOptions, toKeptSetup } from '../../app/kept-setup.ts';
import { checkSessionFlags, findContinued, openStore, type SessionOptions } from '../../app/sessions.ts';
import { openOwnWorkspace } from '../../app/toolbox.ts';
import { createUndoStore } from '../../app/undo-store.ts';
import type { RunPaused } from '../../approval/approve.ts';
import type { ApprovalMode } from '../../approval/policy.ts';
import type { Assistant, CustomCommands } from '../../chat/assistant.ts';
import { createChanges, createTurnJournal } from '../../chat/changes.ts';
import { type Chat, openChat } from '../../chat/chat.ts';
import { createCompleter } from '../../chat/completion.ts';
import { createEntryHistory } from '../../chat/line/entry-history.ts';
import { pipedLines } from '../../chat/line/piped-source.ts';
import type { LineSource } from '../../chat/line/source.ts';
import { type LineHooks, terminalLines } from '../../chat/line/terminal-source.ts';
import { runChat } from '../../chat/loop.ts';
import { createNotifier } from '../../chat/notifier.ts';
import { attachPastedPaths, pasteClipboard } from '../../chat/pictures.ts';
import { requireFile } from '../../chat/prompt.ts';
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
import { DEFAULT_NAME } from '../../models/choice.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { createTerminalInput } from '../../platform/terminal/input.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';
import type { PictureChoice } from '../../render/picture.ts';
import { appendUsage } from '../../session/usage-log.ts';
import { type AssistantOptions, openAssistant } from './assistant.ts';

export interface ChatOptions extends AssistantOptions, SessionOptions {
  readonly args: readonly string[];
  readonly prompt?: string;
  readonly file?: readonly string[];
  readonly demo?: boolean;
  readonly plain?: boolean;
  /** In dollars. */
  readonly maxCost?: number;
  readonly pictures?: PictureChoice;
}

const MODES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

export async function run(options: ChatOptions, app: App): Promise<number> {
  checkChatUsage(options);
  const shell = chooseShell(options.shell, app.env);
  const isPlain = (options.plain ?? false) || app.env.TERM === 'dumb';
  const io = isPlain ? toPlainIo(app.io) : app.io;
  const undo = createUndoStore(app);
  const turns = createTurnJournal(undo);
  const workspace = await openOwnWorkspace(options, app, turns.open);
  let chat: Chat | undefined;
  const lines = openLines(
    { app, io, isPlain },
    {
      complete: createCompleter(() => chat),
      status: () => chat && formatStatus(chat),
      paste: async (given) => (chat === undefined ? { text: '' } : pasteClipboard(chat, given)),
      attach: async (text) => chat && attachPastedPaths(chat, text),
    },
  );
  const { version, env, cwd, clock, signal } = app;
  for (const path of options.file ?? []) await requireFile(path, cwd);
  const reports: string[] = [];
  const onNotice = (notice: string): void => void reports.push(notice);
  if (options.noMcp && options.allowedMcpServerNames !== undefined) {
    onNotice('--allowed-mcp-server-names has no effect with --no-mcp');
  }
  const store = openStore(app, onNotice, { by: 'chat' });
  const { setup, ...kept } = await openChatSession(options, app, store);
  const chosen = setup && chooseKept(options, setup);
  const { document = {}, model: setting } = await app.settings();
  const isEnabled = readSetting(document, 'general.enableNotifications');
  const notifier = createNotifier({ err: io.err, env, clock, isPlain, isEnabled });
  const runPaused: RunPaused = async (work) => {
    await notifier.notify('asks');
    return lines.withTerminal(work);
  };
  const { budget, spending } = await openSpending(options, app);
  const context = { app: { ...app, io }, runPaused, workspace, onNotice, onCall: spending.add, budget };
  const opening = openAssistant({ ...options, ...chosen }, context);
  const assistant = await opening.catch(async (thrown) => {
    await kept.session.close();
    throw thrown;
  });
  await prepareWindow(kept.session);
  const notice = describeRestored(assistant, chosen, setting);
  reports.unshift(...assistant.notices, ...(notice === undefined ? [] : [notice]));
  try {
    chat = openChat({
      ...{
        version,
        env,
        homes: app.homes,
        cwd,
        clock,
        signal,
        io,
        isPlain,
        lines,
        assistant,
        store,
        notifier,
        spending,
        ...kept,
      },
      recordUsage: (session) => {
        const calls = spending.takeCalls();
        if (!chat?.isSaved) return;
        appendUsage(app.homes().gmn, { at: clock.now(), kind: 'chat', id: session.id, cwd, calls });
      },
      isQuiet: options.quiet ?? false,
      // Only the command line can choose `yolo`; a chat started with it can switch back to it.
      modes: assistant.setup.mode === 'yolo' ? [...MODES, 'yolo'] : MODES,
      takeReports: () => reports.splice(0),
      changes: createChanges(undo, { ...turns, workspace, cwd: workspace.roots[0] ?? cwd }),
      shell,
      customCommands: createLazyCommands(options, context),
      openVerifiedTurn: (command) => openVerifiedTurn(command, options, context.app),
      openFiles: async (prompt) => {
        const { createAnswerFiles } = await import('../../app/answer-files.ts');
        return createAnswerFiles({}, { app, prompt, canPipe: false, isPicture: false });
      },
      findPictures: async () => (await import('../../render/picture.ts')).choosePictures(options.pictures, env),
      resumeFlags: options.demo ? '--demo ' : '',
      files: [...(options.file ?? [])],
    });
    const first = options.prompt ?? (options.args.length > 0 ? options.args.join(' ') : undefined);
    const exitCode = await runChat(chat, first);
    chat.recordUsage(chat.session);
    if (chat.isSaved && !signal.aborted) await pruneIfDue(app);
    return exitCode;
  } finally {
    await assistant.close();
  }
}

async function openVerifiedTurn(command: string, options: ChatOptions, app: App): Promise<RunTurn> {
  const { verifyTurn } = await import('../../app/verify.ts');
  const { shell, timeout: timeoutMs } = options;
  const hint = 'What the model changed is kept: /undo takes it back. /verify off ends this.';
  return verifyTurn(runTurn, { app, command, shell, timeoutMs, hint });
}

async function openSpending({ maxCost }: ChatOptions, app: App) {
  const hint = 'Leave the chat, and continue it with gmn chat -c and a higher --max-cost.';
  const budget =
    maxCost === undefined ? undefined : await (await import('../../app/budget.ts')).openBudget({ maxCost, hint }, app);
  const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
  return { budget, spending: createSpending({ overrides, left: budget && (() => budget.limit - budget.spent) }) };
}

function checkChatUsage(options: ChatOptions): void {
  if (options.prompt !== undefined && options.args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', { hint: 'Use one of them.' });
  }
  if (options.noMcp && options.mcpConfig !== undefined) {
    throw new AppError('usage', '--mcp-config cannot be combined with --no-mcp', { hint: 'Use one of them.' });
  }
  checkSessionFlags(options);
}

/** Loaded when the user first types a slash. */
function createLazyCommands(
  { allowedTools, shell }: ChatOptions,
  context: { readonly app: App; readonly runPaused: RunPaused },
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

function describeRestored({ agent }: Assistant, kept: KeptOptions = {}, setting?: string): string | undefined {
  const { keptModel, start: _, ...texts } = kept;
  const isPlain = keptModel === undefined || (keptModel === DEFAULT_NAME && setting === undefined);
  return restoredNotice({ ...texts, model: isPlain ? undefined : agent.request.model });
}

async function continueUnsaved(saved: Session): Promise<ChatSession> {
  await saved.close();
  const session = createMemorySession(randomId());
  await copyConversation(saved, session);
  return { session, isSaved: false };
}

function openLines({ app, io, isPlain }: ChatTerminal, hooks: LineHooks): LineSource {
  const { clock, env, signal, homes } = app;
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

interface ChatTerminal {
  readonly app: App;
  readonly io: Io;
  readonly isPlain: boolean;
}

function toPlainIo({ out, err }: Io): Io {
  const plain = { ...NEVER_REDRAWN, isStyled: false };
  return { out: wrapOut(out, plain), err: wrapOut(err, plain) };
}
