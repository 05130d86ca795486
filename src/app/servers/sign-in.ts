import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { SignInPrompt } from '../../mcp/client/types.ts';
import { openBrowser } from '../../platform/process/run.ts';
import { INTERRUPT, openTty } from '../../platform/terminal/tty.ts';
import type { CallProgress } from './progress.ts';

interface SignInOptions {
  readonly isOpened: boolean;
  readonly pause: CallProgress['pause'];
}

/** Prints the URL in any case, since the browser may be on another machine; then the address where it ended can be pasted. */
export function createSignInPrompt(
  { isOpened, pause }: SignInOptions,
  { env, io, signal }: Pick<App, 'env' | 'io' | 'signal'>,
): SignInPrompt {
  let hasBrowser = false;
  const show = async (url: string): Promise<void> => {
    await io.err.write(`To sign in, open this address:\n${sanitize(url)}\n`);
    hasBrowser = isOpened && !isRemoteShell(env) && (await openBrowser(url, env));
    await io.err.write(hasBrowser ? 'Your browser should open it now. ' : '');
    await io.err.write('Waiting for you to finish there…\n');
    if (!hasBrowser && io.err.isTerminal) await io.err.write(PASTE_HINT);
  };
  const paste: SignInPrompt['paste'] = async ({ isRefused }, waitSignal) => {
    if (hasBrowser || !io.err.isTerminal) return undefined;
    if (isRefused) await io.err.write('That is not the address of this sign-in.\n');
    return askForAddress(waitSignal);
  };
  return {
    signal,
    show: (url) => pause(() => show(url)),
    paste: (last, waitSignal) => pause(async () => paste(last, waitSignal)),
  };
}

const PASTE_HINT =
  'If your browser is on another machine, it ends up at an address that it cannot open: paste that address here.\n';

/** In a remote shell without a display a browser would open unseen, unless BROWSER names one. */
function isRemoteShell({ SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY, BROWSER }: Env): boolean {
  return Boolean(SSH_CONNECTION || SSH_TTY) && !DISPLAY && !WAYLAND_DISPLAY && !BROWSER;
}

async function askForAddress(signal: AbortSignal): Promise<string | undefined> {
  const tty = openTty();
  if (tty === undefined) return undefined;
  try {
    const line = await tty.line('Address: ', signal);
    // Enter alone: wait for the browser only.
    if (signal.aborted || line.trim() === '') return undefined;
    if (line === INTERRUPT) throw new AppError('interrupted', 'Interrupted.');
    return line;
  } finally {
    tty.close();
  }
}
