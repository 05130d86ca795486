import { OWN_CONTEXT_NAME } from '../../config/context-place.ts';
import { addMemory, findMemoryFile, isInProject, type MemoryScope } from '../../config/memory.ts';
import { AppError } from '../../core/error.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { type Chat, changeRun } from '../chat.ts';
import type { Candidate } from '../line/source.ts';
import { buildPrompt } from '../prompt.ts';
import type { NextStep, SlashCommand } from './command.ts';
import { warnIfUntrusted } from './trust.ts';

export const MEMORY: SlashCommand = {
  name: 'memory',
  argument: '[show|add text]',
  help: 'Show what the model always knows from AGENTS.md and GEMINI.md, or add to it',
  complete: () => [{ insert: 'show' }, { insert: 'add ', hint: 'a note for later' }],
  async run(argument, chat) {
    const [, word = '', note = ''] = /^(\S*)\s*([\s\S]*)$/.exec(argument) ?? [];
    if (word === 'add') {
      requireNote(note);
      const scope = await choosePlace(chat, listScopes(chat));
      return scope === undefined ? undefined : remember(chat, scope, note);
    }
    if (word !== '' && (word !== 'show' || note !== '')) {
      throw new AppError('usage', `/memory takes show or add, not "${sanitize(argument)}"`, {
        hint: 'Example: /memory add Use tabs.',
      });
    }
    // The files may have been edited since they were read.
    await changeRun(chat, {});
    const { contextText } = chat.run.facts;
    if (contextText === '') await chat.view.say('There is nothing yet. To add something: /memory add <text>');
    else await chat.view.sayVerbatim(contextText);
  },
};

/** A line of a terminal that is a note, not a prompt. A space before it makes it a prompt, and so do several lines. */
export function isNote(entry: string): boolean {
  return entry.startsWith('#') && !entry.includes('\n');
}

/** For an entry that begins with `#`. Throws AppError. */
export async function rememberEntry(entry: string, chat: Chat, signal: AbortSignal): Promise<NextStep> {
  const note = requireNote(entry.replace(/^#+/, ''));
  const place = await choosePlace(chat, [...listScopes(chat), 'prompt']);
  if (place === 'prompt') return { ask: await buildPrompt(chat, entry, signal) };
  return place === undefined ? { line: { draft: entry } } : remember(chat, place, note);
}

/** The likelier one first: it is marked. */
function listScopes({ app: { cwd, homes }, lines }: Chat): readonly MemoryScope[] {
  const prefersProject = lines.pick !== undefined && !homes().isMissing && isInProject(cwd);
  return prefersProject ? ['project', 'user'] : ['user', 'project'];
}

function requireNote(text: string): string {
  const note = text.trim();
  if (note !== '') return note;
  throw new AppError('usage', 'there is nothing to remember', { hint: 'Example: /memory add Use tabs.' });
}

async function remember(chat: Chat, scope: MemoryScope, note: string): Promise<undefined> {
  const { app, run, view } = chat;
  await addMemory(scope, (await run.facts.agent.redaction?.redact(note)) ?? note, app);
  await view.say(`Added to ${nameMemoryFile(scope, chat)}.`);
  if (scope === 'project' && (await warnIfUntrusted(chat))) return;
  await changeRun(chat, {});
}

/** Without a list to choose from, the first. Undefined if nothing was chosen. */
async function choosePlace<Place extends MemoryScope | 'prompt'>(
  chat: Chat,
  places: readonly Place[],
): Promise<Place | undefined> {
  const { pick } = chat.lines;
  if (pick === undefined) return places[0];
  const taken = await pick({ title: 'add to', candidates: places.map((place) => toPlaceCandidate(place, chat)) });
  return places.find((place) => place === taken?.insert);
}

function toPlaceCandidate(place: MemoryScope | 'prompt', chat: Chat): Candidate {
  if (place === 'prompt') return { insert: place, label: 'no file', hint: 'it is a prompt: send it to the model' };
  const hint = place === 'user' ? 'for every chat and prompt' : 'for this directory';
  return { insert: place, label: nameMemoryFile(place, chat), hint };
}

function nameMemoryFile(scope: MemoryScope, { app }: Chat): string {
  if (scope === 'project') return `./${OWN_CONTEXT_NAME}`;
  return sanitize(shortenPath(findMemoryFile(scope, app), app.env.HOME));
}
