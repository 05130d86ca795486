import { tidySessions } from '../../app/history.ts';
import { checkSessionFlags, openStore, type SessionOptions } from '../../app/sessions.ts';
import { openOwnWorkspace, undoStoreOf } from '../../app/toolbox.ts';
import type { ApprovalMode } from '../../approval/policy.ts';
import { sessionChanges, turnJournal } from '../../chat/changes.ts';
import { type Chat, openChat } from '../../chat/chat.ts';
import { completion } from '../../chat/completion.ts';
import { entryHistory } from '../../chat/line/entry-history.ts';
import { pipedLines } from '../../chat/line/piped-source.ts';
import type { Complete, LineSource } from '../../chat/line/source.ts';
import { terminalLines } from '../../chat/line/terminal-source.ts';
import { runChat } from '../../chat/loop.ts';
import { checkFile } from '../../chat/prompt.ts';
import { memorySession } from '../../chat/session.ts';
import { restoredWords } from '../../chat/setup.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env, Io, Out } from '../../core/io.ts';
import type { Session, SessionSetup, SessionStore } from '../../core/session.ts';
import { chooseShell } from '../../platform/process/shell-choice.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { systemTerminal } from '../../platform/terminal/input.ts';
import { isAttended } from '../../platform/terminal/io.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';
import { type AssistantOptions, openAssistant } from './assistant.ts';

export interface ChatOptions extends AssistantOptions, SessionOptions {
  readonly args: readonly string[];
  readonly prompt?: string;
  readonly file?: readonly string[];
  readonly demo?: boolean;
  readonly plain?: boolean;
}

const MODES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

/** Runs a chat until the user leaves; returns its exit code. Throws AppError if it cannot start. */
export async function run(options: ChatOptions, app: App): Promise<number> {
  checkUsage(options);
  const isPlain = (options.plain ?? false) || app.env.TERM === 'dumb';
  const io = isPlain ? plainIo(app.io) : app.io;
  const undo = undoStoreOf(app);
  const turns = turnJournal(undo);
  const workspace = await openOwnWorkspace(options, app, turns.open);
  let chat: Chat | undefined;
  const lines = openLines(
    { app, io, isPlain },
    completion(() => chat),
  );
  const { version, env, cwd, clock, signal } = app;
  for (const path of options.file ?? []) await checkFile(path, cwd);
  const reports: string[] = [];
  const onNotice = (words: string): void => void reports.push(words);
  if (options.noMcp && options.allowedMcpServerNames !== undefined) {
    onNotice('--allowed-mcp-server-names has no effect with --no-mcp');
  }
  const store = openStore(app, onNotice, 'chat');
  const kept = await openSession(options, app, store);
  const { chosen, words } = chosenBefore(options, kept.session.setup, env);
  const around = { app: { ...app, io }, lend: lines.lend, workspace, onNotice };
  const opening = openAssistant({ ...options, ...chosen }, around);
  const assistant = await opening.catch(async (thrown) => {
    await kept.session.close();
    throw thrown;
  });
  reports.unshift(...assistant.notices, ...(words === undefined ? [] : [words]));
  try {
    chat = openChat({
      ...{ version, env, homes: app.homes, cwd, clock, signal, io, isPlain, lines, assistant, store, ...kept },
      isQuiet: options.quiet ?? false,
      // Only the command line can choose `yolo`; a chat started with it can switch back to it.
      modes: assistant.setup.mode === 'yolo' ? [...MODES, 'yolo'] : MODES,
      takeReports: () => reports.splice(0),
      changes: sessionChanges(undo, { ...turns, workspace, cwd: workspace.roots[0] ?? cwd }),
      shell: chooseShell(options.shell, env),
      resumeFlags: options.demo ? '--demo ' : '',
      files: [...(options.file ?? [])],
    });
    const first = options.prompt ?? (options.args.length > 0 ? options.args.join(' ') : undefined);
    const exitCode = await runChat(chat, first);
    if (chat.isSaved && !signal.aborted) await tidySessions(app);
    return exitCode;
  } finally {
    await assistant.close();
  }
}

function checkUsage(options: ChatOptions): void {
  if (options.prompt !== undefined && options.args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', { hint: 'Use one of them.' });
  }
  if (options.noMcp && options.mcpConfig !== undefined) {
    throw new AppError('usage', '--mcp-config cannot be combined with --no-mcp', { hint: 'Use one of them.' });
  }
  checkSessionFlags(options);
}

type Kept = { readonly session: Session; readonly isSaved: boolean };

/**
 * The continued session, a new one, or one that is not saved. With the demo model a session is saved only if a flag
 * names it.
 */
async function openSession(options: ChatOptions, { cwd, homes }: App, store: SessionStore): Promise<Kept> {
  const { resume, sessionName: name, sessionId: id } = options;
  if (resume !== undefined || options.continue) {
    const summary = resume === undefined ? await store.newestIn(cwd) : await store.find(resume);
    const session = options.fork
      ? await store.fork(summary, { cwd, ...(name === undefined ? {} : { name }) })
      : await store.resume(summary, cwd);
    return options.noSession ? forgotten(session) : { session, isSaved: true };
  }
  const isNamed = name !== undefined || id !== undefined;
  const isForgotten = options.noSession || options.demo || homes().isMissing;
  if (isForgotten && !isNamed) return { session: memorySession(randomId()), isSaved: false };
  const given = { ...(name === undefined ? {} : { name }), ...(id === undefined ? {} : { id }) };
  return { session: await store.create({ cwd, by: 'chat', ...given }), isSaved: true };
}

/** The model and system instruction of the session, unless a flag overrides them, with a notice about them. */
function chosenBefore({ model, system }: ChatOptions, before: SessionSetup, env: Env) {
  // GMN_MODEL is general; the choice made in the session is more specific and wins.
  const isFlag = model !== undefined && model !== env.GMN_MODEL;
  const chosen = {
    ...(isFlag || before.model === undefined ? {} : { model: before.model }),
    ...(system !== undefined || before.system === undefined ? {} : { system: before.system }),
  };
  return { chosen, words: restoredWords(chosen) };
}

/** Continues from a session without adding to it. */
async function forgotten(saved: Session): Promise<Kept> {
  await saved.close();
  const session = memorySession(randomId(), saved.setup);
  await session.replace(saved.contents);
  return { session, isSaved: false };
}

/** The line editor if interactive, else the lines of stdin. */
function openLines({ app, io, isPlain }: Place, complete: Complete): LineSource {
  const { clock, env, signal, homes } = app;
  if (!isAttended()) return pipedLines(systemStdin().read(signal));
  return terminalLines({
    terminal: systemTerminal(),
    err: io.err,
    clock,
    env: isPlain ? { ...env, TERM: 'dumb' } : env,
    signal,
    history: entryHistory(`${homes().gmn}/history`, { clock, signal }),
    complete,
  });
}

interface Place {
  readonly app: App;
  readonly io: Io;
  readonly isPlain: boolean;
}

function plainIo({ out, err }: Io): Io {
  return { out: plainOut(out), err: plainOut(err) };
}

function plainOut(out: Out): Out {
  return {
    write: (chunk) => out.write(chunk),
    get isTerminal() {
      return out.isTerminal;
    },
    get columns() {
      return out.columns;
    },
    isStyled: false,
  };
}
