import { OWN_CONTEXT_NAME as NAME } from '../../config/context-place.ts';
import { requireProjectFile } from '../../config/memory.ts';
import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { findFileKind } from '../../platform/files/path.ts';
import { findMode } from '../approval-modes.ts';
import { type Chat, changeRun } from '../chat.ts';
import { buildPrompt } from '../prompt.ts';
import type { NextPrompt, SlashCommand } from './command.ts';
import { warnIfUntrusted } from './trust.ts';

const REQUEST = `Look around in this project, then write ${NAME} in the working directory: what a coding agent who has never seen the project must know.

First read what there is: the README, the manifests and build files, the configuration of linters and CI, the layout of the sources, a few typical files and their tests, and instructions for other agents (CLAUDE.md, GEMINI.md, .cursorrules and the like).

Then write, in short sections of Markdown, as far as you have seen it: what the project is, in two sentences at most; the commands that build, lint, format and test it, and that run a single test; how the code is organised, and where to look for what; the conventions that a newcomer would get wrong; what must not be changed. Facts only: no general advice, nothing that the list of files says already. 100 lines at most.`;

const IMPROVE = `${NAME} exists already: read it first. Keep what is true, and whatever its authors have decided; correct what is no longer true, add what is missing, and change nothing else.`;

const QUESTION = '/init';

export const INIT: SlashCommand = {
  name: 'init',
  mayBegin: true,
  help: `Let the model look around and write ${NAME}, or improve it; you see the change first`,
  run: (_, chat, signal) => askToInitialize(chat, signal),
};

export async function askToInitialize(chat: Chat, signal: AbortSignal): Promise<NextPrompt> {
  const file = requireWritable(chat);
  const isThere = findFileKind(file) !== undefined;
  const words = isThere ? `${REQUEST}\n\n${IMPROVE}` : REQUEST;
  const ask = await buildPrompt(chat, words, signal, { allowsMentions: false, question: QUESTION });
  return {
    ask,
    release: chat.changes.workspace.permitInstruction(NAME),
    onEnded: async () => {
      if (findFileKind(file) === undefined) return;
      // What was written is in force with the next prompt, if it is used at all.
      if (!(await warnIfUntrusted(chat))) await changeRun(chat, {});
    },
  };
}

/** Whether `/init` made it. What else is called like that has other words. */
export function isInitPrompt({ parts, question }: StoredContent): boolean {
  return question === QUESTION && parts.some((part) => 'text' in part && part.text.startsWith(REQUEST));
}

/** The path of the file. Throws AppError `usage` if the model could not write it. */
function requireWritable(chat: Chat): string {
  const { app, run } = chat;
  if (!chat.canAsk) {
    throw new AppError('usage', '/init shows what it would write and asks, which needs a terminal', {
      hint: 'Run it in a chat on a terminal.',
    });
  }
  if (findMode(run) === 'plan') {
    throw new AppError('usage', `in plan mode nothing is written, ${NAME} neither`, {
      hint: 'First: /approve default',
    });
  }
  if (!run.facts.agent.tools.some(({ effect }) => effect === 'write')) {
    throw new AppError('usage', `no tool can write ${NAME}`, { hint: 'First: /tools write_file on' });
  }
  return requireProjectFile(app);
}
