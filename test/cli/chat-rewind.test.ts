import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const ESC = '\u001b';
const [UP, DOWN] = [`${ESC}[A`, `${ESC}[B`];

function write(path: string, content: string) {
  return reply(call('write_file', { file_path: path, content }));
}

posixTest(
  'Esc Esc and /rewind list the prompts; the chosen one is on the line again, and its files as they were',
  async (t) => {
    const gemini = await fakeGemini(t, [
      reply('first'),
      ...[write('a.txt', 'new a'), reply('wrote a')],
      ...[write('b.txt', 'new b'), reply('wrote b')],
      reply('again'),
      ...[write('a.txt', 'newer a'), reply('wrote a again')],
      reply('second'),
    ]);
    const at = place(t, { gemini, files: { 'a.txt': 'old a' } });
    const readA = (): string => readFileSync(join(at.cwd, 'a.txt'), 'utf8');
    const args = ['--session-name', 'trip', '--approval-mode', 'auto_edit'];
    const chat = chatInTerminal(t, args, { at });
    await chat.ready(1);
    chat.type(ESC);
    await chat.shows(/❯\nEsc again goes back to an earlier prompt\.$/);
    chat.type(ESC);
    await chat.shows(/❯\nThere is no earlier prompt to go back to\.$/);
    chat.enter('hello');
    await chat.shows(/first\n\n❯\n/);
    chat.enter('東京の a を書いて @a.txt');
    await chat.shows(/wrote a\n\n❯\n/);
    chat.enter('//b and more words than a row of the list has room for, so that it is cut where the window ends');
    await chat.shows(/wrote b\n\n❯\n/);
    chat.type(ESC);
    chat.type(ESC);
    await chat.shows(
      /back to ›\n› \/b and more[^\n]*… {2}just now\n {2}東京の a を書いて @a\.txt +just now\n {2}hello +just now$/,
    );
    chat.type(`${DOWN}\r`);
    await chat.shows(/files ›\n› Put \w\.txt and 1 more back as before\n {2}Keep the files as they are now$/);
    // Esc at either list changes nothing.
    chat.type(ESC);
    await chat.shows(/wrote b\n\n❯\n[^\n]*window left$/);
    expect(readA()).toBe('new a');
    chat.type(`${ESC}${ESC}`);
    await chat.shows(/back to ›\n/);
    chat.type('東京');
    await chat.shows(/back to › 東京\n› 東京の a を書いて @a\.txt {2}just now$/);
    chat.type('\r');
    await chat.shows(/files ›\n/);
    chat.type('\r');
    await chat.shows(
      /\nremoved b\.txt\nrestored a\.txt\nDropped the last 2 exchanges\.\n❯ 東京の a を書いて @a\.txt\n[^\n]*window left$/,
    );
    expect([readA(), existsSync(join(at.cwd, 'b.txt'))]).toEqual(['old a', false]);
    chat.type(' too\r');
    await chat.shows(/@a\.txt too\n\+ a\.txt \(5 B\)\nagain\n\n❯\n/);
    const { contents } = gemini.requests.at(-1)?.body ?? {};
    expect(contents).toMatchObject([
      { parts: [{ text: 'hello' }] },
      { parts: [{ text: 'first' }] },
      { parts: [{ text: expect.stringContaining('東京の a を書いて @a.txt too') }] },
    ]);
    chat.enter('write @a.txt');
    await chat.shows(/wrote a again\n\n❯\n/);
    chat.enter('//two\nlines');
    await chat.shows(/second\n\n❯\n/);
    chat.type(CTRL_D);
    const { exitCode, output } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(screenOf(output)).not.toMatch(/back to ›|files ›|Esc again/);

    // After a resume there is the same list, and files can be kept.
    const later = chatInTerminal(t, ['-r', 'trip'], { at, columns: 40 });
    await later.shows(/second\n\n❯\n/);
    later.type('/rewi');
    await later.shows(/❯ \/rewi\n› \/rewind {2}Go back/);
    later.type('\r');
    await later.shows(/back to ›\n› \/two lines +just now\n {2}write @a\.txt +just now\n/);
    later.type('\r');
    // Its files did not change: nothing is asked.
    await later.shows(/\nDropped the last exchange\.\n❯ \/\/two\n {2}lines\n/);
    later.type('\u0015\u007f\u0015');
    await later.shows(/\n❯\n[^\n]*$/);
    later.enter('/rewind');
    await later.shows(/back to ›\n› write @a\.txt[^\n]*just now\n/);
    later.type('\r');
    await later.shows(/files ›\n› Put a\.txt back as before\n/);
    later.type(`${UP}\r`);
    await later.shows(/\nDropped the last exchange\.\n❯ write @a\.txt\n/);
    expect(readA()).toBe('newer a');
    later.type(`\u0015${CTRL_D}`);
    expect((await later.ended).exitCode).toBe(0);
  },
);
