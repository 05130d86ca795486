import type { App } from '../core/app.ts';
import { visible } from '../core/visible.ts';
import type { SignInPrompt } from '../mcp/client/context.ts';
import { openBrowser } from '../platform/browser.ts';
import type { CallProgress } from './mcp-progress.ts';

/**
 * Shows on stderr where to sign in, and opens it in the browser unless that is not wanted. An address stays printed in any
 * case: the browser may be on another machine.
 */
export function signInPrompt(
  { isOpened, lend }: { readonly isOpened: boolean; readonly lend: CallProgress['lend'] },
  { env, io, signal }: Pick<App, 'env' | 'io' | 'signal'>,
): SignInPrompt {
  return {
    signal,
    show: (url) =>
      lend(async () => {
        await io.err.write(`To sign in, open this address:\n${visible(url)}\n`);
        const hasBrowser = isOpened && (await openBrowser(url, env));
        await io.err.write(hasBrowser ? 'Your browser is asked to open it. ' : '');
        await io.err.write('Waiting for you to finish there…\n');
      }),
  };
}
