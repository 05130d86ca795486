import { relative } from 'node:path';
import { beginsTurn, type StoredContent } from '../core/content.ts';
import type { Session } from '../core/session.ts';
import { formatAge } from '../core/text/format.ts';
import { deriveTitle } from '../session/record.ts';
import { formatUndone } from './changes.ts';
import type { Chat } from './chat.ts';
import type { NextLine } from './commands/command.ts';

export async function dropTurns({ conversation, view }: Chat, turns: number): Promise<void> {
  const dropped = Math.min(turns, conversation.session.turns);
  await conversation.session.rewind(dropped);
  conversation.forgetLast();
  const what = dropped === 1 ? 'the last exchange' : `the last ${dropped} exchanges`;
  await view.say(`Dropped ${what}${dropped < turns ? '; there were no more' : ''}.`);
}

/**
 * Lets the user choose a prompt, drops it and all that came after it, and puts back the files that changed since, if the
 * user wants that. The prompt is on the line again. Esc at either list leaves everything as it is.
 */
export async function rewindByList(chat: Chat): Promise<NextLine | undefined> {
  const { app, changes, conversation, view } = chat;
  const { session } = conversation;
  if (session.turns === 0) return { notice: 'There is no earlier prompt to go back to.' };
  const chosen = await pickTurn(chat);
  if (chosen === undefined) return undefined;
  const changed = await changes.listSince(session, chosen.at);
  const filesChoice = changed.length === 0 ? 'keep' : await pickFilesChoice(chat, changed);
  if (filesChoice === undefined) return undefined;
  if (filesChoice === 'undo') {
    await view.say(formatUndone(await changes.undoSince(session, chosen.at), app.cwd).join('\n'));
  }
  await dropTurns(chat, chosen.count);
  return { draft: findAskedText(chosen.prompt) };
}

interface EarlierTurn {
  readonly prompt: StoredContent;
  readonly at: number;
  /** How many turns there are from this one on. */
  readonly count: number;
}

/** The newest first. */
function listTurns({ records }: Session): readonly EarlierTurn[] {
  const prompts = records.filter(({ content }) => beginsTurn(content)).reverse();
  return prompts.map(({ content, at }, index) => ({ prompt: content, at, count: index + 1 }));
}

async function pickTurn({ app, conversation, lines }: Chat): Promise<EarlierTurn | undefined> {
  const turns = listTurns(conversation.session);
  const candidates = turns.map(({ prompt, at, count }) => ({
    insert: String(count),
    label: deriveTitle(prompt),
    hint: formatAge(at, app.clock.now()),
  }));
  const picked = await lines.pick?.({ title: 'back to', candidates });
  return turns.find(({ count }) => String(count) === picked?.insert);
}

async function pickFilesChoice(
  { app, lines }: Chat,
  [first = '', ...others]: readonly string[],
): Promise<'undo' | 'keep' | undefined> {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const candidates = [
    { insert: 'undo', label: `Put ${relative(app.cwd, first)}${more} back as before` },
    { insert: 'keep', label: 'Keep the files as they are now' },
  ] as const;
  const picked = await lines.pick?.({ title: 'files', candidates });
  return candidates.find(({ insert }) => insert === picked?.insert)?.insert;
}

function findAskedText({ parts, question }: StoredContent): string {
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).at(-1) ?? '';
  // Typed with two slashes, so that it was no command.
  if (question === undefined) return text.startsWith('/') ? `/${text}` : text;
  // A long question is kept in part; the whole of it ends the prompt.
  const start = text.lastIndexOf(question);
  return start === -1 ? question : text.slice(start);
}
