import type { App } from '../core/app.ts';
import type { AppError } from '../core/error.ts';
import { type NoticeEvent, type Notify, toNoticeEvent } from '../core/event.ts';
import { type Io, type Out, wrapOut } from '../core/io.ts';
import { stripControls } from '../core/text/terminal.ts';
import { wrapText } from '../core/text/width.ts';
import { styleDiff } from '../render/lazy.ts';
import type { PictureChoice } from '../render/picture.ts';
import type { RenderOptions } from '../render/renderer.ts';
import { createStderr } from '../render/stderr.ts';
import { createNotifier, type Notifier } from './notifier.ts';
import { formatListRows, type ListRow } from './rows.ts';

/** What is shown: answers on stdout, everything else on stderr. */
export interface View extends Reports {
  /** Read this anew for each piece of work, do not keep it: `silence` replaces it. */
  readonly io: Io;
  /** Nothing is redrawn or laid out. */
  readonly isPlain: boolean;
  readonly isQuiet: boolean;
  /** The width of lines for the user; infinite if stderr is not a terminal. */
  readonly columns: number;
  readonly notifier: Notifier;
  readonly findPictures: NonNullable<RenderOptions['findPictures']>;
  /** Writes lines for the user; if stderr is a terminal, without control sequences and broken between words. */
  say(text: string): Promise<void>;
  /** The same for text that is not gmn's own, whose lines stay as they are. */
  sayVerbatim(text: string): Promise<void>;
  /** The same for a diff, in colours if stderr has them. */
  sayDiff(diff: string): Promise<void>;
  list(rows: readonly ListRow[]): Promise<void>;
  /** The same for a notice; nothing with `--quiet`. */
  showNotice(text: string): Promise<void>;
  fail(error: AppError): Promise<void>;
  /** Silences all work that has already started; work that starts later is shown again. */
  silence(): Promise<void>;
}

/** What the run says: shown with the events of a turn while there is one, else kept until the chat shows it. */
interface Reports {
  readonly notify: Notify;
  /** Shows what was kept. */
  showReports(): Promise<void>;
  /** Shows what is said while `work` runs. */
  showWith<Result>(show: ShowNotice, work: () => Promise<Result>): Promise<Result>;
}

type ShowNotice = (event: NoticeEvent) => Promise<void>;

interface ViewOptions {
  readonly isPlain: boolean;
  readonly isQuiet: boolean;
  readonly pictures?: PictureChoice;
  /** `general.enableNotifications` */
  readonly isNotifying: boolean | undefined;
}

export function createView({ io, env, clock }: App, options: ViewOptions): View {
  const { isPlain, isQuiet, pictures, isNotifying } = options;
  const { err } = io;
  let output = makeSilenceable(io);
  const clean = (text: string): string => (err.isTerminal ? stripControls(text) : text);
  const say = (text: string): Promise<void> => err.write(`${wrapText(clean(text), view.columns)}\n`);
  const showNotice = async (text: string): Promise<void> => (isQuiet ? undefined : say(text));
  const { forgetShown, ...reports } = createReports(showNotice);
  const view: View = {
    get io() {
      return output.io;
    },
    isPlain,
    isQuiet,
    get columns() {
      return err.isTerminal ? err.columns - 1 : Number.POSITIVE_INFINITY;
    },
    notifier: createNotifier({ err, env, clock, isPlain, isEnabled: isNotifying }),
    findPictures: async () => (await import('../render/picture.ts')).choosePictures(pictures, env),
    say,
    sayVerbatim: (text) => err.write(`${clean(text)}\n`),
    sayDiff: async (diff) => err.write(`${err.isStyled ? await styleDiff(clean(diff)) : clean(diff)}\n`),
    list: (rows) => say(formatListRows(rows, view.columns).join('\n')),
    showNotice,
    fail: createStderr(err, { opening: '' }).error,
    async silence() {
      // A turn that was left may go on for a while: nothing is shown with its events any more.
      forgetShown();
      await output.silence();
      output = makeSilenceable(io);
    },
    ...reports,
  };
  return view;
}

function createReports(showNotice: (text: string) => Promise<void>): Reports & { forgetShown(): void } {
  const kept: string[] = [];
  let shown: ShowNotice | undefined;
  return {
    notify(notice) {
      const event = toNoticeEvent(notice);
      // In a chat the line of the call says that it was denied.
      if (event.type === 'notice' && event.isDenial) return;
      if (shown !== undefined) void shown(event).catch(() => {});
      else if (event.type === 'notice' && event.isUrgent) void showNotice(event.message);
      else if (event.type === 'notice') kept.push(event.message);
    },
    async showReports() {
      for (const message of kept.splice(0)) await showNotice(message);
    },
    async showWith(show, work) {
      shown = show;
      try {
        return await work();
      } finally {
        if (shown === show) shown = undefined;
      }
    },
    forgetShown() {
      shown = undefined;
    },
  };
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
