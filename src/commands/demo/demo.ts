import { join } from 'node:path';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { wrapText } from '../../core/text/width.ts';
import { startDemo } from '../../demo/server.ts';
import { runTour, TOUR_FILES, type TourChoice } from '../../demo/tour.ts';
import { createScratchDirectory, runSelf } from '../../platform/process/self.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { CONTINUED, INTERRUPT, openTty } from '../../platform/terminal/tty.ts';

/**
 * The guided tour: real commands with the demo model, in a temporary directory that is removed afterwards. On a
 * terminal every step can be run, skipped or be the last, and the commands have the terminal. Returns 0.
 */
export async function run(_options: object, app: App): Promise<number> {
  const scratch = await createScratchDirectory('gmn-tour-', TOUR_FILES);
  const hasPerson = app.io.out.isTerminal && isInteractive();
  const guard = await startDemo({ clock: app.clock });
  try {
    await runTour({
      directory: scratch.path,
      env: createTourEnv(app.env, scratch.path, guard.url),
      print: (text) => app.io.out.write(hasPerson ? wrapText(text, app.io.out.columns) : text),
      runGmn: (command) => runSelf({ ...command, isAttached: hasPerson }, app.signal),
      ask: hasPerson ? (canTry) => askForChoice(canTry, app) : undefined,
    });
    return 0;
  } finally {
    await guard.close();
    await scratch.remove();
  }
}

const CHOICES: ReadonlyMap<string, TourChoice> = new Map([
  ['\r', 'run'],
  ['\n', 'run'],
  [' ', 'run'],
  ['s', 'skip'],
  ['q', 'quit'],
]);

/** Throws AppError `interrupted` at Ctrl+C. */
async function askForChoice(canTry: boolean, { io, signal }: App): Promise<TourChoice> {
  const tty = openTty();
  if (tty === undefined) return 'run';
  const choices = canTry ? new Map([...CHOICES, ['t', 'try'] as const]) : CHOICES;
  const question = `[Enter] run it  ${canTry ? '[t]ry it yourself  ' : ''}[s]kip  [q]uit › `;
  try {
    for (;;) {
      const key = await tty.key(choices, () => io.err.write(question), signal);
      await io.err.write('\n');
      if (key === INTERRUPT) throw signal.reason ?? new AppError('interrupted', 'Interrupted.');
      if (key !== CONTINUED) return choices.get(key) ?? 'run';
    }
  } finally {
    tty.close();
  }
}

/**
 * The tour must look the same for everyone: no credential, setting or proxy of the user's. A login may also be in the
 * system's keychain, so every endpoint points to the demo server and nothing can go online.
 */
function createTourEnv(env: Env, directory: string, url: string): Env {
  const personal = /^(GMN_|GEMINI_|GOOGLE_|CODE_ASSIST_|CLOUD_SHELL$|HTTPS?_PROXY$|ALL_PROXY$)/i;
  const kept = Object.entries(env).filter(([name]) => !personal.test(name));
  return {
    ...Object.fromEntries(kept),
    GMN_HOME: join(directory, '.gmn'),
    GEMINI_CLI_HOME: directory,
    GOOGLE_GEMINI_BASE_URL: url,
    GOOGLE_VERTEX_BASE_URL: url,
    CODE_ASSIST_ENDPOINT: url,
    GMN_OAUTH_TOKEN_URL: `${url}/token`,
  };
}
