import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Preview } from '../core/tool.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import type { Answer, ProposedCall, Question } from './keys.ts';
import type { Person, WithPerson } from './person.ts';
import { formatQuestionTitle, listViewLines } from './view.ts';

/** What a program is asked in place of a person. */
export interface CallQuestion {
  readonly call: string;
  readonly name: string;
  readonly args: JsonObject;
  readonly diff: string | undefined;
  readonly title: string;
  /** The rows that a terminal would show. */
  readonly view: readonly string[];
  /** Why the question comes again. */
  readonly note: string | undefined;
  readonly default: 'no';
}

/** `args` replace the model's arguments, `reason` is told to the model. `always` covers what the key `a` does at a terminal. */
export type CallAnswer =
  | { readonly decision: 'yes' | 'always'; readonly args?: JsonObject }
  | { readonly decision: 'no'; readonly reason?: string };

/** One question at a time. Rejects if there is no answer; then the call is denied, or the turn is over. */
export type AskProgram = (question: CallQuestion, signal: AbortSignal) => Promise<CallAnswer>;

/** Arguments that the program has put in place of the model's. */
interface Change {
  readonly args: JsonObject;
  readonly decision: 'yes' | 'always';
}

/** The program that gmn is driven by, or a part of, as the person to ask. */
export function createProgramPerson(ask: AskProgram): WithPerson {
  let change: Change | undefined;
  let note: string | undefined;

  async function askAbout(call: ProposedCall, preview: Preview, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const view = await listViewLines(call.name, preview, () => yieldToEvents(signal));
    const { id, name, args, guarded } = call;
    const diff = preview.kind === 'diff' ? preview.diff : undefined;
    const title = formatTitle(name, preview, guarded);
    const question: CallQuestion = { call: id, name, args, diff, title, view, note, default: 'no' };
    note = undefined;
    const answer = await ask(question, signal);
    if (answer.decision === 'no') {
      return answer.reason === undefined ? { kind: 'no' } : { kind: 'reply', text: answer.reason };
    }
    if (answer.args === undefined) return toPersonAnswer(answer.decision);
    change = { args: answer.args, decision: answer.decision };
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
      if (changed !== undefined && item.call.guarded === undefined) return toPersonAnswer(changed.decision);
      return askAbout(item.call, item.preview, signal);
    },
    async say(text) {
      change = undefined;
      note = text;
    },
    edit: async () => change?.args,
  };
  return (work) => {
    // A decision that was aborted may have left these.
    change = undefined;
    note = undefined;
    return work(person);
  };
}

function toPersonAnswer(decision: Change['decision']): Answer {
  return decision === 'always' ? { kind: 'grant', reach: 'scope', isKept: false } : { kind: 'yes' };
}

function formatTitle(name: string, preview: Preview, guarded: string | undefined): string {
  const title = formatQuestionTitle(name, preview).trim();
  if (guarded === undefined || preview.kind !== 'text') return title;
  return `${title} ${sanitize(guarded)}: this file may hold keys or passwords, and would be sent to the model`;
}

/** For a question that nobody can answer any more. */
export function unanswerableError(why: string): AppError {
  return new AppError('usage', `it needs an approval, and ${why}, so that nobody can answer`);
}
