import { expect, type TestContext } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { type ChatTerminal, chatInTerminal } from '../support/chat-terminal.ts';
import { call, failure, fakeGemini, reply } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

/** What a terminal would obey: a title, a colour, the clipboard, a wiped screen; 7 bit, 8 bit, bidi. */
const EVIL = '\u001b]0;owned\u0007\u001b[41mred\u001b]52;c;b3duZWQ=\u0007\u001b[2Jgone\u009b31m\u202eback';

/** Without what gmn itself writes: its moves, marked pastes, the wrapping of rows, the question for kitty's keys. No colours here. */
function foreign(output: string): readonly string[] {
  const own = /\u001b\[(?:\?2004[hl]|\?7[hl]|\?u|\d*[ABCDGK]|J)/g;
  return (
    output.replace(own, '').match(/[\u0000-\u0007\u000b-\u000c\u000e-\u001f\u007f-\u009f\u202e][^\r\n]{0,20}/g) ?? []
  );
}

async function ended(chat: ChatTerminal): Promise<string> {
  chat.type('\u0004');
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(0);
  return output;
}

async function after(chat: ChatTerminal, line: string, pattern: RegExp): Promise<void> {
  chat.enter(line);
  await chat.until(pattern);
}

function started(t: TestContext, args: readonly string[], options: Parameters<typeof chatInTerminal>[2]): ChatTerminal {
  return chatInTerminal(t, ['--no-color', ...args], options);
}

posixTest('escapes of the model, in text, thoughts, calls and errors, do not reach the terminal', async (t) => {
  const gemini = await fakeGemini(t, [
    reply({ text: `thinking ${EVIL}`, thought: true }, `answer ${EVIL}`, call(`tool${EVIL}`, { file_path: EVIL })),
    reply('done'),
    failure(400, 'INVALID_ARGUMENT', `refused ${EVIL}`),
  ]);
  const chat = started(t, ['--show-thoughts'], { gemini });
  await chat.until(/❯ /);
  await after(chat, 'x', /done\r\n[\s\S]*❯ /);
  await after(chat, 'y', /refused[\s\S]*❯ /);
  await after(chat, '/stats', /tools:\s+tool[\s\S]*❯ /);
  const output = await ended(chat);
  expect(output).toContain('✗ tool\\x1b]0;owned');
  expect(foreign(output)).toEqual([]);
});

posixTest('escapes in files, their names, commands and what they print do not reach the terminal', async (t) => {
  const name = 'a\u001b[2Jb.txt';
  const write = (file_path: string) => call('write_file', { file_path, content: `${EVIL}\n` });
  const gemini = await fakeGemini(t, [reply(write(name), write('new.txt')), reply('written')]);
  const chat = started(t, ['--approval-mode', 'auto_edit'], {
    gemini,
    files: { [name]: '', 'x.sh': `printf '%s\\n' '${EVIL}'` },
  });
  await chat.until(/❯ /);
  await after(chat, '!ls; sh x.sh', /goes with your next prompt[\s\S]*❯ /);
  await after(chat, 'write', /written\r\n[\s\S]*❯ /);
  await after(chat, '/diff', /\+\+\+ b\/[\s\S]*❯ /);
  await after(chat, '/undo', /(?:removed|restored) [\s\S]*❯ /);
  expect(foreign(await ended(chat))).toEqual([]);
});

posixTest('escapes in titles of sessions, and in what was typed, do not reach the terminal', async (t) => {
  const { env } = sharedHome(t);
  await pipedChat(t, [`hello ${EVIL}`, `/save name ${EVIL}`], { script: [reply('one')], env });
  const chat = started(t, ['--demo'], { env });
  await chat.until(/❯ /);
  await after(chat, '/sessions chat', /hello[\s\S]*❯ /);
  await after(chat, '/sessions', /session › [\s\S]*hello/);
  chat.type('\u0003');
  await after(chat, '/load 1', /Continuing[\s\S]*❯ /);
  await after(chat, '/file \u009b', /no such file[\s\S]*❯ /);
  const output = await ended(chat);
  expect(output).toContain('\\x1b]0;owned');
  expect(foreign(output)).toEqual([]);
});
