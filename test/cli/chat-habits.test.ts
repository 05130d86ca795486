import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const [CTRL_D, ESC] = ['\u0004', '\u001b'];
const DOWN = `${ESC}[B`;

function systemText({ body }: { readonly body: { systemInstruction?: { parts: { text: string }[] } } }): string {
  return body.systemInstruction?.parts.map(({ text }) => text).join('') ?? '';
}

test('what other tools call a command does the same here, and /ps and /stop have nothing to show', async (t) => {
  const { env } = sharedHome(t);
  const habits = ['/cost', '/stats session', '/chat save trip', '/approvals plan', '/compact the dates', '/about'];
  const { stderr, stdout, exitCode } = await pipedChat(t, ['hello', ...habits, '/bashes', '/stop', '/stop 3'], {
    env,
    args: ['--demo'],
  });
  expect(stdout).toBe('Hello! How can I help you today?\n');
  expect(stderr.match(/^1 turn · /gm)).toHaveLength(4);
  expect(stderr).toContain('\nSaved as trip.\nplan: tools only read\n');
  expect(stderr).toMatch(/^The conversation (?:is a summary now|stays as it is): about/m);
  expect(stderr).toMatch(
    /^gmn \S+ · demo · gemini-2\.5-flash · .* · tools only read · \/help\nsession trip, 1 turn\n1 turn · /m,
  );
  expect(stderr).toContain(
    'Nothing was started in the background.\nNothing is running in the background.\nNothing is running in the background.\n',
  );
  expect(exitCode).toBe(0);
});

test('what is no command here is not sent: it says what to do instead, or names that begin like it come first', async (t) => {
  const unknown = [
    ['/mod', 'Did you mean /model?'],
    ['/stat', 'Did you mean /status or /stats or /statusline?'],
    ['/sessoins', 'Did you mean /sessions?'],
    ['/qqqqqqqqq', 'To see the commands: /help;'],
  ] as const;
  const lines = ['/vim', '/add-dir ../lib', '/init', ...unknown.map(([entry]) => entry)];
  const { stderr, exitCode, requests } = await pipedChat(t, lines, { script: [], args: ['--yolo'] });
  expect(stderr).toMatch(
    /^Error: \/vim does nothing here\nThere is no vi mode: Ctrl\+G or \/edit opens your editor\.\n/,
  );
  expect(stderr).toContain('gmn chat --include-directories <dir>');
  expect(stderr).toContain('Error: /init shows what it would write and asks, which needs a terminal\n');
  for (const [entry, hint] of unknown) expect(stderr).toContain(`Error: there is no command ${entry}\n${hint}`);
  expect([exitCode, requests.length]).toEqual([1, 0]);
});

test('/memory shows what is known, what is added holds from the next prompt on, and # is text in a pipe', async (t) => {
  const here = { home: { '.gemini/GEMINI.md': 'Be kind.' } };
  const lines = [
    '/memory',
    '# Heading',
    '/memory add Use tabs.',
    'b',
    '/memory show',
    '/memory add',
    '/memory forget it',
  ];
  const { stderr, requests } = await pipedChat(t, lines, { ...here, script: [reply('1'), reply('2')] });
  expect(stderr).toContain('GEMINI.md ===\nBe kind.\n===');
  expect(stderr).toContain(`Added to ${join('~', '.gmn', 'AGENTS.md')}.\n`);
  expect(stderr).toContain(`${join('.gmn', 'AGENTS.md')} ===\n- Use tabs.\n===`);
  expect(stderr).toContain('Error: there is nothing to remember\n');
  expect(stderr).toContain('Error: /memory takes show or add, not "forget it"\n');
  expect(requests.map((request) => systemText(request).includes('Use tabs.'))).toEqual([false, true]);
  expect(requests[0]?.body.contents[0].parts).toEqual([{ text: '# Heading' }]);
});

test('/export takes a format in place of a file, and says what is wrong with a path', async (t) => {
  const at = place(t, { files: { 'a.txt': 'x' } });
  const formats = ['/export html', '/export json', '/export md', '/new', 'hello', '/export HTML'];
  const lines = ['hello', ...formats, '/export nodir/x.html', '/export a.txt/x.html'];
  const { stderr } = await callGmnIn(t, at, ['chat', '--demo'], lines.map((line) => `${line}\n`).join(''));
  const endings = readdirSync(at.cwd).map((name) => name.replace(/^gmn-[0-9a-f]+\./, ''));
  expect(endings.toSorted()).toEqual(['a.txt', 'html', 'html', 'json', 'md']);
  expect(stderr).toContain(
    'Error: cannot write nodir/x.html: the directory does not exist\nCreate it, or name a file in a directory that exists.\n',
  );
  expect(stderr).toContain(
    'Error: cannot write a.txt/x.html: a file is where a directory should be\nName a file in a directory that exists.\n',
  );
  expect(stderr).not.toMatch(/ENOENT|ENOTDIR|free space/);
});

test('/trust shows what a folder brings, trusts it, and its instructions count from the next prompt on', async (t) => {
  const server = { mcpServers: { probe: { command: 'false', args: ['--x'] } } };
  const files = { 'AGENTS.md': 'Use spaces.', '.gemini/settings.json': JSON.stringify(server) };
  const lines = ['/trust', 'a', '/trust yes', 'b', '/trust', '/trust no'];
  const { stderr, requests } = await pipedChat(t, lines, { files, script: [reply('1'), reply('2')] });
  expect(stderr).toMatch(
    / trusted\? No: this folder is not trusted\.\nIt brings:\n {2}MCP servers:\n {4}probe \(new\): false --x\n {2}Instructions for the model: AGENTS\.md\n/,
  );
  expect(stderr).toMatch(/^To trust it: \/trust yes$/m);
  expect(stderr).toMatch(
    /^Trusted: .*[\\/]work\nIt may now use:\nMCP servers:\n {2}probe \(new\): false --x\nInstructions for the model: AGENTS\.md\nTo undo this, in a shell: gmn trust --remove$/m,
  );
  expect(stderr).toMatch(/ trusted\? Yes: .*trust\.json trusts /);
  expect(stderr).toContain('Error: /trust takes yes, not "no"\n');
  expect(requests.map((request) => systemText(request).includes('Use spaces.'))).toEqual([false, true]);
});

posixTest('commands in the background are counted below the line, listed, and stopped', async (t) => {
  const start = (command: string) => call('run_shell_command', { command, is_background: true });
  const gemini = await fakeGemini(t, [
    reply(start('echo up; sleep 600'), start('sleep 601')),
    reply('both run'),
    reply('ok'),
  ]);
  const chat = chatInTerminal(t, ['--yolo', '--tools', 'run_shell_command'], { gemini });
  await chat.ready(1);
  chat.enter('start them');
  await chat.shows(/both run\n\n❯\ngemini\S+ · nothing asks first · .* · 2 running$/);
  chat.enter('/ps');
  await chat.shows(
    / {2}1 {2}running {2}echo up; sleep 600\n {2}2 {2}running {2}sleep 601\nTo stop one: \/stop <number>\n❯/,
  );
  chat.enter('/stop');
  await chat.shows(/Error: say which\nRunning: 1, 2\. To see what they are: \/ps\n❯/);
  chat.enter('/stop 3');
  await chat.shows(/Error: no command 3 is running in the background\nRunning: 1, 2\./);
  chat.enter('/stop 1');
  await chat.shows(/Stopped 1: echo up; sleep 600\n❯\n.* · 1 note · 1 running$/);
  chat.enter('/stop all');
  await chat.shows(/Stopped 2: sleep 601\n❯\n.* · 2 notes$/);
  chat.enter('what now?');
  await chat.shows(/\nok\n\n❯/);
  const sent = gemini.requests
    .at(-1)
    ?.body.contents.at(-1)
    .parts.map(({ text }: { text: string }) => text);
  expect(sent.join('\n')).toMatch(
    /I stopped the command that you had started in the background as 1:\n\necho up; sleep 600/,
  );
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest('a line that begins with # asks where it goes, and nothing of the list remains', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.ready(1);
  chat.enter('# 日本語で答える');
  await chat.shows(
    /❯ # 日本語で答える\nadd to ›\n› ~\/\.gmn\/AGENTS\.md +for every chat and prompt\n {2}\.\/AGENTS\.md +for this directory\n {2}no file +it is a prompt/,
  );
  chat.type('\r');
  await chat.shows(/❯ # 日本語で答える\nAdded to ~\/\.gmn\/AGENTS\.md\.\n❯/);
  chat.enter('#use tabs');
  await chat.shows(/#use tabs\nadd to ›/);
  chat.type(`${DOWN}\r`);
  // One command for trust, the one that works here.
  await chat.shows(/Added to \.\/AGENTS\.md\.\nIt is not used until you trust this folder: \/trust\n❯/);
  chat.enter('#12 is broken');
  // The folder has notes now, so its file comes first.
  await chat.shows(/#12 is broken\nadd to ›\n› \.\/AGENTS\.md +for this directory\n/);
  chat.type(`${DOWN}${DOWN}\r`);
  await chat.shows(/❯ #12 is broken\none\n\n❯/);
  chat.type('/appro');
  await chat.shows(/❯ \/appro\n› \/approve /);
  chat.type('vals');
  await chat.shows(/❯ \/approvals\n[^ ]/);
  chat.type('\u0015/comp');
  await chat.shows(/❯ \/comp\n› \/compress [^\n]*$/);
  chat.type('a');
  await chat.shows(/❯ \/compa\n› \/compact {2}\/compress: [A-Z][^\n]*$/);
  chat.type('\u0015');
  chat.enter('#nothing');
  await chat.shows(/#nothing\nadd to ›/);
  chat.type(ESC);
  await chat.shows(/❯ #nothing\n❯ #nothing/);
  chat.type('\u0015');
  chat.enter(' # a heading');
  await chat.shows(/❯ {2}# a heading\ntwo\n\n❯/);
  expect(gemini.requests.map((request) => systemText(request).includes('- 日本語で答える'))).toEqual([true, true]);
  chat.type(CTRL_D);
  const { output } = await chat.ended;
  expect(screenOf(output)).not.toContain('add to ›');
});

posixTest(
  'a plan ends with a question, an answer does not: Esc and typing keep planning, going on changes the mode, and who types already is not asked',
  async (t) => {
    const write = call('write_file', { file_path: 'a.txt', content: 'x\n' });
    const { open: answer, opened: mayAnswer } = gate();
    const gemini = await fakeGemini(t, [
      reply('1. Write a.txt.'),
      reply('Yes, and before that:\n\n1. Which text?\n2. With a line break?'),
      reply('It is a plain file.'),
      reply('１．a.txt を書く。'),
      reply(write),
      reply('done'),
      async (...exchange) => {
        await mayAnswer;
        await reply('1. Look.')(...exchange);
      },
      reply('2. Look again.'),
      reply('3. Slowly.'),
    ]);
    const chat = chatInTerminal(t, ['--approval-mode', 'plan'], { gemini });
    await chat.ready(1);
    chat.enter('plan it');
    await chat.shows(
      /1\. Write a\.txt\.\n\nthe plan ›\n› keep planning +tools only read\n {2}go on +edits run without asking[^\n]*\n {2}go on, asking/,
    );
    chat.type(ESC);
    await chat.shows(/1\. Write a\.txt\.\n\n❯\n[^\n]*tools only read/);
    chat.enter('sure?');
    // Questions and answers are no plan.
    await chat.shows(/Which text\?[\s\S]*line break\?\n\n❯\n/);
    chat.enter('x, yes. What is it?');
    await chat.shows(/It is a plain file\.\n\n❯\n/);
    chat.enter('once more');
    await chat.shows(/a\.txt を書く。\n\nthe plan ›/);
    chat.type(`${DOWN}\r`);
    await chat.shows(
      /\nauto_edit: edits run without asking\nGo ahead with the plan\.\n✓ write_file a\.txt[\s\S]*done\n\n❯/,
    );
    chat.enter('/plan plan more');
    await chat.shows(/plan: tools only read\n/);
    chat.type('next\r');
    await chat.shows(/queued[^\n]*: next/);
    answer();
    await chat.shows(/1\. Look\.\n\n❯ next\n2\. Look again\.\n\nthe plan ›/);
    chat.type('go ');
    await chat.shows(/2\. Look again\.\n\n❯ go\n/);
    chat.type('slower');
    await chat.shows(/2\. Look again\.\n\n❯ go slower\n/);
    // Typed at once with its Enter, it is sent.
    chat.type('\r');
    await chat.shows(/❯ go slower\n3\. Slowly\.\n\nthe plan ›/);
    chat.type('/stats\r');
    await chat.shows(/3\. Slowly\.\n\n❯ \/stats\n\d+ turns/);
    const prompts = gemini.requests.map(
      ({ body }) => body.contents.findLast(({ role }: { role: string }) => role === 'user').parts[0].text,
    );
    expect(prompts.slice(0, 5)).toEqual([
      ...['plan it', 'sure?', 'x, yes. What is it?', 'once more'],
      'Go ahead with the plan.',
    ]);
    const told = gemini.requests
      .slice(0, 5)
      .map((request) => systemText(request).includes('give the plan as numbered'));
    expect(told).toEqual([true, true, true, true, false]);
    chat.type(`\u0003${CTRL_D}`);
    const { exitCode, output } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(screenOf(output)).not.toContain('the plan ›');
  },
);

posixTest(
  '/init writes AGENTS.md after a question in every mode, /undo and a later chat take it back, and no other turn writes it',
  async (t) => {
    const write = call('write_file', { file_path: 'AGENTS.md', content: '# Test\n\nRun make.\n' });
    const gemini = await fakeGemini(t, [
      reply(call('read_file', { file_path: 'README.md' }), write),
      reply('Written.'),
      reply(call('write_file', { file_path: 'AGENTS.md', content: '# Test\n\nRun make test.\n' })),
      reply('Kept.'),
      reply(call('write_file', { file_path: 'AGENTS.md', content: 'Run evil.' })),
      reply('ok'),
      ...[reply(write), reply('Again.')],
      ...[reply(write), reply('Once more.')],
    ]);
    const at = place(t, { gemini, files: { 'README.md': 'A test.\n' }, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' } });
    const chat = chatInTerminal(t, ['--yolo'], { at });
    await chat.ready(1);
    chat.enter('/init');
    await chat.shows(/write_file AGENTS\.md[\s\S]*│ \+Run make\.\n╰ \[y\]es \[N\]o \[e\]dit/);
    chat.type('y');
    await chat.shows(/✓ write_file AGENTS\.md[\s\S]*Written\.\n\n❯/);
    // Asked again, it may write once more: the turn before it is dropped, and its file is there.
    chat.enter('/retry');
    await chat.shows(/\/retry\n[\s\S]*write_file AGENTS\.md[\s\S]*│ \+Run make test\.\n╰ \[y\]es/);
    chat.type('n');
    await chat.shows(/Kept\.\n\n❯/);
    expect(gemini.requests.at(-1)?.body.contents[0].parts[0].text).toContain('AGENTS.md exists already');
    chat.enter('and now?');
    await chat.shows(/✗ write_file AGENTS\.md[^\n]* is protected[\s\S]*\nok\n\n❯/);
    expect(gemini.requests.map((request) => systemText(request).includes('Run make.'))).toEqual([
      ...[false, false],
      ...[true, true, true, true],
    ]);
    expect(gemini.requests[0]?.body.contents[0].parts[0].text).toMatch(
      /^Look around in this project, then write AGENTS\.md/,
    );
    chat.enter('/undo');
    await chat.shows(/the last turn changed no files[\s\S]*❯/);
    chat.enter('/undo');
    await chat.shows(/removed AGENTS\.md\n❯/);
    chat.enter('once more');
    await chat.shows(/✗ write_file AGENTS\.md[^\n]* is protected[\s\S]*\nAgain\.\n\n❯/);
    expect(existsSync(join(at.cwd, 'AGENTS.md'))).toBe(false);
    chat.enter('/plan');
    await chat.shows(/tools only read\n❯/);
    chat.enter('/init');
    await chat.shows(/Error: in plan mode nothing is written, AGENTS\.md neither\nFirst: \/approve default\n❯/);
    chat.enter('/approve default');
    await chat.shows(/edits ask first\n❯/);
    chat.enter('/init');
    await chat.shows(/edits ask first\n[\s\S]*╰ \[y\]es/);
    chat.type('y');
    await chat.shows(/Once more\.\n\n❯/);
    chat.type(CTRL_D);
    await chat.ended;
    const later = chatInTerminal(t, ['-c'], { at });
    await later.shows(/Once more\.[\s\S]*❯\n/);
    later.type(`${ESC}${ESC}`);
    await later.shows(/back to ›\n/);
    later.type('\r');
    await later.shows(/files ›\n/);
    later.type('\r');
    await later.shows(/removed AGENTS\.md\nDropped the last exchange\.\n❯/);
    expect(existsSync(join(at.cwd, 'AGENTS.md'))).toBe(false);
  },
);

posixTest('/init improves what is there, and gmn undo puts it back', async (t) => {
  const edit = call('edit_file', { file_path: 'AGENTS.md', old_string: 'Run make.', new_string: 'Run npm test.' });
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: 'AGENTS.md' })),
    reply(edit),
    reply('Better.'),
  ]);
  const at = place(t, { gemini, files: { 'AGENTS.md': 'Run make.\n' } });
  const chat = chatInTerminal(t, ['-C', at.cwd], { gemini, env: at.env });
  await chat.shows(/Trust .*\?[\s\S]*\[n\]o/i);
  chat.type('n');
  await chat.ready(1);
  chat.enter('/init');
  await chat.shows(/edit_file AGENTS\.md[\s\S]*╰ \[y\]es/);
  chat.type('y');
  await chat.shows(/Better\.\n\nIt is not used until you trust this folder: \/trust\n❯/);
  expect(gemini.requests[0]?.body.contents[0].parts[0].text).toContain('AGENTS.md exists already: read it first.');
  chat.type(CTRL_D);
  await chat.ended;
  const file = join(at.cwd, 'AGENTS.md');
  expect(readFileSync(file, 'utf8')).toBe('Run npm test.\n');
  const { stdout, exitCode } = await callGmnIn(t, at, ['undo']);
  expect([stdout, exitCode]).toEqual([`restored ${file}\n`, 0]);
  expect([existsSync(file), readFileSync(file, 'utf8')]).toEqual([true, 'Run make.\n']);
});

posixTest('a link in the place of AGENTS.md is left alone by # and by /init, wherever it leads', async (t) => {
  const at = place(t, { files: { '.git/config': '[core]\n' }, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' } });
  symlinkSync('.git/config', join(at.cwd, 'AGENTS.md'));
  const chat = chatInTerminal(t, ['--demo'], { at, columns: 200 });
  await chat.ready(1);
  chat.enter('#fsmonitor = evil');
  await chat.shows(/add to ›/);
  chat.type('\r');
  await chat.shows(/Error: \S*AGENTS\.md is a link to \S*config, and is left alone\n[\s\S]*❯/);
  chat.enter('/init');
  await chat.shows(/\/init\nError: \S*AGENTS\.md is a link to \S*config, and is left alone\n[\s\S]*❯/);
  expect(readFileSync(join(at.cwd, '.git/config'), 'utf8')).toBe('[core]\n');
});
