import { publishedSession, visibleSessions } from '../sessions.ts';
import { serverTool } from '../tool.ts';
import { delegateFailure, delegateResult } from './delegate-result.ts';
import { SESSIONS_OUTPUT } from './delegate-schema.ts';

/** The sessions that can be continued here. */
export const delegateSessions = serverTool({
  name: 'delegate_sessions',
  title: 'List sessions',
  description: 'The saved conversations that were begun inside the roots of this server, newest first.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      limit: { type: 'integer', description: 'At most so many.', default: 20, minimum: 1, maximum: 1000 },
    },
  },
  output: SESSIONS_OUTPUT,
  fail: delegateFailure,
  async run({ limit = 20 }, { host }) {
    const all = await visibleSessions(host);
    const sessions = all.slice(0, limit).map(publishedSession);
    const lines = sessions.map(({ session_id, last_accessed, name }) =>
      [session_id, last_accessed, name ?? ''].join('  ').trimEnd(),
    );
    return delegateResult({ sessions, total: all.length }, lines.length === 0 ? 'No sessions.' : lines.join('\n'));
  },
});
