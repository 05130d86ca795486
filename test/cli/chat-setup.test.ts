import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { fakeGemini, reply } from '../support/gemini.ts';

const FLASH = 'gemini-2.5-flash';
const PRO = 'gemini-2.5-pro';

/** Chats in one home, and whom each of their prompts asked, with which instruction. */
async function chats(t: Parameters<typeof sharedHome>[0], count: number) {
  const { env } = sharedHome(t);
  const gemini = await fakeGemini(
    t,
    Array.from({ length: count }, () => reply('yes')),
  );
  return {
    chat: async (args: readonly string[], lines: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      (await pipedChat(t, lines, { gemini, args, env: { ...env, ...more } })).stderr,
    asked: () =>
      gemini.requests.map(({ path, body }) => [
        /models\/([^:]+)/.exec(path)?.[1],
        (body.systemInstruction.parts[0].text as string).split(',')[0],
      ]),
  };
}

const WORDS = `As before in this session: the model ${PRO} and its system instruction (/system shows it).\n`;

test('a session brings back the model and the instruction that were chosen in it', async (t) => {
  const { chat, asked } = await chats(t, 4);
  await chat(['--session-name', 'trip'], ['one', `/model ${PRO}`, '/system Be brief.', 'two']);
  expect(await chat(['-r', 'trip'], ['three'])).toContain(WORDS);
  expect(await chat(['-r', 'trip', '--fork'], ['four'], { GMN_MODEL: FLASH })).toContain(WORDS);
  expect(asked()).toEqual([
    [FLASH, 'You are gmn'],
    [PRO, 'Be brief.'],
    [PRO, 'Be brief.'],
    [PRO, 'Be brief.'],
  ]);
});

test('a flag wins over what was chosen before, and what was dropped stays so', async (t) => {
  const { chat, asked } = await chats(t, 4);
  await chat(['--session-name', 'trip', '-m', PRO, '--system', 'Be brief.'], ['one']);
  expect(await chat(['-r', 'trip', '-m', FLASH], ['two', '/system -', 'three'])).toContain(
    'As before in this session: its system instruction (/system shows it).\n',
  );
  expect(await chat(['-r', 'trip'], ['four'])).toContain(`As before in this session: the model ${FLASH}.\n`);
  expect(asked()).toEqual([
    [PRO, 'Be brief.'],
    [FLASH, 'Be brief.'],
    [FLASH, 'You are gmn'],
    [FLASH, 'You are gmn'],
  ]);
});

test('/load sets the chat up as that session was, with gmn’s own model and instruction too', async (t) => {
  const { chat, asked } = await chats(t, 4);
  await chat(['--session-name', 'plain'], ['one']);
  await chat(['--session-name', 'trip'], [`/model ${PRO}`, '/system Be brief.', 'two']);
  const said = await chat([], ['/load trip', 'three', '/load plain', 'four']);
  expect(said.replace(/^this session was started in .*\n/gm, '')).toContain(
    `Continuing trip: 1 turn.\n${WORDS}Continuing plain: 1 turn.\nAs before in this session: the model ${FLASH}.\n`,
  );
  expect(asked().slice(2)).toEqual([
    [PRO, 'Be brief.'],
    [FLASH, 'You are gmn'],
  ]);
});
