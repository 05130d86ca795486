import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate as createGate } from '../support/gate.ts';
import { call, fakeGemini, reply, stream } from '../support/gemini.ts';
import { callGmnIn } from '../support/gmn.ts';
import { isRunning } from '../support/mcp-place.ts';
import { openEditor } from './support.ts';

test('a prompt is answered in chunks, with what the session is called and how full the window is', async (t) => {
  const editor = await openEditor(t, { script: [reply({ text: 'Hm.', thought: true }, 'Hel', 'lo.')] });
  const { sessionId, modes, configOptions } = await editor.begin();
  expect(modes?.availableModes.map(({ id }) => id)).toEqual(['default', 'auto_edit', 'plan']);
  expect(configOptions?.map(({ id }) => id)).toEqual(['mode', 'model', 'thinking']);
  expect(await editor.say(sessionId, 'Say hello')).toBe('end_turn');
  expect(editor.text()).toBe('Hello.');
  const rest = editor.updates.filter(({ sessionUpdate }) => sessionUpdate !== 'available_commands_update');
  expect(rest).toMatchObject([
    { sessionUpdate: 'session_info_update', title: 'Say hello' },
    { sessionUpdate: 'agent_thought_chunk', content: { text: 'Hm.' } },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'Hel' } },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'lo.' } },
    { sessionUpdate: 'usage_update', used: 17, size: 1_048_576, cost: { currency: 'USD' } },
  ]);
});

test('the answer to session/new comes before the commands', async (t) => {
  const editor = await openEditor(t, { script: [reply('x')] });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'x');
  await editor.close();
  const opened = editor.lines.findIndex(({ result }) => result?.sessionId === sessionId);
  const isCommands = (update: { sessionUpdate?: string } = {}) => update.sessionUpdate === 'available_commands_update';
  const commands = editor.lines.findIndex(({ params }) => isCommands(params?.update));
  expect(opened).toBeGreaterThan(0);
  expect(commands).toBeGreaterThan(opened);
});

const EDIT = { file_path: 'a.txt', old_string: 'one', new_string: 'two' };

test('an edit is asked about with both texts, made, and undone', async (t) => {
  const editor = await openEditor(t, {
    files: { 'a.txt': 'one\n' },
    script: [reply(call('read_file', { file_path: 'a.txt' })), reply(call('edit_file', EDIT)), reply('Done.')],
    answer: () => 'once',
  });
  const { sessionId } = await editor.begin();
  expect(await editor.say(sessionId, 'edit it')).toBe('end_turn');
  const path = join(editor.at.cwd, 'a.txt');
  const diff = { type: 'diff', path, oldText: 'one\n', newText: 'two\n' };
  const [{ toolCall, options } = { toolCall: undefined, options: [] }] = editor.asked;
  expect(toolCall).toMatchObject({ kind: 'edit', title: 'edit_file a.txt', content: [diff], locations: [{ path }] });
  expect(options.map(({ kind }) => kind)).toEqual([
    'allow_once',
    'allow_always',
    'allow_always',
    'allow_always',
    'reject_once',
  ]);
  expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'))).toMatchObject([
    { sessionUpdate: 'tool_call', kind: 'read', status: 'pending', locations: [{ path }] },
    { status: 'in_progress' },
    { status: 'completed', content: [{ type: 'content', content: { text: 'one' } }] },
    { sessionUpdate: 'tool_call', kind: 'edit', status: 'pending', toolCallId: toolCall?.toolCallId },
    { status: 'in_progress' },
    { status: 'completed', content: [diff], toolCallId: toolCall?.toolCallId },
  ]);
  expect(readFileSync(path, 'utf8')).toBe('two\n');
  expect(await editor.say(sessionId, '/undo')).toBe('end_turn');
  expect(readFileSync(path, 'utf8')).toBe('one\n');
  expect(editor.text()).toContain('restored a.txt');
});

const ANSWERS = [
  ['no', 'one\n', 'The user said no', 'end_turn'],
  ['an option that nobody offered', 'one\n', 'The user said no', 'end_turn'],
  ['always', 'two\n', 'Changed', 'end_turn'],
  ['file', 'two\n', 'Changed', 'end_turn'],
  ['project', 'two\n', 'Changed', 'end_turn'],
  [undefined, 'one\n', undefined, 'cancelled'],
] as const;

test.for(ANSWERS)('a question that is answered with %s', async ([optionId, content, told, stop], t) => {
  const asks = [reply(call('read_file', { file_path: 'a.txt' })), reply(call('edit_file', EDIT))];
  const gemini = await fakeGemini(t, told === undefined ? asks : [...asks, reply('Well.')]);
  const editor = await openEditor(t, { files: { 'a.txt': 'one\n' }, gemini, answer: () => optionId });
  const { sessionId } = await editor.begin();
  expect(await editor.say(sessionId, 'edit it')).toBe(stop);
  expect(readFileSync(join(editor.at.cwd, 'a.txt'), 'utf8')).toBe(content);
  if (told !== undefined) expect(JSON.stringify(gemini.requests[2]?.results)).toContain(told);
  const modes = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'current_mode_update');
  expect(modes).toMatchObject(optionId === 'always' || optionId === 'project' ? [{ currentModeId: 'auto_edit' }] : []);
});

const COMMANDS = [
  ['once', 2, ['git status -s', 'git status']],
  ['always', 1, ['git status -s', 'git status -s']],
  ['prefix', 1, ['git status -s', 'git status']],
  ['project', 1, ['git status -s', 'git status']],
  ['no', 2, ['git status -s', 'git status -s']],
] as const;

test.for(COMMANDS)('a command that is answered with %s', async ([optionId, questions, commands], t) => {
  const gemini = await fakeGemini(t, [
    ...commands.map((command) => reply(call('run_shell_command', { command }))),
    reply('Well.'),
  ]);
  const editor = await openEditor(t, { gemini, answer: () => optionId });
  const { sessionId } = await editor.begin();
  expect(await editor.say(sessionId, 'run them')).toBe('end_turn');
  expect(editor.asked).toHaveLength(questions);
  expect(editor.asked[0]).toMatchObject({ toolCall: { kind: 'execute', title: 'git status -s' } });
  expect(editor.asked[0]?.options.map((option) => [option.optionId, option.kind])).toEqual([
    ['once', 'allow_once'],
    ['always', 'allow_always'],
    ['project', 'allow_always'],
    ['prefix', 'allow_always'],
    ['no', 'reject_once'],
  ]);
  const kept = await callGmnIn(t, editor.at, ['permissions', 'list']);
  expect(kept.stdout.includes('git status')).toBe(optionId === 'project');
  for (const { results } of gemini.requests.slice(1)) {
    expect(JSON.stringify(results).includes('The user said no')).toBe(optionId === 'no');
  }
});

test('cancel in mid-tool stops the command', async (t) => {
  const command = `node -e "require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)"`;
  const editor = await openEditor(t, {
    ...{ script: [reply(call('run_shell_command', { command })), reply('On.')], answer: () => 'once' },
  });
  const { sessionId } = await editor.begin();
  const prompt = editor.say(sessionId, 'run it');
  const file = join(editor.at.cwd, 'pid');
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), { timeout: 10_000 }).toMatch(/^\d+$/);
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await prompt).toBe('cancelled');
  await expect.poll(() => isRunning(Number(readFileSync(file, 'utf8'))), { timeout: 10_000 }).toBe(false);
  const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call_update');
  expect(calls.at(-1)).toMatchObject({ status: 'failed' });
  expect(await editor.say(sessionId, 'go on')).toBe('end_turn');
});

test('cancel in mid-stream ends the prompt with what had come', async (t) => {
  const gate = createGate();
  const editor = await openEditor(t, { script: [stream('Some', () => gate.open()), reply('More.')] });
  const { sessionId } = await editor.begin();
  const prompt = editor.say(sessionId, 'go on');
  await gate.opened;
  while (editor.text() === '') await new Promise((resolve) => setImmediate(resolve));
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await prompt).toBe('cancelled');
  expect(await editor.say(sessionId, 'and now?')).toBe('end_turn');
  expect(editor.text()).toBe('SomeMore.');
});

test('what a command prints keeps its columns', async (t) => {
  const editor = await openEditor(t, { script: [] });
  const { sessionId } = await editor.begin();
  expect(await editor.say(sessionId, '/context')).toBe('end_turn');
  const rows = editor.text().split('\n').slice(1, -2);
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.map((row) => row.search(/\d {2}/))).toEqual(rows.map(() => 10));
});

test('commands that are for terminals are not run, whatever other tools call them', async (t) => {
  const editor = await openEditor(t, { script: [reply('x')] });
  const [one, two] = [await editor.begin(), await editor.begin()];
  await editor.say(one.sessionId, 'first');
  await editor.agent.request('session/close', { sessionId: one.sessionId });
  for (const entry of ['/exit', '/new', `/continue ${one.sessionId}`, `/chat resume ${one.sessionId}`, '/shortcuts']) {
    expect(await editor.say(two.sessionId, entry)).toBe('end_turn');
  }
  const refused = editor.text().match(/\/\S+ is for terminals/g);
  expect(refused).toEqual(['exit', 'new', 'load', 'load', 'keys'].map((name) => `/${name} is for terminals`));
});
