import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SessionSummary } from '../../core/session.ts';
import { isNewestWord, isUuid } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Host } from './host.ts';

/** The session of this full id, or the newest visible one. Throws as `requireSession` does. */
export function requireReplySession(
  host: Host,
  reference: string | undefined,
  cwd: string | undefined,
): Promise<SessionSummary> {
  return reference === undefined || isNewestWord(reference)
    ? requireNewestForCaller(host, cwd)
    : requireSession(host, reference);
}

/**
 * Takes a full id only: a host's own "1" or name must not lead into a stranger's conversation. Throws AppError
 * `SESSION_NOT_FOUND`, with the same message whether there is none or it began outside the roots: this caller must
 * learn nothing about other projects, not even session ids.
 */
async function requireSession(host: Host, reference: string): Promise<SessionSummary> {
  const { sessions } = await host.engine();
  const id = reference.trim().toLowerCase();
  const found = isUuid(id) ? sessions.find(id) : Promise.resolve(undefined);
  return requireVisible(host, found, `there is no session "${sanitize(reference.slice(0, 80))}" here`);
}

interface SessionTarget {
  readonly earlier?: SessionSummary;
  readonly name?: string;
}

/**
 * The session of this full id; or of this plain name, under which one begins if there is none. A name leads only to a
 * session that agents alone have used, since it may be a person's word by chance. Throws as `requireSession` does, and
 * AppError `usage` for a name that is in use elsewhere.
 */
export async function resolveSession(host: Host, reference: string): Promise<SessionTarget> {
  const name = reference.trim();
  if (!isPlainSessionName(name)) return { earlier: await requireSession(host, reference) };
  const { sessions } = await host.engine();
  const found = (await sessions.list()).find((session) => session.name === name);
  if (found === undefined) return { name };
  if (isVisible(host, found) && found.source === 'mcp') return { earlier: found };
  throw new AppError('usage', `the name "${sanitize(name)}" is in use`, {
    hint: 'Choose another one; or continue a session with its full id, which delegate_sessions lists.',
  });
}

/** Neither a number nor what could be the beginning of an id. */
function isPlainSessionName(name: string): boolean {
  return /^\w[\w.-]{0,63}$/.test(name) && !/^(?:\d+|[\da-f-]{8,})$/i.test(name) && !isNewestWord(name);
}

/** The session this server continued last, else the newest of the directory. Throws as `requireSession` does. */
async function requireNewestForCaller(host: Host, cwd: string | undefined): Promise<SessionSummary> {
  const { sessions } = await host.engine();
  const { sessionId } = host.latest;
  const directory = host.roots.requireDirectory(cwd) ?? host.startDirectory;
  const found = sessionId === undefined ? sessions.newestIn(directory) : sessions.find(sessionId);
  return requireVisible(host, found, 'there is no session of this directory to continue');
}

export async function listVisibleSessions(host: Host): Promise<readonly SessionSummary[]> {
  const { sessions } = await host.engine();
  return (await sessions.list()).filter((summary) => isVisible(host, summary));
}

/** The requested directory, else that of the session, else the first root. Throws as `Roots` do. */
export function resolveDirectory(
  { roots }: Host,
  name: string | undefined,
  earlier: SessionSummary | undefined,
): string | undefined {
  if (name === undefined && earlier !== undefined && roots.has(earlier.cwd)) return roots.requireDirectory(earlier.cwd);
  return roots.requireDirectory(name);
}

export function toPublicSession(summary: SessionSummary): JsonObject & {
  readonly session_id: string;
  readonly last_accessed: string;
  readonly name?: string;
} {
  const { id, name, createdAt, updatedAt, turns, cwd, model } = summary;
  return {
    session_id: id,
    name,
    created_at: new Date(createdAt).toISOString(),
    last_accessed: new Date(updatedAt).toISOString(),
    turn_count: turns,
    working_directory: cwd,
    model,
  };
}

async function requireVisible(
  host: Host,
  found: Promise<SessionSummary | undefined>,
  message: string,
): Promise<SessionSummary> {
  const summary = await found.catch((thrown: unknown) => {
    if (thrown instanceof AppError && thrown.fault === 'usage') return undefined;
    throw thrown;
  });
  if (summary !== undefined && isVisible(host, summary)) return summary;
  throw new AppError('usage', message, {
    code: 'SESSION_NOT_FOUND',
    hint: 'Give the full id. The resource gmn://sessions lists those started inside the roots. Whoever runs the server can add one: --root <dir>',
  });
}

function isVisible({ roots, ownSessions }: Host, { id, cwd }: SessionSummary): boolean {
  return roots.has(cwd) || ownSessions.has(id);
}
