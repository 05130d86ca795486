import type { Answer, ProposedCall, Question } from '../approval/keys.ts';
import type { Person, WithPerson } from '../approval/person.ts';

import { formatQuestionTitle } from '../approval/view.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Preview } from '../core/tool.ts';
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

/** Arguments that the program has put in place of the model's. */
interface Change {
  readonly args: JsonObject;
  readonly decision: Exclude<ApproveRequest['decision'], 'no'>;
}

/** `write` adds the turn to an event. There is one question at a time. */
export function createRelay(write: (event: JsonObject) => Promise<void>): Relay {
  let isClosed = false;
  let pending: PendingQuestion | undefined;
  let change: Change | undefined;
  let note: string | undefined;

  async function askProgram(call: ProposedCall, preview: Preview, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (isClosed) throw closedError();
    const request = await new Promise<ApproveRequest>((resolve, reject) => {
      const fail = (reason: Error): void => {
        reject(reason);
        void write({ type: 'approval_cancelled', call: call.id }).catch(() => {});
      };
      const ignore = onAbort(signal, () => {
        pending = undefined;
        fail(signal.reason);
      });
      pending = {
        call: call.id,
        settle(answer) {
          ignore();
          resolve(answer);
        },
        withdraw(reason) {
          ignore();
          fail(reason);
        },
      };
      write(toApprovalEvent(call, preview, note)).catch(reject);
      note = undefined;
    });
    const { decision, args, reason } = request;
    if (decision === 'no') return reason === undefined ? { kind: 'no' } : { kind: 'reply', text: reason };
    if (args === undefined) return toAnswer(decision);
    change = { args, decision };
    return { kind: 'edit' };
  }

  const person: Person = {
    async ask({ items }: Question, signal) {
      const [item] = items;
      // Several writes at once are asked about one by one.
      if (item?.call === undefined || items.length > 1) return { kind: 'single' };
      const changed = change;
      change = undefined;
      // The program knows these arguments, but not that they lead to a file that is always asked about.
      if (changed !== undefined && item.call.guarded === undefined) return toAnswer(changed.decision);
      return askProgram(item.call, item.preview, signal);
    },
    /** Why a question comes again. */
    async say(text) {
      change = undefined;
      note = text;
    },
    edit: async () => change?.args,
  };
  const take = (): PendingQuestion | undefined => {
    const taken = pending;
    pending = undefined;
    return taken;
  };
  return {
    withPerson(work) {
      // A decision that was aborted may have left these.
      change = undefined;
      note = undefined;
      return work(person);
    },
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

/** `always` covers what the key `a` does at a terminal, in this process. */
function toAnswer(decision: Change['decision']): Answer {
  return decision === 'always' ? { kind: 'grant', reach: 'scope', isKept: false } : { kind: 'yes' };
}

function toApprovalEvent(call: ProposedCall, preview: Preview, note: string | undefined): JsonObject {
  const { id, name, args, guarded } = call;
  return {
    type: 'approval',
    call: id,
    name,
    args,
    diff: preview.kind === 'diff' ? preview.diff : undefined,
    title: formatTitle(name, preview, guarded),
    note,
    default: 'no',
  };
}

function formatTitle(name: string, preview: Preview, guarded: string | undefined): string {
  const title = formatQuestionTitle(name, preview).trim();
  if (guarded === undefined || preview.kind !== 'text') return title;
  return `${title} ${guarded}: this file may hold keys or passwords, and would be sent to the model`;
}

function closedError(): AppError {
  return new AppError('usage', 'it needs an approval, and the input has ended, so that nobody can answer');
}
