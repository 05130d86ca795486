import type { SessionSummary } from '../../../core/session.ts';
import type { Host } from '../host.ts';
import type { JobWork } from '../jobs/runner.ts';
import { directoryFor, earlierSession } from '../sessions.ts';
import type { Call } from '../tool.ts';
import { answerTo } from '../turn.ts';

const BRAINSTORM = 'BRAINSTORMING MODE: Generate creative, diverse ideas for the following:\n\n';

export interface DelegateArguments {
  readonly prompt: string;
  readonly working_directory?: string | undefined;
  readonly model?: string | undefined;
  readonly session_id?: string | undefined;
  readonly brainstorm?: boolean | undefined;
  readonly system_prompt?: string | undefined;
}

export interface DelegatePlace {
  /** Absent: there is no root, and the model has no tools. */
  readonly directory?: string | undefined;
  readonly earlier?: SessionSummary | undefined;
}

/** Where the work is done and what it goes on with. Throws CodedError if that is not for this caller. */
export async function placeOf(args: DelegateArguments, host: Host): Promise<DelegatePlace> {
  const earlier = args.session_id === undefined ? undefined : await earlierSession(host, args.session_id);
  return { directory: directoryFor(host, args.working_directory, earlier), earlier };
}

/** The work of a job: one turn, its text handed on as it comes. */
export function delegatedWork(
  args: DelegateArguments,
  { directory, earlier }: DelegatePlace,
  { host, progress }: Call,
): JobWork['run'] {
  const text = args.brainstorm ? `${BRAINSTORM}${args.prompt}` : args.prompt;
  return async ({ signal, timeoutMs, onText, note }) => {
    let noted = 0;
    const answer = await answerTo(
      await host.engine(),
      {
        prompt: { role: 'user', parts: [{ text }] },
        model: args.model,
        systemText: args.system_prompt,
        directory,
        kept: { kind: 'session', cwd: directory ?? host.startDirectory, earlier },
        onSession: (session_id) => {
          if (session_id !== undefined) host.ownSessions.add(session_id);
          note({ session_id });
        },
        // The job has a limit of its own, and is to be the one that ends it.
        timeoutMs: timeoutMs + 1000,
        signal,
      },
      {
        progress,
        onText,
        onModel: (model_used) => note({ model_used }),
        onRefused: (refused) => {
          if (refused.length > noted) note({ refused: [...refused] });
          noted = refused.length;
        },
      },
    );
    const { model: model_used, sessionId: session_id, notices } = answer;
    return { model_used, session_id, ...(notices.length === 0 ? {} : { notices }) };
  };
}
