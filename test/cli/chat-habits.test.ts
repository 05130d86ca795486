import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat, readChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { place, runGmnIn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const [CTRL_D, ESC] = ['\u0004', '\u001b'];
const DOWN = `${ESC}[B`;

function systemText({ body }: { readonly body: { systemInstruction?: { parts: { text: string }[] } } }): string {
  return body.systemInstruction?.parts.map(({ text }) => text).join('') ?? '';
}

test('what other tools call a command does the same here', async (t) => {
  const { env } = sharedHome(t);
  const { stderr, stdout, exitCode } = await pipedChat(
    t,
    ['hello', '/cost', '/stats session', '/chat save trip', '/approvals plan', '/compact the dates', '/about'],
    { env, args: ['--demo'] },
  );
  expect(stdout).toBe('Hello! How can I help you today?\n');
  expect(stderr.match(/^1 turn · /gm)).toHaveLength(4);
  expect(stderr).toContain('\nSaved as trip.\nplan: tools only read\n');
  expect(stderr).toMatch(/^The conversation (?:is a summary now|stays as it is): about/m);
  expect(stderr).toMatch(
    /^gmn \S+ · demo · gemini-2\.5-flash · .* · tools only read · \/help\nsession trip, 1 turn\n1 turn · /m,
  );
  expect(exitCode).toBe(0);
});

test('what gmn does not have says what to do instead, and fails in a pipe', async (t) => {
  const { stderr, exitCode, requests } = await pipedChat(t, ['/vim', '/add-dir ../lib'], { script: [] });
  expect(stderr).toMatch(
    /^Error: \/vim does nothing here\nThere is no vi mode: Ctrl\+G or \/edit opens your editor\.\n/,
  );
  expect(stderr).toContain('gmn chat --include-directories <dir>');
  expect([exitCode, requests.length]).toEqual([1, 0]);
});

test.for([
  ['/mod', 'Did you mean /model?'],
  ['/stat', 'Did you mean /status or /stats or /statusline?'],
  ['/sessoins', 'Did you mean /sessions?'],
  ['/qqqqqqqqq', 'To see the commands: /help;'],
])('%s is not sent, and names that begin like it come first', async ([entry = '', hint = ''], t) => {
  const { stderr, requests } = await pipedChat(t, [entry], { script: [] });
  expect(stderr).toContain(`Error: there is no command ${entry}\n${hint}`);
  expect(requests).toEqual([]);
});

test('a line of a pipe that begins with # is a prompt', async (t) => {
  const { requests } = await pipedChat(t, ['# Heading'], { script: [reply('a')] });
  expect(requests.map(({ body }) => body.contents[0].parts)).toEqual([[{ text: '# Heading' }]]);
});

test('/memory shows what is known, and what is added holds from the next prompt on', async (t) => {
  const here = { home: { '.gemini/GEMINI.md': 'Be kind.' } };
  const lines = ['/memory', 'a', '/memory add Use tabs.', 'b', '/memory show', '/memory add', '/memory forget it'];
  const { stderr, requests } = await pipedChat(t, lines, { ...here, script: [reply('1'), reply('2')] });
  expect(stderr).toContain('GEMINI.md ===\nBe kind.\n===');
  expect(stderr).toContain(`Added to ${join('~', '.gmn', 'AGENTS.md')}.\n`);
  expect(stderr).toContain(`${join('.gmn', 'AGENTS.md')} ===\n- Use tabs.\n===`);
  expect(stderr).toContain('Error: there is nothing to remember\n');
  expect(stderr).toContain('Error: /memory takes show or add, not "forget it"\n');
  expect(requests.map((request) => systemText(request).includes('Use tabs.'))).toEqual([false, true]);
});

test('/export takes a format in place of a file', async (t) => {
  const at = place(t);
  for (const format of ['html', 'json', 'md', 'HTML'])
    await runGmnIn(t, at, ['chat', '--demo'], `hello\n/export ${format}\n`);
  const endings = readdirSync(at.cwd).map((name) => name.replace(/^gmn-[0-9a-f]+\./, ''));
  expect(endings.toSorted()).toEqual(['html', 'html', 'json', 'md']);
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
    /^Trusted: .*[\\/]work\nIts MCP servers may now start:\n {2}probe \(new\): false --x\nTo undo this, in a shell: gmn trust --remove$/m,
  );
  expect(stderr).toMatch(/ trusted\? Yes: .*trust\.json trusts /);
  expect(stderr).toContain('Error: /trust takes yes, not "no"\n');
  expect(requests.map((request) => systemText(request).includes('Use spaces.'))).toEqual([false, true]);
});

test('/ps and /stop without a command in the background say so', async (t) => {
  expect(await readChat(t, ['/ps', '/stop', '/stop 3'])).toBe(
    'Nothing was started in the background.\nNothing is running in the background.\nNothing is running in the background.\n',
  );
});

test('/init without a terminal to ask on writes nothing', async (t) => {
  const { stderr, requests } = await pipedChat(t, ['/init'], { script: [], args: ['--yolo'] });
  expect(stderr).toContain('Error: /init shows what it would write and asks, which needs a terminal\n');
  expect(requests).toEqual([]);
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
  await chat.shows(/Added to \.\/AGENTS\.md\.\n[\s\S]*It is not used before you trust this folder: \/trust\n❯/);
  chat.enter('#12 is broken');
  await chat.shows(/#12 is broken\nadd to ›/);
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

posixTest('a plan ends with a question: Esc keeps planning, and going on changes the mode', async (t) => {
  const write = call('write_file', { file_path: 'a.txt', content: 'x\n' });
  const gemini = await fakeGemini(t, [
    reply('1. Write a.txt.'),
    reply('Still: write a.txt.'),
    reply(write),
    reply('done'),
    reply('bye'),
  ]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.ready(1);
  chat.enter('/plan plan it');
  await chat.shows(/plan: tools only read\n/);
  await chat.shows(
    /1\. Write a\.txt\.\n\nthe plan ›\n› keep planning +tools only read\n {2}go on +edits run without asking[^\n]*\n {2}go on, asking/,
  );
  chat.type(ESC);
  await chat.shows(/1\. Write a\.txt\.\n\n❯\n[^\n]*tools only read/);
  chat.enter('sure?');
  await chat.shows(/Still: write a\.txt\.\n\nthe plan ›/);
  chat.type(`${DOWN}\r`);
  await chat.shows(
    /\nauto_edit: edits run without asking\nGo ahead with the plan\.\n✓ write_file a\.txt[\s\S]*done\n\n❯/,
  );
  chat.enter('thanks');
  await chat.shows(/bye\n\n❯/);
  const prompts = gemini.requests.map(
    ({ body }) => body.contents.findLast(({ role }: { role: string }) => role === 'user').parts[0].text,
  );
  expect(prompts.slice(0, 3)).toEqual(['plan it', 'sure?', 'Go ahead with the plan.']);
  chat.type(CTRL_D);
  expect(screenOf((await chat.ended).output)).not.toContain('the plan ›');
});

posixTest('a plan asks nobody who types already, and typing closes the question', async (t) => {
  const { open: answer, opened: mayAnswer } = gate();
  const gemini = await fakeGemini(t, [
    async (...exchange) => {
      await mayAnswer;
      await reply('1. Look.')(...exchange);
    },
    reply('2. Look again.'),
  ]);
  const chat = chatInTerminal(t, ['--approval-mode', 'plan'], { gemini });
  await chat.ready(1);
  chat.enter('plan it');
  await chat.shows(/❯ plan it\n/);
  chat.type('next\r');
  await chat.shows(/queued[^\n]*: next/);
  answer();
  await chat.shows(/1\. Look\.\n\n❯ next\n2\. Look again\.\n\nthe plan ›/);
  chat.type('go ');
  await chat.shows(/2\. Look again\.\n\n❯ go\n/);
  chat.type('slower');
  await chat.shows(/2\. Look again\.\n\n❯ go slower\n/);
  chat.type(`\u0003${CTRL_D}`);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest(
  '/init writes AGENTS.md after a question in every mode, /undo takes it back, and no other turn writes it',
  async (t) => {
    const write = call('write_file', { file_path: 'AGENTS.md', content: '# Test\n\nRun make.\n' });
    const gemini = await fakeGemini(t, [
      reply(call('read_file', { file_path: 'README.md' }), write),
      reply('Written.'),
      reply(call('write_file', { file_path: 'AGENTS.md', content: '# Test\n\nRun make test.\n' })),
      reply('Kept.'),
      reply(call('write_file', { file_path: 'AGENTS.md', content: 'Run evil.' })),
      reply('ok'),
      reply(write),
      reply('Again.'),
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
    chat.type(CTRL_D);
    await chat.ended;
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
  await chat.shows(/Better\.\n\n[\s\S]*It is not used before you trust this folder: \/trust\n❯/);
  expect(gemini.requests[0]?.body.contents[0].parts[0].text).toContain('AGENTS.md exists already: read it first.');
  chat.type(CTRL_D);
  await chat.ended;
  const file = join(at.cwd, 'AGENTS.md');
  expect(readFileSync(file, 'utf8')).toBe('Run npm test.\n');
  const { stdout, exitCode } = await runGmnIn(t, at, ['undo']);
  expect([stdout, exitCode]).toEqual([`restored ${file}\n`, 0]);
  expect([existsSync(file), readFileSync(file, 'utf8')]).toEqual([true, 'Run make.\n']);
});

posixTest('a rewind in a later chat puts back what /init wrote', async (t) => {
  const write = call('write_file', { file_path: 'AGENTS.md', content: 'Run make.\n' });
  const gemini = await fakeGemini(t, [reply(write), reply('Written.')]);
  const at = place(t, { gemini, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' } });
  const chat = chatInTerminal(t, [], { at });
  await chat.ready(1);
  chat.enter('/init');
  await chat.shows(/╰ \[y\]es/);
  chat.type('y');
  await chat.shows(/Written\.\n\n❯/);
  chat.type(CTRL_D);
  await chat.ended;
  const later = chatInTerminal(t, ['-c'], { at });
  await later.shows(/Written\.[\s\S]*❯\n/);
  later.type(`${ESC}${ESC}`);
  await later.shows(/back to ›\n/);
  later.type('\r');
  await later.shows(/files ›\n/);
  later.type('\r');
  await later.shows(/removed AGENTS\.md\nDropped the last exchange\.\n❯/);
  expect(existsSync(join(at.cwd, 'AGENTS.md'))).toBe(false);
});

posixTest('a link in the place of AGENTS.md is left alone by # and by /init, wherever it leads', async (t) => {
  const at = place(t, { files: { '.git/config': '[core]\n' }, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' } });
  symlinkSync('.git/config', join(at.cwd, 'AGENTS.md'));
  const chat = chatInTerminal(t, ['--demo'], { at, columns: 200 });
  await chat.ready(1);
  chat.enter('#fsmonitor = evil');
  await chat.shows(/add to ›/);
  chat.type(`${DOWN}\r`);
  await chat.shows(/Error: \S*AGENTS\.md is a link to \S*config, and is left alone\n[\s\S]*❯/);
  chat.enter('/init');
  await chat.shows(/\/init\nError: \S*AGENTS\.md is a link to \S*config, and is left alone\n[\s\S]*❯/);
  expect(readFileSync(join(at.cwd, '.git/config'), 'utf8')).toBe('[core]\n');
  chat.type(CTRL_D);
  await chat.ended;
  const atRoot = chatInTerminal(t, ['--demo', '-C', '/'], { at });
  await atRoot.ready(1);
  atRoot.enter('#x');
  await atRoot.shows(/ {2}\.\/AGENTS\.md +for this directory/);
  atRoot.type(ESC);
});
