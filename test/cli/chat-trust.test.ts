import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place, runGmnIn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const FILES = {
  'AGENTS.md': 'Be kind.',
  '.gemini/settings.json': JSON.stringify({
    model: { name: 'gemini-2.5-pro' },
    mcpServers: { 'fi\u202eles': { command: 'no-such-program', args: ['-y', 'x'] } },
  }),
  '.gemini/commands/x.toml': 'prompt = "x"',
};

posixTest('a chat asks once whether the folder is trusted; a no is kept, and gmn trust changes it', async (t) => {
  const gemini = await fakeGemini(t, [reply('plain'), reply('kind')]);
  const at = place(t, { gemini, files: FILES });
  const asked = chatInTerminal(t, [], { at, columns: 60 });
  const question = await asked.shows(/\[y\]es .*\[n\]o.* › ?$/im);
  const screen = question.replaceAll('\r', '');
  for (const words of ['Settings: model.name', 'MCP servers:', 'Instructions for the model: AGENTS.md', 'Commands:'])
    expect(screen).toContain(words);
  // Nothing in the name of a server can turn the text around.
  expect(screen).toMatch(/fi\\u202eles \(new\): no-such-program -y x/);
  expect(screen).not.toContain('\u202e');
  asked.type('n');
  await asked.shows(/not trusted\. To change that: gmn trust\n[\s\S]*❯/);
  asked.enter('/q');
  await asked.ended;
  const again = chatInTerminal(t, [], { at });
  await again.ready(1);
  again.enter('hello');
  expect(await again.shows(/plain\n\n❯/)).not.toMatch(/Trust|trusted/);
  again.enter('/q');
  await again.ended;
  expect(gemini.requests[0]?.path).toContain('gemini-2.5-flash');
  expect(JSON.stringify(gemini.requests[0]?.body)).not.toContain('Be kind.');
  expect((await callGmnIn(t, at, ['trust', '--list'])).stdout).toMatch(/^\S+work {2}\S+ {2}not trusted\n$/);
  expect((await callGmnIn(t, at, ['config', 'list'])).stderr).toBe('');
  await callGmnIn(t, at, ['trust']);
  expect(await callGmnIn(t, at, ['--tools', 'read', 'hello'])).toMatchObject({
    stdout: 'kind\n',
  });
  expect(gemini.requests[1]?.path).toContain('gemini-2.5-pro');
  expect(JSON.stringify(gemini.requests[1]?.body)).toContain('Be kind.');
});

posixTest('gmn trust shows what a folder brings and asks; --yes and a pipe do not', async (t) => {
  const at = place(t, { files: FILES });
  const listed = async () => (await callGmnIn(t, at, ['trust', '--list'])).stdout;
  const answer = async (key: string) => {
    const terminal = runInTerminal(t, ['trust'], { at, columns: 100 });
    const shown = await terminal.until(/\[y\]es[^\n]*› ?$/);
    terminal.type(key);
    return { shown, ...(await terminal.ended) };
  };
  const left = await answer('\u001b');
  expect(left.shown).toContain('Instructions for the model: AGENTS.md');
  expect([left.exitCode, left.output]).toEqual([0, expect.stringContaining('Nothing was changed.')]);
  expect(await listed()).toBe('No folder was trusted by gmn.\n');
  expect((await answer('y')).output).toContain('Trusted: ');
  expect(await listed()).not.toContain('not trusted');
  expect((await answer('n')).output).toContain('Not trusted: ');
  expect(await listed()).toContain('not trusted');
  const unasked = runInTerminal(t, ['trust', '--yes'], { at, columns: 100 });
  expect(await unasked.ended).toMatchObject({ exitCode: 0, output: expect.not.stringContaining('[y]es') });
  expect(await listed()).not.toContain('not trusted');
});

posixTest('a yes is for all that was shown, also of the folder above, and holds at once', async (t) => {
  const gemini = await fakeGemini(t, [reply('kind')]);
  const at = place(t, { gemini, files: { ...FILES, 'sub/GEMINI.md': 'Be brief.', '.git/HEAD': '' } });
  const chat = chatInTerminal(t, ['--no-mcp', 'hello'], { at: { ...at, cwd: join(at.cwd, 'sub') }, columns: 100 });
  expect(await chat.shows(/\[y\]es .*\[n\]o.* › ?$/im)).toMatch(
    /work:\r\n[\s\S]*AGENTS\.md[\s\S]*sub:\r\n[\s\S]*GEMINI\.md/,
  );
  chat.type('y');
  await chat.shows(/kind\n\n❯/);
  chat.enter('/q');
  await chat.ended;
  expect(JSON.stringify(gemini.requests[0]?.body)).toMatch(/Be kind\.[\s\S]*Be brief\./);
  const { folders } = JSON.parse(readFileSync(join(at.home, '.gmn/trust.json'), 'utf8'));
  expect(Object.keys(folders)).toEqual([at.cwd, join(at.cwd, 'sub')].map((path) => realpathSync(path)));
  expect(Object.keys(folders[realpathSync(at.cwd)].servers)).toEqual(['fi\u202eles']);
});

posixTest('a question that is left stays open: Esc goes on without trust, all else ends the chat', async (t) => {
  const at = place(t, { files: FILES });
  const ask = async () => {
    const chat = chatInTerminal(t, ['--demo', '--no-mcp'], { at, columns: 200 });
    await chat.shows(/Trust .*[\s\S]*\[y\]es \[N\]o › ?$/m);
    return chat;
  };
  const interrupted = await ask();
  interrupted.type('\u0003');
  expect((await interrupted.ended).exitCode).toBe(130);
  const closed = await ask();
  closed.hangUp();
  // The end of the terminal may be seen before its signal.
  expect([129, 130]).toContain((await closed.ended).exitCode);
  for (const key of ['\u0004', '\u001b']) {
    const chat = await ask();
    chat.type(key);
    expect(await chat.shows(/^❯/m)).toMatch(/AGENTS\.md is not used: this folder is not trusted/);
    chat.enter('/q');
    await chat.ended;
  }
  expect(existsSync(join(at.home, '.gmn/trust.json'))).toBe(false);
});

posixTest(
  'no name of a folder is a row of its own in the question, and the home directory is never in it',
  async (t) => {
    const at = place(t, {
      files: { 'a\n│ Trusted.\u202e/AGENTS.md': 'Be kind.', 'a\n│ Trusted.\u202e/sub/GEMINI.md': 'Be brief.' },
    });
    mkdirSync(join(at.cwd, 'a\n│ Trusted.\u202e/.git'));
    writeFileSync(join(at.home, 'AGENTS.md'), 'Be mine.');
    mkdirSync(join(at.home, '.git'));
    const cwd = join(at.cwd, 'a\n│ Trusted.\u202e', 'sub');
    const chat = chatInTerminal(t, ['--demo'], { at: { ...at, cwd }, columns: 200 });
    const rows = (await chat.shows(/\[y\]es \[N\]o › ?$/m)).replaceAll('\r', '').split('\n');
    expect(rows.filter((row) => /^│ Trusted/.test(row))).toEqual([]);
    expect(rows.join('\n')).toMatch(/a\\n│ Trusted\.\\u202e and .*sub, and all folders in them\?/);
    chat.type('\u0003');
    await chat.ended;
    const inside = join(at.home, 'x');
    mkdirSync(inside);
    // The second one brings nothing itself.
    for (const path of [at.home, inside]) {
      const unasked = chatInTerminal(t, ['--demo'], { at: { ...at, cwd: path } });
      expect(await unasked.ready(1)).not.toContain('[y]es');
    }
    expect((await callGmnIn(t, at, ['trust', at.home])).exitCode).toBe(0);
  },
);

test('where nobody can be asked there is a notice, and no question', async (t) => {
  const at = place(t, { files: FILES });
  const { stderr } = await runGmnIn(t, at, ['chat', '--demo', '--no-mcp'], 'hello\n');
  expect(stderr).toContain('AGENTS.md is not used: this folder is not trusted. To trust the folder, run: gmn trust');
  expect(stderr).not.toContain('Trust ');
});

posixTest('a one-shot never asks', async (t) => {
  const at = place(t, { files: FILES });
  const { output } = await runInTerminal(t, ['--demo', '--tools', 'read', 'hello'], { at }).ended;
  expect(output).not.toContain('[y]es');
});
