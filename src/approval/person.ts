import type { Env, Out } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { openTty as openOwnTty, type Tty } from '../platform/terminal/tty.ts';
import type { Answer, Question } from './keys.ts';
import { editArguments, type Proposal } from './proposal.ts';
import { askPerson } from './question.ts';

export interface Person {
  /** Whether a word can be typed. Absent: what needs one is denied. */
  readonly takesWords?: true;
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  say(text: string): Promise<void>;
  /** The arguments as the person changed them; undefined if that failed. */
  edit(proposal: Proposal, signal: AbortSignal): Promise<JsonObject | undefined>;
}

/** Runs `work` with the person who can be asked; undefined if there is nobody. */
export type WithPerson = <Result>(work: (person: Person) => Promise<Result>) => Promise<Result | undefined>;

/** Runs a question while the terminal belongs to the person. */
export type RunPaused = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface TerminalOptions {
  readonly err: Out;
  readonly env: Env;
  readonly runPaused: RunPaused;
  /** Opens the person's terminal; undefined if there is none. Default: the terminal of this process. */
  readonly openTty?: () => Tty | undefined;
}

/** The person at the terminal: asked on /dev/tty, if stderr is a terminal. */
export function createTerminalPerson({ err, env, runPaused, openTty = openOwnTty }: TerminalOptions): WithPerson {
  return async (work) => {
    const tty = err.isTerminal ? openTty() : undefined;
    if (tty === undefined) return undefined;
    const person: Person = {
      takesWords: true,
      ask: (question, signal) => askPerson(question, { tty, err, env }, signal),
      say: (text) => err.write(`│ ${text}\n`),
      edit: (proposal, signal) => editArguments(proposal, { tty, env }, signal),
    };
    return runPaused(async () => {
      try {
        return await work(person);
      } finally {
        tty.close();
      }
    });
  };
}
