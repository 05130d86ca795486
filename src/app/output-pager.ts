import type { App } from '../core/app.ts';
import type { Io } from '../core/io.ts';
import { visible } from '../core/text/terminal.ts';
import { pagedText } from '../platform/process/editor.ts';
import { TTY_PATH } from '../platform/terminal/tty.ts';
import { stderr } from '../render/stderr.ts';

/** A stdout that is read page by page, once it is complete. */
export interface PagedIo {
  readonly io: Io;
  /** Shows all that was written in the pager; without one that works, on stdout. */
  show(): Promise<void>;
  /** Shows what was written on stdout, and from now on all that is written. */
  abandon(): Promise<void>;
}

/** Short answers stay on the screen, longer ones scroll; colours are shown. */
const PAGER = 'less -FRX';

/** `GMN_PAGER`, else `PAGER`, names the pager; that it does not work is told unless `isQuiet`. */
export function pagedIo({ io, env, signal }: App, isQuiet: boolean): PagedIo {
  const { out, err } = io;
  const pager = env.GMN_PAGER || env.PAGER || PAGER;
  let text = '';
  let isHeld = true;
  const write = async (chunk: string): Promise<void> => {
    if (!isHeld) return out.write(chunk);
    text += chunk;
  };
  const abandon = async (): Promise<void> => {
    isHeld = false;
    const rest = text;
    text = '';
    if (rest !== '') await out.write(rest);
  };
  return {
    io: { err, out: { write, isTerminal: out.isTerminal, columns: out.columns, isStyled: out.isStyled } },
    abandon,
    async show() {
      if (text === '') return;
      if (await pagedText({ text, pager, env, terminal: TTY_PATH }, signal)) text = '';
      else if (!isQuiet) await stderr(err).notice(`the pager does not work: ${visible(pager)}`);
      await abandon();
    },
  };
}
