import type { ApprovalMode } from '../approval/policy.ts';
import type { Homes } from '../core/app.ts';
import type { MediaPart, StoredContent } from '../core/content.ts';
import type { AppError } from '../core/error.ts';
import { type Clock, type Env, type Io, type Out, wrapOut } from '../core/io.ts';
import type { Session, SessionStore } from '../core/session.ts';
import { stripControls } from '../core/text/terminal.ts';
import { measureWidth, wrapText } from '../core/text/width.ts';
import type { AnswerFiles } from '../engine/answer-files.ts';
import type { Run } from '../engine/run.ts';
import type { Shell } from '../platform/process/shell-choice.ts';
import { styleDiff } from '../render/lazy.ts';
import type { RenderOptions } from '../render/renderer.ts';
import { createStderr } from '../render/stderr.ts';
import type { Changes } from './changes.ts';
import type { CustomCommands } from './custom-commands.ts';
import type { LineSource } from './line/source.ts';
import type { Notifier } from './notifier.ts';
import type { Reports } from './reports.ts';
import type { Spending } from './spending.ts';
import { type ChatStats, createStats } from './stats.ts';
import { createToolLog, type ToolLog } from './tool-log.ts';

interface ChatParts {
  readonly version: string;
  readonly io: Io;
  readonly env: Env;
  readonly homes: () => Homes;
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborted by a signal from the system; ends the chat. */
  readonly signal: AbortSignal;
  readonly isQuiet: boolean;
  readonly isPlain: boolean;
  readonly lines: LineSource;
  /** Who answers. */
  readonly run: Run;
  readonly customCommands: CustomCommands;
  /** Saves the files of an answer to `prompt`. */
  readonly openFiles: (prompt: string) => Promise<AnswerFiles>;
  readonly findPictures: NonNullable<RenderOptions['findPictures']>;
  /** The approval modes that the user may choose, in the order of Shift+Tab. */
  readonly modes: readonly ApprovalMode[];
  readonly store: SessionStore;
  readonly session: Session;
  readonly isSaved: boolean;
  readonly changes: Changes;
  readonly shell: Shell;
  readonly notifier: Notifier;
  readonly spending: Spending;
  readonly reports: Reports;
  /** Flags to put after `gmn chat` in the command that resumes this chat. */
  readonly resumeFlags: string;
  readonly files: readonly string[];
}

export interface Picture {
  readonly name: string;
  /** `shot.png (PNG, 640x480, 12.0 kB)`, for the terminal. */
  readonly label: string;
  readonly part: MediaPart;
}

export interface Chat extends ChatParts {
  /** Read this anew for each piece of work, do not keep it: `silence` replaces it. */
  io: Io;
  session: Session;
  isSaved: boolean;
  files: readonly string[];
  /** Texts to send with the next prompt: the output of commands, notes about undone changes. */
  notes: readonly string[];
  pictures: readonly Picture[];
  lastPrompt: StoredContent | undefined;
  verify: string | undefined;
  readonly stats: ChatStats;
  readonly toolLog: ToolLog;
  /** The width of lines for the user; infinite if stderr is not a terminal. */
  readonly columns: number;
  /** Silences all work that has already started; work that starts later is shown again. */
  silence(): Promise<void>;
  /** Writes lines for the user, without control sequences if stderr is a terminal. */
  say(text: string): Promise<void>;
  /** The same for a diff, in colours if stderr has them. */
  sayDiff(diff: string): Promise<void>;
  list(rows: readonly ListRow[]): Promise<void>;
  /** Writes a notice, wrapped at words; nothing with `--quiet`. */
  showNotice(text: string): Promise<void>;
  /** Shows what the run has said since the last time. */
  showReports(): Promise<void>;
  fail(error: AppError): Promise<void>;
}

export function openChat(parts: ChatParts): Chat {
  const { err } = parts.io;
  let output = makeSilenceable(parts.io);
  const stderr = createStderr(err, { opening: '' });
  const say = (text: string): Promise<void> => err.write(`${err.isTerminal ? stripControls(text) : text}\n`);
  const chat: Chat = {
    ...parts,
    io: output.io,
    silence: async () => {
      await output.silence();
      output = makeSilenceable(parts.io);
      chat.io = output.io;
    },
    notes: [],
    pictures: [],
    lastPrompt: parts.session.unanswered,
    verify: undefined,
    stats: createStats(parts.clock, parts.spending),
    toolLog: createToolLog(),
    get columns() {
      return err.isTerminal ? err.columns - 1 : Number.POSITIVE_INFINITY;
    },
    say,
    sayDiff: async (diff) => (err.isStyled ? err.write(`${await styleDiff(stripControls(diff))}\n`) : say(diff)),
    list: (rows) => say(formatListRows(rows, chat.columns).join('\n')),
    showNotice: async (text) => (parts.isQuiet ? undefined : say(wrapText(text, chat.columns))),
    showReports: async () => {
      for (const message of parts.reports.take()) await chat.showNotice(message);
    },
    fail: stderr.error,
  };
  return chat;
}

interface SilenceableIo {
  readonly io: Io;
  silence(): Promise<void>;
}

function makeSilenceable({ out, err }: Io): SilenceableIo {
  let isSilenced = false;
  let last = '\n';
  const makeStream = (stream: Out): Out =>
    wrapOut(stream, {
      async write(chunk) {
        if (isSilenced) return;
        if (stream.isTerminal && chunk !== '') last = chunk;
        await stream.write(chunk);
      },
    });
  return {
    io: { out: makeStream(out), err: makeStream(err) },
    async silence() {
      for (const spinner of err.spinners ?? []) await spinner.hide();
      isSilenced = true;
      if (!err.isTerminal || last.endsWith('\n')) return;
      // Only text that redraws itself, such as a spinner, starts with a carriage return; erase it.
      await err.write(last.startsWith('\r') ? '\r\u001b[K' : '\n');
    },
  };
}

export type ListRow = readonly [name: string, text: string];

const INDENT = '  ';
/** With fewer columns than this left for the text, it goes below its name. */
const MIN_TEXT = 24;

/** Rows as two columns, wrapped at words. A line is wider than `columns` only if a single word is. */
export function formatListRows(rows: readonly ListRow[], columns: number): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => measureWidth(name)));
  const beside = INDENT.length + nameWidth + INDENT.length;
  const isBelow = columns - beside < MIN_TEXT;
  const margin = isBelow ? INDENT.repeat(3) : ' '.repeat(beside);
  return rows.flatMap(([name, text]) => {
    const lines = wrapWords(text, columns - margin.length).map((line) => margin + line);
    if (isBelow) return [INDENT + name, ...lines];
    const [first = '', ...more] = lines;
    const padding = ' '.repeat(nameWidth - measureWidth(name));
    return [`${INDENT}${name}${padding}${INDENT}${first.slice(beside)}`.trimEnd(), ...more];
  });
}

/** Rows of at most so many columns, broken between words; a single word that is too wide is not broken. */
export function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && measureWidth(line) + 1 + measureWidth(word) > width) {
      lines.push(line.trimEnd());
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
