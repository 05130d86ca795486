import { printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { requireServer } from '../../engine/tools/servers/session.ts';
import { signOut } from '../../mcp/client/sign-in.ts';
import type { InspectOptions } from './listing.ts';

export async function run(options: InspectOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp logout');
  const { server, notices } = await requireServer(name, { options, app });
  const wasSignedIn = await signOut(server, app);
  const shown = sanitize(name);
  const text = wasSignedIn ? `Signed out of ${shown}\n` : `There was no sign-in for ${shown}\n`;
  await printReport({ text, json: { name, changed: wasSignedIn }, notices }, options, app);
  return 0;
}
