import { sessionChanges, turnJournal } from '../chat/changes.ts';
import { type Chat, openChat } from '../chat/chat.ts';
import { completion } from '../chat/completion.ts';
import { entryHistory } from '../chat/entry-history.ts';
import type { Complete, LineSource } from '../chat/line-source.ts';
import { runChat } from '../chat/loop.ts';
import { memorySession } from '../chat/memory-session.ts';
import { pipedLines } from '../chat/piped-lines.ts';
import { terminalLines } from '../chat/terminal-lines.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Io, Out } from '../core/io.ts';
import type { Session, SessionStore } from '../core/session.ts';
import { randomId } from '../platform/random-id.ts';
import { chooseShell } from '../platform/shell-choice.ts';
import { systemStdin } from '../platform/stdin.ts';
import { isAttended } from '../platform/terminal.ts';
import { systemTerminal } from '../platform/terminal-input.ts';
import { sessionStore } from '../session/store.ts';
import type { ApprovalMode } from '../tools/policy.ts';
import { type AssistantOptions, openAssistant } from './chat-assistant.ts';
import { openOwnWorkspace, undoStoreOf } from './toolbox.ts';

/** The flags of `gmn chat`. */
export interface ChatOptions extends AssistantOptions {
  readonly args: readonly string[];
  readonly prompt?: string;
  readonly file?: readonly string[];
  readonly resume?: string;
  readonly continue?: boolean;
  readonly sessionName?: string;
  readonly noSession?: boolean;
  readonly plain?: boolean;
}

const MODES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

/** A chat, until the person leaves; returns its exit code. Throws AppError if it cannot begin. */
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
  const assistant = await openAssistant(options, { app: { ...app, io }, lend: lines.lend, workspace });
  const reports = [...assistant.notices];
  const { version, env, cwd, clock, signal } = app;
  try {
    const store = sessionStore({ home: app.homes().gmn, clock, version, report: (words) => void reports.push(words) });
    chat = openChat({
      ...{ version, env, cwd, clock, signal, io, isPlain, lines, assistant, store },
      ...(await openSession(options, app, store)),
      isQuiet: options.quiet ?? false,
      // `yolo` is for the command line alone: only who began with it comes back to it.
      modes: assistant.setup.mode === 'yolo' ? [...MODES, 'yolo'] : MODES,
      takeReports: () => reports.splice(0),
      changes: sessionChanges(undo, { ...turns, workspace, cwd: workspace.roots[0] ?? cwd }),
      shell: chooseShell(options.shell, env),
      resumeFlags: options.demo ? '--demo ' : '',
      files: [...(options.file ?? [])],
    });
    return await runChat(chat, options.prompt ?? (options.args.length > 0 ? options.args.join(' ') : undefined));
  } finally {
    await assistant.close();
  }
}

function checkUsage({ prompt, args, resume, continue: isContinued, noSession, sessionName }: ChatOptions): void {
  const hint = 'Use one of them.';
  if (prompt !== undefined && args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', { hint });
  }
  if (resume !== undefined && isContinued) throw new AppError('usage', '-r cannot be combined with -c', { hint });
  if (noSession && (resume !== undefined || isContinued || sessionName !== undefined)) {
    throw new AppError('usage', '--no-session cannot be combined with -r, -c or --session-name', { hint });
  }
}

/** What is gone on with, a new session, or one that is not kept: the offline model's is kept only if a flag names one. */
async function openSession(
  options: ChatOptions,
  app: App,
  store: SessionStore,
): Promise<{ readonly session: Session; readonly isSaved: boolean }> {
  const { resume, sessionName, continue: isContinued } = options;
  if (resume !== undefined || isContinued) {
    const summary = resume === undefined ? await store.newestIn(app.cwd) : await store.find(resume);
    const session = await store.resume(summary, app.cwd);
    if (sessionName !== undefined) await session.rename(sessionName);
    return { session, isSaved: true };
  }
  const isUnwanted = options.noSession || options.demo;
  if (isUnwanted && sessionName === undefined) return { session: memorySession(randomId()), isSaved: false };
  const name = sessionName === undefined ? {} : { name: sessionName };
  return { session: await store.create({ cwd: app.cwd, by: 'chat', ...name }), isSaved: true };
}

/** The line editor where a person sits, else the lines of stdin. */
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

/** The same streams, never styled. */
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
