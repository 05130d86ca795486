import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SessionSummary } from '../../core/session.ts';
import type { Host } from './host.ts';

/**
 * The session of this id, name or number. Throws AppError `usage` if there is none, or if it was begun outside the roots:
 * what was said in another project is not for this caller.
 */
export async function earlierSession(host: Host, reference: string): Promise<SessionSummary> {
  const { sessions } = await host.engine();
  const summary = await sessions.find(reference);
  if (isVisible(host, summary)) return summary;
  throw new AppError('usage', `session ${summary.id} was begun outside the roots of this server`, {
    hint: 'Whoever runs it can add that directory: gmn mcp serve --root <dir>',
  });
}

/** What this server went on with last, else the newest of the directory. Throws AppError `usage` if there is none. */
export async function newestSession(host: Host, cwd: string | undefined): Promise<SessionSummary> {
  const { sessions } = await host.engine();
  if (host.latest.sessionId !== undefined) return sessions.find(host.latest.sessionId);
  return sessions.newestIn(host.roots.directory(cwd) ?? host.startDirectory);
}

/** The newest first. */
export async function visibleSessions(host: Host): Promise<readonly SessionSummary[]> {
  const { sessions } = await host.engine();
  return (await sessions.list()).filter((summary) => isVisible(host, summary));
}

/** Where a turn works: the directory that was asked for, else that of its session, else the first root. Throws as `Roots` do. */
export function directoryFor(
  { roots }: Host,
  name: string | undefined,
  earlier: SessionSummary | undefined,
): string | undefined {
  if (name === undefined && earlier !== undefined && roots.has(earlier.cwd)) return roots.directory(earlier.cwd);
  return roots.directory(name);
}

/** A session as callers see it. */
export function publishedSession(summary: SessionSummary): JsonObject & {
  readonly session_id: string;
  readonly last_accessed: string;
  readonly name?: string;
} {
  const { id, name, createdAt, updatedAt, turns, cwd, model } = summary;
  return {
    session_id: id,
    ...(name === undefined ? {} : { name }),
    created_at: new Date(createdAt).toISOString(),
    last_accessed: new Date(updatedAt).toISOString(),
    turn_count: turns,
    working_directory: cwd,
    ...(model === undefined ? {} : { model }),
  };
}

function isVisible({ roots, startDirectory, latest }: Host, { id, cwd }: SessionSummary): boolean {
  return roots.has(cwd) || cwd === startDirectory || id === latest.sessionId;
}
