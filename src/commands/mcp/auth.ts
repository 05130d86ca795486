import { printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { createSignInPrompt } from '../../app/servers/sign-in.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { requireServer } from '../../engine/tools/servers/session.ts';
import { signIn } from '../../mcp/client/sign-in.ts';
import type { InspectOptions } from './listing.ts';

interface McpAuthOptions extends InspectOptions {
  readonly noBrowser?: boolean;
}

/** Skips the browser if an earlier sign-in is still valid. */
export async function run(options: McpAuthOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp auth');
  const { server, notices } = await requireServer(name, { options, app });
  const progress = openProgress(name, options, app);
  // Without a terminal the URL is only printed, to be opened by hand.
  const isOpened = !options.noBrowser && app.io.err.isTerminal;
  const prompt = createSignInPrompt({ isOpened, pause: progress.pause }, app);
  const isSignedIn = await signIn(server, { ...app, signIn: prompt }, app.signal).finally(progress.end);
  const text = isSignedIn ? `Signed in to ${sanitize(name)}\n` : `${sanitize(name)} needs no sign-in\n`;
  await printReport({ text, json: { name, signedIn: isSignedIn }, notices }, options, app);
  return 0;
}
