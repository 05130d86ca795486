import { printReport, type WordOptions } from '../../app/report.ts';
import { toSessionJson } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { shortenId } from '../../core/text/names.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import { openStore } from '../../engine/session/sessions.ts';

export async function run(options: WordOptions, app: App): Promise<number> {
  const [reference, ...words] = options.args;
  if (reference === undefined || words.length === 0) {
    throw new AppError('usage', 'sessions rename takes a session and a name', {
      hint: 'Example: gmn sessions rename last trip',
    });
  }
  const store = openStore(app, () => {});
  const found = await store.findNamed(reference, app.cwd);
  await store.rename(found, await createLazyRedaction(app).redact(words.join(' ')));
  const renamed = await store.find(found.id);
  const text = `${shortenId(found.id)} is now ${renamed.name}\n`;
  return printReport({ text, json: { session: toSessionJson(renamed) } }, options, app);
}
