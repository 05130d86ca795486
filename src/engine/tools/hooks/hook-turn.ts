import type { RunTurn, Turn } from '../../../agent/agent.ts';
import { nameByQuestion, type StoredContent } from '../../../core/content.ts';
import { AppError } from '../../../core/error.ts';
import type { TurnEvent } from '../../../core/event.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { addUsage, NO_USAGE } from '../../../core/usage.ts';
import { createRounds, passEvents } from '../../limits/rounds.ts';
import { hookEnding } from './hook-output.ts';
import type { Fired, HookRunner } from './hook-runner.ts';

/** An answer can be sent back so often; the one after that is the last. */
const MAX_ROUNDS = 5;
/** Of an answer, for the hooks after it. */
const MAX_ANSWER = 200_000;

/** What the turns of a run share. */
export interface HookedSession {
  readonly runner: HookRunner;
  /** In a chat a conversation that is empty again is a new one. */
  readonly isChat: boolean;
  isStarted: boolean;
}

/**
 * Runs the hooks of the beginning and the end of a turn around it: those may refuse the prompt or add to it, these may send the
 * answer back. The result throws AppError `usage` for a refused prompt, `limit` if a hook ends the turn.
 */
export function hookTurn(run: RunTurn, session: HookedSession): RunTurn {
  const { runner } = session;
  return async function* runHookedTurn(agent, turn) {
    const { signal } = turn;
    const text = readText(turn.prompt);
    let prompt = await openPrompt(text, turn, session);
    let usage = NO_USAGE;
    const ask = createRounds(run, agent, turn);
    // Text on stdout cannot be taken back: what a hook may still reject waits for its verdict.
    const isHeld = runner.has('AfterAgent');
    for (let round = 0; ; round += 1) {
      const answer = createAnswerKeeper(isHeld);
      const { end, last } = yield* passEvents(answer.watch(ask(prompt)), { isFirst: round === 0, isHeld: false });
      usage = addUsage(usage, end.usage);
      const fields = { prompt: text, prompt_response: answer.text(), stop_hook_active: round > 0 };
      const after = runner.fire({ event: 'AfterAgent', fields }, signal);
      const objection = await findObjection(after, runner);
      if (objection === undefined) {
        yield* answer.held();
        yield { ...end, usage };
        return;
      }
      if (round === MAX_ROUNDS) throw rejectedError(objection, answer.text());
      if (last !== '' && last !== '\n') yield { type: 'text', delta: '\n' };
      yield { type: 'notice', message: `a hook sends the answer back: ${sanitize(objection)}` };
      prompt = { role: 'user', parts: [{ text: objection }], isFollowUp: true };
    }
  };
}

/** The prompt with what hooks add to it. Throws AppError. */
async function openPrompt(
  text: string,
  { prompt, history, signal }: Turn,
  session: HookedSession,
): Promise<StoredContent> {
  const { runner } = session;
  const isEmpty = history.contents.length === 0;
  const isCleared = session.isStarted && isEmpty && session.isChat;
  if (isCleared) {
    await runner.gather({ event: 'SessionEnd', names: ['clear'], fields: { reason: 'clear' } }, signal);
  }
  const isFirst = !session.isStarted || isCleared;
  session.isStarted = true;
  const source = isCleared ? 'clear' : isEmpty ? 'startup' : 'resume';
  const before = isFirst
    ? await runner.gather({ event: 'SessionStart', names: [source], fields: { source } }, signal)
    : [];
  const after: string[] = [];
  for await (const fired of runner.fire({ event: 'BeforeAgent', fields: { prompt: text } }, signal)) {
    const answer = runner.report(fired);
    if (answer?.ends) throw hookEnding(fired.hook, answer);
    if (answer?.isDenial) throw refusedPromptError(fired.hook.name, answer.reason);
    if (answer?.context !== undefined) after.push(answer.context);
  }
  return addContexts(prompt, before, after);
}

function rejectedError(objection: string, answer: string): AppError {
  const message = `hooks rejected the answer, and each of ${MAX_ROUNDS} more: ${objection}`;
  return new AppError('verify', sanitize(message), { hint: 'To see the hooks: gmn doctor', answer });
}

function refusedPromptError(name: string, reason = ''): AppError {
  return new AppError('usage', sanitize(`the prompt was not sent: ${reason || `the hook ${name} says no`}`), {
    hint: 'To see the hooks: gmn doctor',
  });
}

async function findObjection(all: AsyncGenerator<Fired, void>, { report }: HookRunner): Promise<string | undefined> {
  let objection: string | undefined;
  for await (const fired of all) {
    const answer = report(fired);
    if (answer?.ends) return undefined;
    if (answer?.isDenial) objection ??= answer.reason || `The hook ${fired.hook.name} does not accept this answer.`;
  }
  return objection;
}

function readText({ parts, question }: StoredContent): string {
  return question ?? parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n\n');
}

/** What hooks add goes around the prompt, which keeps its parts, and the name that a session gets from it. */
function addContexts(prompt: StoredContent, before: readonly string[], after: readonly string[]): StoredContent {
  if (before.length + after.length === 0) return prompt;
  const frame = (text: string) => ({ text: `<hook_context>\n${text}\n</hook_context>` });
  const parts = [...before.map(frame), ...prompt.parts, ...after.map(frame)];
  return { ...prompt, ...nameByQuestion({ role: 'user', parts }, readText(prompt)) };
}

/** Keeps what is said after the last call; if it is held, nobody else sees it before it is asked for. */
function createAnswerKeeper(isHeld: boolean) {
  const pieces: string[] = [];
  const waiting: TurnEvent[] = [];
  return {
    text: () => pieces.join('').slice(0, MAX_ANSWER),
    held: () => waiting.splice(0),
    async *watch(events: AsyncGenerator<TurnEvent, void>): AsyncGenerator<TurnEvent, void> {
      let length = 0;
      try {
        for await (const event of events) {
          if (event.type === 'call') {
            pieces.length = length = 0;
            yield* waiting.splice(0);
          }
          if (event.type === 'text' && length < MAX_ANSWER) {
            pieces.push(event.delta);
            length += event.delta.length;
          }
          if (isHeld && (event.type === 'text' || event.type === 'file')) waiting.push(event);
          else yield event;
        }
      } catch (thrown) {
        // What had come before a failure is shown as ever.
        yield* waiting.splice(0);
        throw thrown;
      }
    },
  };
}
