import { basename, dirname, join, resolve } from 'node:path';
import { formatTable, type PrintOptions, printReport, type WordOptions } from '../../app/report.ts';
import { toSessionJson, toSessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { SavedRecord } from '../../core/session.ts';
import { decodeText } from '../../core/text/decode.ts';
import { formatAge } from '../../core/text/format.ts';
import { isNewestWord, shortenId } from '../../core/text/names.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { openStore } from '../../engine/session/sessions.ts';
import { readBytesIfAny, readDirectory } from '../../platform/files/read.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { findIdProblem } from '../../session/find.ts';
import { type OfficialSession, tryParseOfficial } from '../../session/official.ts';
import type { LocalSession } from '../../session/open-session.ts';
import type { LocalStore } from '../../session/store.ts';
import { requireReference } from './show.ts';

const MAX_BYTES = 256_000_000;
const LIST_HINT = { hint: 'Run: gmn sessions list --gemini' } as const;

interface FoundSession {
  readonly session: OfficialSession;
  readonly cwd: string | undefined;
}

/**
 * Copies a session of the official CLI, given by file, id, start of the id, or `latest`; changes nothing there. A
 * session copied before is extended with the new records. Throws AppError `usage` if there is none, if it has no new
 * records, if the copy was continued separately, or while the copy is open elsewhere.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const notices: string[] = [];
  const { session, cwd } = await findOfficial(requireReference(options, 'import'), app, notices);
  const failures: string[] = [];
  const store = openStore(app, (message) => void failures.push(message));
  const earlier = await findEarlierCopy(session, store);
  const copy = await (earlier?.open() ??
    store.create({
      cwd: cwd ?? app.cwd,
      by: 'chat',
      at: session.startedAt,
      id: findIdProblem(toSessionsDirectory(app), session.id) === undefined ? session.id : undefined,
    }));
  await copy.appendAll(session.records.slice(earlier?.length ?? 0));
  // Its retention starts now, however old the original is.
  await copy.touch();
  await copy.close();
  if (!copy.isSaved)
    throw new AppError('config', failures[0] ?? 'it could not be saved', { hint: 'Run: gmn sessions path' });
  const summary = await store.find(copy.id);
  const done = earlier === undefined ? 'copied as' : 'added what is new to';
  const text = `${done} ${shortenId(copy.id)}; to continue it: gmn -r ${shortenId(copy.id)} "…"\n`;
  return printReport({ text, json: { session: toSessionJson(summary) }, notices }, options, app);
}

async function findEarlierCopy(session: OfficialSession, store: LocalStore) {
  const summary = (await store.list()).find(({ id }) => id.toLowerCase() === session.id.toLowerCase());
  if (summary === undefined) return undefined;
  const { records } = await store.read(summary);
  const encodeContent = ({ content }: SavedRecord): string => JSON.stringify(content);
  const isSame = records.every((record, index) => {
    const original = session.records[index];
    return original !== undefined && encodeContent(original) === encodeContent(record);
  });
  if (!isSame || records.length === session.records.length) return undefined;
  return {
    length: records.length,
    async open(): Promise<LocalSession> {
      const copy = await store.resume(summary, summary.cwd);
      if (copy.id === summary.id) return copy;
      await copy.close();
      throw new AppError('usage', `the session ${shortenId(summary.id)} is open elsewhere`, {
        hint: 'Close it there first.',
      });
    },
  };
}

export async function listOfficial(options: PrintOptions, app: App): Promise<number> {
  const skipped: string[] = [];
  const found = await readOfficialSessions(app, skipped);
  const rows = found.map(({ session: { id, title, startedAt }, cwd }) => [
    sanitize(shortenId(id)),
    sanitize(`"${title}"`),
    formatAge(startedAt, app.clock.now()),
    sanitize(cwd === undefined ? '' : shortenPath(cwd, app.env.HOME)),
  ]);
  const json = found.map(({ session: { id, title, startedAt }, cwd }) => ({
    id,
    title,
    startedAt: new Date(startedAt).toISOString(),
    cwd,
  }));
  const text = rows.length === 0 ? '' : formatTable([['ID', 'TITLE', 'STARTED', 'DIRECTORY'], ...rows]);
  const none = rows.length === 0 && !options.json ? ['the official CLI has no sessions here'] : [];
  return printReport({ text, json: { sessions: json }, notices: [...skipped, ...none] }, options, app);
}

async function findOfficial(reference: string, app: App, notices: string[]): Promise<FoundSession> {
  const file = await readSessionFile(resolve(app.cwd, reference));
  if (file !== undefined) {
    const session = tryParseOfficial(file);
    if (session !== undefined) return { session, cwd: await findDirectory(resolve(app.cwd, reference), session, app) };
    throw new AppError('usage', `${reference} is not a session of the official CLI`, LIST_HINT);
  }
  const all = await readOfficialSessions(app, notices);
  const isLatest = isNewestWord(reference);
  const [found, ...others] = isLatest
    ? all.filter(({ cwd }) => cwd === app.cwd)
    : all.filter(({ session: { id } }) => id.toLowerCase().startsWith(reference.toLowerCase()));
  if (found === undefined) {
    throw new AppError('usage', `the official CLI has no session "${sanitize(reference)}" here`, LIST_HINT);
  }
  // A session may have several files; the newest is used.
  const ids = new Set([found, ...others].map(({ session }) => session.id));
  if (isLatest || ids.size === 1) return found;
  const some = [...ids].slice(0, 5).map(sanitize).join(', ');
  throw new AppError('usage', `"${sanitize(reference)}" could be ${ids.size} sessions: ${some}`, LIST_HINT);
}

/** A project's folder is two levels above its session files. */
async function findDirectory(file: string, session: OfficialSession, app: App): Promise<string | undefined> {
  const { gemini: home } = app.homes();
  const root = join(home, 'tmp');
  const read = (path: string): Promise<string | undefined> => readSessionFile(path).catch(() => undefined);
  const findProject = await readOfficialProjects({ home, folders: await listEntries(root), cwd: app.cwd, read });
  const folder = dirname(dirname(file));
  return findProject(dirname(folder) === root ? basename(folder) : '', session.projectHash);
}

/** Newest first. Skips unreadable files with a notice. */
async function readOfficialSessions(app: App, notices: string[]): Promise<readonly FoundSession[]> {
  const root = join(app.homes().gemini, 'tmp');
  const found: FoundSession[] = [];
  const tryRead = async (path: string): Promise<string | undefined> =>
    readSessionFile(path).catch(
      (thrown: unknown) => void notices.push(`skipped: ${sanitize(AppError.from(thrown).message)}`),
    );
  const folders = await listEntries(root);
  const findProject = await readOfficialProjects({ home: app.homes().gemini, folders, cwd: app.cwd, read: tryRead });
  for (const project of folders) {
    const chats = join(root, project, 'chats');
    for (const name of await listEntries(chats)) {
      if (!/^session-.*\.jsonl?$/.test(name)) continue;
      const session = tryParseOfficial((await tryRead(join(chats, name))) ?? '');
      if (session !== undefined) found.push({ session, cwd: findProject(project, session.projectHash) });
    }
  }
  return found.sort((left, right) => right.session.startedAt - left.session.startedAt);
}

async function listEntries(directory: string): Promise<readonly string[]> {
  return readDirectory(directory).then(
    (entries) => entries.map(({ name }) => name),
    () => [],
  );
}

async function readSessionFile(path: string): Promise<string | undefined> {
  const tooLarge = (): AppError => new AppError('usage', `${path} is too large`, LIST_HINT);
  const bytes = await readBytesIfAny(path, { maxBytes: MAX_BYTES, tooLarge });
  const decoded = bytes === undefined ? undefined : decodeText(bytes);
  return decoded?.isText ? decoded.text : undefined;
}

interface OfficialFiles {
  readonly home: string;
  readonly folders: readonly string[];
  readonly cwd: string;
  readonly read: (path: string) => Promise<string | undefined>;
}

type FindProject = (folder: string, projectHash: string | undefined) => string | undefined;

/**
 * Reads which directories the official CLI knows: a folder may name its directory, `projects.json` maps directories to
 * folders, and older folders and all sessions have a hash of one of these directories or of `cwd`.
 */
async function readOfficialProjects({ home, folders, cwd, read }: OfficialFiles): Promise<FindProject> {
  const byFolder = parseProjects((await read(join(home, 'projects.json'))) ?? '');
  for (const folder of folders) {
    const owner = (await read(join(home, 'tmp', folder, '.project_root')))?.trim();
    if (owner) byFolder.set(folder, owner);
  }
  const byHash = new Map([cwd, ...byFolder.values()].map((directory) => [sha256(directory), directory]));
  return (folder, projectHash = '') => byFolder.get(folder) ?? byHash.get(folder) ?? byHash.get(projectHash);
}

function parseProjects(text: string): Map<string, string> {
  const value = tryParseJson(text);
  const projects = isObject(value) && isObject(value.projects) ? value.projects : {};
  return new Map(
    Object.entries(projects).flatMap(([directory, slug]) => (typeof slug === 'string' ? [[slug, directory]] : [])),
  );
}
