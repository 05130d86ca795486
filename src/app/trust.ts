import type { Answer } from '../approval/keys.ts';
import { createTerminalPerson } from '../approval/person.ts';
import { createTrustCheck } from '../config/context.ts';
import { findContextFiles } from '../config/context-place.ts';
import { type FolderReview, rememberTrust, reviewFolder } from '../config/folder-trust.ts';
import { loadSettings } from '../config/settings.ts';
import type { App } from '../core/app.ts';
import { loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import { formatNotice } from '../core/text/notice.ts';
import { contains } from '../core/text/path.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { findUserHomes } from '../platform/host.ts';

/**
 * Asks the person at the terminal about folders that bring something only a trusted folder may, and that no list has an answer for.
 * Remembers a yes and a no; after Esc the folders are not trusted, and the next chat asks again. Returns the app with the settings
 * that hold now; undefined if the person leaves with Ctrl+C. Throws the signal's reason.
 */
export async function askTrust(app: App): Promise<App | undefined> {
  const folders = await findOpenFolders(app).catch((thrown: unknown) => {
    // What is wrong with a file is said by those who use it.
    if (AppError.from(thrown).fault === 'config') return [];
    throw thrown;
  });
  if (folders.length === 0) return app;
  const answer = await askAboutFolders(folders, app);
  if (answer?.kind === 'stop' && answer.isInterrupt) return undefined;
  if (answer?.kind !== 'yes' && answer?.kind !== 'no') return app;
  const isTrusted = answer.kind === 'yes';
  await rememberTrust(
    folders.map(({ folder, items }) => ({ folder, items: isTrusted ? items : 'refused' })),
    app,
  );
  const said = isTrusted ? folders.flatMap(({ notices }) => notices) : ['not trusted. To change that: gmn trust'];
  for (const notice of said) await app.io.err.write(formatNotice(notice, app.io.err));
  return { ...app, settings: loadOnce(() => loadSettings(app)) };
}

/** Shows what the folders bring, and asks; undefined if there is no terminal. Throws the signal's reason. */
export async function askAboutFolders(folders: readonly FolderReview[], app: App): Promise<Answer | undefined> {
  const withPerson = createTerminalPerson({ env: app.env, err: app.io.err, runPaused: (work) => work() });
  const answer = await withPerson((person) => person.ask(toTrustQuestion(folders), app.signal));
  app.signal.throwIfAborted();
  return answer;
}

/**
 * All that trust would cover, also where only a file above the working directory is used now. Not the home directory and those above
 * it: trust in them is trust in whatever is put there later, so it is given by `gmn trust` alone.
 */
async function findOpenFolders(app: App): Promise<readonly FolderReview[]> {
  const homes = app.homes();
  if (homes.isMissing) return [];
  const place = { ...app, homes, settings: await app.settings() };
  const files = findContextFiles(place).filter(({ scope }) => scope === 'project');
  const decide = createTrustCheck(place);
  const tooBroad = ['/', ...findUserHomes(app.env)];
  const found: FolderReview[] = [];
  for (const path of new Set([...files.map(({ directory }) => directory), app.cwd])) {
    const folder = realPath(path);
    if (folder === undefined || tooBroad.some((home) => contains(folder, home)) || !decide(path).isOpen) continue;
    const review = await reviewFolder(path, app);
    if (review.lines.length > 0) found.push(review);
  }
  return found;
}

function toTrustQuestion(folders: readonly FolderReview[]) {
  const text = [
    ...folders.flatMap(({ folder, lines }) => (folders.length === 1 ? lines : [`${sanitize(folder)}:`, ...lines])),
    'Nothing of this is used unless you trust the folder.',
    'A yes or a no is remembered; gmn trust changes it. Esc: not now.',
  ].join('\n');
  const name = `Trust ${folders.map(({ folder }) => folder).join(' and ')}, and all folders in ${folders.length === 1 ? 'it' : 'them'}?`;
  return { items: [{ name, preview: { kind: 'text', text } as const }], hasFile: false };
}
