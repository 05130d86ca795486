import { beginsTurn, nameByQuestion } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { dropTurns, rewindByList } from '../rewind.ts';
import { askAside } from '../turn.ts';
import { describeWindow, estimateShares, estimateSize, findWindowLimit, formatPercent } from '../window.ts';
import type { SlashCommand } from './command.ts';
import { askToInitialize, isInitPrompt } from './init.ts';

export const NEW: SlashCommand = {
  name: 'new',
  isForTerminals: true,
  help: 'Begin a new session; this one is kept if it is saved',
  async run(_, { conversation, run, view }) {
    await conversation.begin();
    await run.change({ instruction: { start: undefined } });
    await view.say('This is a new session.');
  },
};

export const CLEAR: SlashCommand = {
  name: 'clear',
  help: 'Forget the conversation, but stay in the same session',
  async run(_, { conversation, view }) {
    await conversation.session.replace([]);
    conversation.forgetLast();
    await view.say('The conversation is forgotten.');
  },
};

export const RETRY: SlashCommand = {
  name: 'retry',
  help: 'Ask the last prompt again; its answer is dropped',
  async run(_, chat, signal) {
    const { session, lastPrompt } = chat.conversation;
    const prompts = session.contents.filter(beginsTurn);
    const prompt = lastPrompt ?? prompts.at(-1);
    if (prompt === undefined) throw new AppError('usage', 'nothing was asked yet', { hint: 'Type a prompt.' });
    // What /init may write was allowed for its turn alone.
    const again = isInitPrompt(prompt) ? await askToInitialize(chat, signal) : undefined;
    // A prompt that failed is not in the session.
    if (prompts.at(-1) === prompt) await session.rewind(1);
    return again ?? { ask: nameByQuestion(prompt, prompt.question) };
  },
};

export const REWIND: SlashCommand = {
  name: 'rewind',
  argument: '[n]',
  help: 'Go back to an earlier prompt, chosen from a list; with a number, drop the last n exchanges',
  async run(argument, chat) {
    const { conversation, lines } = chat;
    const turns = argument === '' ? 1 : Number(argument);
    if (!Number.isInteger(turns) || turns < 1) {
      throw new AppError('usage', `/rewind takes a number, not "${sanitize(argument)}"`, {
        hint: 'Example: /rewind 2',
      });
    }
    if (conversation.session.turns === 0) {
      throw new AppError('usage', 'there is nothing to drop', { hint: 'Type a prompt.' });
    }
    if (argument !== '' || lines.pick === undefined) return void (await dropTurns(chat, turns));
    const line = await rewindByList(chat);
    return line && { line };
  },
};

const SUMMARY_REQUEST =
  'Write a summary of our conversation so far, from which you could continue without it: what I want, what was decided and why, what was done, which files and names matter, what is still open. Leave out what no longer matters. Reply with the summary alone.';

export const COMPRESS: SlashCommand = {
  name: 'compress',
  argument: '[what matters]',
  help: 'Replace the conversation with a summary',
  async run(argument, chat, signal) {
    const { conversation, view } = chat;
    const { session } = conversation;
    if (session.contents.length === 0) {
      throw new AppError('usage', 'there is no conversation to summarise', { hint: 'Type a prompt.' });
    }
    const before = estimateSize(session, chat.run.facts);
    const text = argument === '' ? SUMMARY_REQUEST : `${SUMMARY_REQUEST}\n\nWhat matters most: ${argument}`;
    await chat.run.facts.agent.hooks?.beforeSummary('manual', signal);
    const summary = await askAside(chat, { role: 'user', parts: [{ text }] }, signal);
    if (summary.trim() === '') {
      throw new AppError('api', 'the model wrote no summary', { hint: 'Nothing has changed. Try again.' });
    }
    const { contents, compactions } = session;
    const compaction = { outputs: [], summary: { text: summary, end: contents.length } };
    const after = estimateSize({ contents, compactions: [...compactions, compaction] }, chat.run.facts);
    if (after >= before) {
      await view.say(`The conversation stays as it is: about ${before} tokens, and its summary would have ${after}.`);
      return;
    }
    await session.compact(compaction);
    conversation.forgetLast();
    await view.say(`The conversation is a summary now: about ${after} tokens, before that about ${before}.`);
  },
};

export const CONTEXT: SlashCommand = {
  name: 'context',
  onlyShows: true,
  mayBegin: true,
  help: "Show what is in the model's window, and how full it is",
  async run(_, { conversation, run: { facts }, view }) {
    const { session, windowTokens: exact } = conversation;
    const limit = findWindowLimit(facts);
    const shares = estimateShares(session, facts);
    const total = estimateSize(session, facts);
    const formatShare = (tokens: number): string => (limit === undefined ? '' : `, ${formatPercent(tokens, limit)}`);
    const rows = shares.map(({ what, tokens }) => `  ${String(tokens).padStart(9)}  ${what}${formatShare(tokens)}`);
    const compacted = describeWindow(session);
    const share = limit === undefined ? '' : `${formatShare(total)} of ${limit}`;
    await view.say(
      [
        ...rows,
        `  ${String(total).padStart(9)}  tokens in all, estimated${share}`,
        ...(exact === undefined
          ? []
          : [`  ${String(exact).padStart(9)}  tokens after the last reply, as the server counts`]),
        ...(compacted === undefined ? [] : [compacted]),
      ].join('\n'),
    );
  },
};
