import { lastWord } from '../core/text/trim.ts';
import { found } from './candidates.ts';
import type { Chat } from './chat.ts';
import { serverIn } from './commands/servers.ts';
import { wordsOf } from './commands/words.ts';
import type { Completion } from './line/source.ts';
import type { PromptArguments, Servers } from './servers.ts';

/** What `/server:prompt`, its arguments and `@server:uri` could become; undefined if it is none of these. Throws AppError. */
export async function remoteCompletion(
  { assistant: { servers } }: Chat,
  before: string,
  signal: AbortSignal,
): Promise<Completion | undefined> {
  if (servers === undefined) return undefined;
  if (serverIn(servers, before) !== undefined) return promptCompletion(servers, before, signal);
  const last = lastWord(before);
  const mention = last.startsWith('@') ? last.slice(1) : '';
  const mentioned = serverIn(servers, `/${mention}`);
  if (mentioned === undefined) return undefined;
  const resources = await servers.resources(mentioned.server, signal);
  const all = resources.map(({ uri, name }) => ({ insert: `@${mentioned.server}:${uri}`, hint: name }));
  return found(before.length - mention.length - 1, `@${mention}`, all);
}

async function promptCompletion(servers: Servers, before: string, signal: AbortSignal): Promise<Completion> {
  const { server = '', rest = '' } = serverIn(servers, before) ?? {};
  const prompts = await servers.prompts(server, signal);
  const [, name = '', gap, text = ''] = /^(\S*)(?:(\s+)([\s\S]*))?$/.exec(rest) ?? [];
  if (gap === undefined) {
    const all = prompts.map((prompt) => ({ insert: `/${server}:${prompt.name} `, hint: prompt.description }));
    return found(0, before, all);
  }
  const word = lastWord(text);
  const wanted = prompts.find((prompt) => prompt.name === name)?.arguments ?? [];
  const [, argument = '', value = ''] = /^([^=]+)=(.*)$/.exec(word) ?? [];
  if (wanted.some((each) => each.name === argument)) {
    const given = givenIn(text.slice(0, text.length - word.length));
    const values = await servers.suggestions(
      { server, prompt: name, argument: { name: argument, value }, given },
      signal,
    );
    // The server knows better than a comparison of letters what goes with what was typed.
    return {
      start: before.length - word.length,
      candidates: values.map((each) => ({ insert: `${argument}=${asWord(each)} ` })),
    };
  }
  const open = wanted.filter((argument) => !text.split(/\s+/).some((given) => given.startsWith(`${argument.name}=`)));
  const all = open.map((argument) => ({ insert: `${argument.name}=`, hint: argument.description }));
  return found(before.length - word.length, word, all);
}

function givenIn(text: string): PromptArguments {
  return Object.fromEntries(
    wordsOf(text).flatMap((word) => {
      const [, name, value = ''] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

/** So that `wordsOf` takes it for one word. */
function asWord(value: string): string {
  return /^[^\s"'\\]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}
