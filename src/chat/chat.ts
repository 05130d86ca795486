import type { ApprovalMode } from '../approval/policy.ts';
import type { Homes } from '../core/app.ts';
import type { Content } from '../core/content.ts';
import type { AppError } from '../core/error.ts';
import type { Clock, Env, Io, Out } from '../core/io.ts';
import type { Session, SessionStore } from '../core/session.ts';
import { filterTerminal } from '../core/text/terminal.ts';
import { widthOf } from '../core/text/width.ts';
import type { Shell } from '../platform/process/shell-choice.ts';
import { stderr } from '../render/stderr.ts';
import type { Assistant } from './assistant.ts';
import type { Changes } from './changes.ts';
import type { LineSource } from './line/source.ts';
import { type Tally, tally } from './stats.ts';

/** What a chat is made of; `commands/chat.ts` puts it together. */
interface ChatParts {
  readonly version: string;
  readonly io: Io;
  readonly env: Env;
  /** Where gmn and the official CLI keep their state. */
  readonly homes: () => Homes;
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborted by a signal from the system: the chat ends. */
  readonly signal: AbortSignal;
  readonly isQuiet: boolean;
  /** Nothing is laid out, coloured or redrawn. */
  readonly isPlain: boolean;
  readonly lines: LineSource;
  readonly assistant: Assistant;
  /** The approval modes that may be chosen, in the order of Shift+Tab. */
  readonly modes: readonly ApprovalMode[];
  readonly store: SessionStore;
  readonly session: Session;
  /** Whether `session` is kept on disk. */
  readonly isSaved: boolean;
  readonly changes: Changes;
  readonly shell: Shell;
  /** What the parts have had to say since it was asked last. */
  readonly takeReports: () => readonly string[];
  /** What stands after `gmn chat` in the command that goes on with this chat. */
  readonly resumeFlags: string;
  /** Paths that go with the next prompt. */
  readonly files: readonly string[];
}

/** A chat that runs: all that a slash command may look at and change. */
export interface Chat extends ChatParts {
  /** To be asked for anew by everything that begins: `hush` ends it. */
  io: Io;
  session: Session;
  isSaved: boolean;
  files: readonly string[];
  /** Texts that go with the next prompt: what a command printed, what was taken back. */
  notes: readonly string[];
  /** What was asked last, for `/retry`. */
  lastPrompt: Content | undefined;
  readonly tally: Tally;
  /** Shows nothing more of what has begun; what begins from now on is shown. */
  hush(): Promise<void>;
  /** Writes lines to the person; what a terminal would obey is taken out of them. */
  say(text: string): Promise<void>;
  /** Writes rows in two columns, wrapped to the window if there is one. */
  list(rows: readonly Row[]): Promise<void>;
  /** Tells of something that happened by the way; not if it is to be quiet. */
  note(text: string): Promise<void>;
  /** Shows a failure, as it is shown everywhere. */
  fail(error: AppError): Promise<void>;
}

/** Opens the chat; nothing is written yet. */
export function openChat(parts: ChatParts): Chat {
  const { err } = parts.io;
  let voice = voiceOn(parts.io);
  const words = stderr(err, { opening: '' });
  const say = (text: string): Promise<void> => err.write(`${err.isTerminal ? filterTerminal(text) : text}\n`);
  const chat: Chat = {
    ...parts,
    io: voice.io,
    hush: async () => {
      await voice.hush();
      voice = voiceOn(parts.io);
      chat.io = voice.io;
    },
    notes: [],
    lastPrompt: parts.session.unanswered,
    tally: tally(parts.clock),
    say,
    list: (rows) => say(rowLines(rows, err.isTerminal ? err.columns - 1 : Number.POSITIVE_INFINITY).join('\n')),
    note: async (text) => (parts.isQuiet ? undefined : say(text)),
    fail: words.error,
  };
  return chat;
}

/** The streams of something that may be left before it is done. */
interface Voice {
  readonly io: Io;
  /** From now on nothing that is written there is shown; what stood on an unfinished line is ended, or taken away. */
  hush(): Promise<void>;
}

/** The same streams, until they are hushed. */
function voiceOn({ out, err }: Io): Voice {
  let isHushed = false;
  let last = '\n';
  const spoken = (stream: Out): Out => ({
    async write(chunk) {
      if (isHushed) return;
      if (stream.isTerminal && chunk !== '') last = chunk;
      await stream.write(chunk);
    },
    get isTerminal() {
      return stream.isTerminal;
    },
    get columns() {
      return stream.columns;
    },
    get isStyled() {
      return stream.isStyled;
    },
  });
  return {
    io: { out: spoken(out), err: spoken(err) },
    async hush() {
      isHushed = true;
      if (!err.isTerminal || last.endsWith('\n')) return;
      // Only what is drawn again and again, as a spinner is, begins at the edge; it is not worth keeping.
      await err.write(last.startsWith('\r') ? '\r\u001b[K' : '\n');
    },
  };
}

/** A word or two, and what is to be said about it. */
export type Row = readonly [name: string, text: string];

const INDENT = '  ';
/** Beside less room than this, a text stands below its name. */
const MIN_TEXT = 24;

/** Rows as two columns, the texts wrapped at words so that none is wider than `columns`, as far as their words allow. */
export function rowLines(rows: readonly Row[], columns: number): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => widthOf(name)));
  const beside = INDENT.length + nameWidth + INDENT.length;
  const isBelow = columns - beside < MIN_TEXT;
  const margin = isBelow ? INDENT.repeat(3) : ' '.repeat(beside);
  return rows.flatMap(([name, text]) => {
    const lines = wrapped(text, columns - margin.length).map((line) => margin + line);
    if (isBelow) return [INDENT + name, ...lines];
    const [first = '', ...more] = lines;
    const padding = ' '.repeat(nameWidth - widthOf(name));
    return [`${INDENT}${name}${padding}${INDENT}${first.slice(beside)}`.trimEnd(), ...more];
  });
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line.trimEnd());
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
