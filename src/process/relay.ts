import type { WithPerson } from '../approval/person.ts';
import { type CallAnswer, type CallQuestion, createProgramPerson, unanswerableError } from '../approval/program.ts';
import type { JsonObject } from '../core/json.ts';
import { onAbort } from '../platform/runtime/abort.ts';
import type { ApproveRequest } from './request.ts';

/** Asks the program at the other end of stdin and stdout in place of a person. */
export interface Relay {
  readonly withPerson: WithPerson;
  /** False if no call with this id waits for an answer. */
  answer(request: ApproveRequest): boolean;
  /** No answer will come: a question that waits is withdrawn, and its call denied. */
  close(): void;
}

interface PendingQuestion {
  readonly call: string;
  settle(request: ApproveRequest): void;
  withdraw(reason: Error): void;
}

/** `write` adds the turn to an event. There is one question at a time. */
export function createRelay(write: (event: JsonObject) => Promise<void>): Relay {
  let isClosed = false;
  let pending: PendingQuestion | undefined;

  async function ask(question: CallQuestion, signal: AbortSignal): Promise<CallAnswer> {
    if (isClosed) throw closedError();
    const { call } = question;
    return new Promise<ApproveRequest>((resolve, reject) => {
      const fail = (reason: Error): void => {
        reject(reason);
        void write({ type: 'approval_cancelled', call }).catch(() => {});
      };
      const ignore = onAbort(signal, () => {
        pending = undefined;
        fail(signal.reason);
      });
      pending = {
        call,
        settle(answer) {
          ignore();
          resolve(answer);
        },
        withdraw(reason) {
          ignore();
          fail(reason);
        },
      };
      write({ type: 'approval', ...question }).catch(reject);
    });
  }

  const take = (): PendingQuestion | undefined => {
    const taken = pending;
    pending = undefined;
    return taken;
  };
  return {
    withPerson: createProgramPerson(ask),
    answer(request) {
      if (pending?.call !== request.call) return false;
      take()?.settle(request);
      return true;
    },
    close() {
      isClosed = true;
      take()?.withdraw(closedError());
    },
  };
}

function closedError(): Error {
  return unanswerableError('the input has ended');
}
