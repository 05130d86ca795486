import { type AskProgram, type CallAnswer, createProgramPerson } from '../approval/program.ts';
import { raceWithAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import type { Host } from '../engine/host.ts';
import type * as Public from './gmn.d.ts';

/** Tells the turn that runs, and asks the program; without `ask` there is nobody to ask. */
export function createHost(notify: Notify, ask: AskProgram | undefined): Host {
  return {
    notify,
    withPerson: ask && createProgramPerson(ask),
    async explainDenial({ tool: { name } }) {
      const why = 'it needs an approval, and the program that runs gmn answers no questions';
      return {
        reason: `${name} was not run: ${why}. Continue without it.`,
        advice: `${why}: pass approve, or name it in allowedTools`,
      };
    },
  };
}

/** Asks the `approve` of the options. What that throws ends the turn. */
export function askCallback(approve: Public.Approve, fail: (error: AppError) => void): AskProgram {
  return async (question, signal) => {
    try {
      const { call: id, ...rest } = question;
      return toCallAnswer(await raceWithAbort(Promise.resolve(approve({ id, ...rest, signal })), signal));
    } catch (cause) {
      signal.throwIfAborted();
      const why = cause instanceof Error ? cause.message : String(cause);
      fail(cause instanceof AppError ? cause : new AppError('usage', `approve has failed: ${why}`, { cause }));
      throw cause;
    }
  };
}

/** Throws AppError `usage` for what is no answer: nothing must be approved by mistake. */
export function toCallAnswer(approval: unknown): CallAnswer {
  if (approval === 'once') return { decision: 'yes' };
  if (approval === 'always') return { decision: 'always' };
  if (isObject(approval) && typeof approval.deny === 'string') {
    return { decision: 'no', reason: approval.deny.trim() === '' ? undefined : approval.deny };
  }
  if (isObject(approval) && isObject(approval.args)) return { decision: 'yes', args: approval.args as JsonObject };
  throw new AppError('usage', "an approval is 'once', 'always', { deny: '…' } or { args: {…} }", {
    hint: "To say no: { deny: 'why' }",
  });
}
