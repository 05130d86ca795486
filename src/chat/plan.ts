import type { ApprovalMode } from '../approval/policy.ts';
import type { StoredContent } from '../core/content.ts';
import { findMode, setMode } from './approval-modes.ts';
import type { Chat } from './chat.ts';

const GO_AHEAD = 'Go ahead with the plan.';

const KEEP_PLANNING = 'keep';

/** Modes that a plan can be carried out in, by the answer that chooses them. */
const WAYS_ON: Readonly<Record<string, ApprovalMode>> = { edits: 'auto_edit', asking: 'default' };

/**
 * After a turn in plan mode that presents a plan: asks whether to go on, and changes the mode. Returns the prompt that goes on; undefined
 * if the planning continues. Somebody who types already is not asked, nor is anybody in a pipe. Throws AppError.
 */
export async function askToGoOn(chat: Chat): Promise<StoredContent | undefined> {
  const { lines, run, view } = chat;
  // Without tools that change something there is nothing to go on with.
  if (!lines.isTerminal || findMode(run) !== 'plan' || (run.facts.agent.withheld ?? []).length === 0) return undefined;
  if (!presentsPlan(readLastReply(chat))) return undefined;
  if (lines.hasTyped?.()) return undefined;
  if (lines.pick === undefined) {
    await view.showNotice(`To go on: /approve auto_edit, or /approve default. Then: ${GO_AHEAD}`);
    return undefined;
  }
  const taken = await lines.pick({
    title: 'the plan',
    yieldsToText: true,
    candidates: [
      { insert: KEEP_PLANNING, label: 'keep planning', hint: 'tools only read' },
      { insert: 'edits', label: 'go on', hint: 'edits run without asking, commands ask' },
      { insert: 'asking', label: 'go on, asking', hint: 'edits ask first, too' },
    ],
  });
  const mode = WAYS_ON[taken?.insert ?? KEEP_PLANNING];
  if (mode === undefined) {
    // What closed the question is the beginning of the next entry, or all of it.
    lines.queueTypedKeys?.();
    return undefined;
  }
  await setMode(chat, mode);
  await view.say(GO_AHEAD);
  return { role: 'user', parts: [{ text: GO_AHEAD }] };
}

/** A step of a list, in the marks of Markdown or the numbers of Chinese and Japanese texts. */
const STEP = /^\s*(?:\*\*)?(?:step\s+)?[\d０-９]{1,2}[.):：、．）]\s*(\S.*)$/i;
const QUESTION_MARK = /[?？؟]\W*$/;

/**
 * A plan is a list of numbered steps. An answer without one is not asked about, nor are the model's own questions, which may be numbered,
 * too: `/approve` and Shift+Tab are always there.
 */
function presentsPlan(text: string): boolean {
  const steps = text.split('\n').flatMap((line) => STEP.exec(line)?.[1] ?? []);
  return steps.some((step) => !QUESTION_MARK.test(step));
}

function readLastReply({ conversation }: Chat): string {
  const last = conversation.session.contents.findLast(({ role }) => role === 'model');
  return (last?.parts ?? []).map((part) => ('text' in part && part.thought !== true ? part.text : '')).join('');
}
