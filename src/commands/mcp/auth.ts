import { type PrintOptions, printReport } from '../../app/report.ts';
import { onlyWords } from '../../app/servers/arguments.ts';
import { callProgress } from '../../app/servers/progress.ts';
import type { RosterOptions } from '../../app/servers/roster.ts';
import { namedServer } from '../../app/servers/session.ts';
import { signInPrompt } from '../../app/servers/sign-in.ts';
import type { App } from '../../core/app.ts';
import { visible } from '../../core/text/terminal.ts';
import { signIn } from '../../mcp/client/sign-in.ts';

interface McpAuthOptions extends PrintOptions, RosterOptions {
  readonly args: readonly string[];
  readonly noBrowser?: boolean;
}

/**
 * Has the person sign in at a server in their browser, unless an earlier sign-in is still valid, and stores it. Throws
 * AppError `usage` for a stdio server, `mcp` for one that is unknown or denies access.
 */
export async function run(options: McpAuthOptions, app: App): Promise<number> {
  const [name = ''] = onlyWords(options.args, 1, 'mcp auth');
  const { server, notices } = await namedServer(name, { options, app });
  const shown = callProgress(name, { quiet: options.quiet === true || options.json === true }, app);
  // Without a terminal no browser is opened: the URL is printed and can be opened by hand.
  const isOpened = !options.noBrowser && app.io.err.isTerminal;
  const prompt = signInPrompt({ isOpened, lend: shown.lend }, app);
  const isSignedIn = await signIn(server, { ...app, signIn: prompt }, app.signal).finally(shown.end);
  const text = isSignedIn ? `Signed in to ${visible(name)}\n` : `${visible(name)} needs no sign-in\n`;
  await printReport({ text, json: { name, signedIn: isSignedIn }, notices }, options, app);
  return 0;
}
