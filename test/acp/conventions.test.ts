import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { place } from '../support/gmn.ts';
import { type Editor, openEditor } from './support.ts';

/** Files of the user. */
function writeHome({ at }: Editor, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(at.home, '.gemini', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

const WRITE = { file_path: 'a.txt', content: 'x' };

test('hooks see the session begin and end, and may refuse a call', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('write_file', WRITE)), reply('Well.')]);
  const editor = await openEditor(t, { gemini });
  const log = join(editor.at.root, 'hooks.log');
  writeHome(editor, {
    'log.cjs': `const text = require('node:fs').readFileSync(0, 'utf8');
require('node:fs').appendFileSync(${JSON.stringify(log)}, JSON.parse(text).hook_event_name + '\\n');
if (process.argv[2] === 'no') { console.error('not today'); process.exit(2); }`,
  });
  const command = `"${process.execPath}" "${join(editor.at.home, '.gemini', 'log.cjs')}"`;
  const hook = (more = '') => [{ hooks: [{ type: 'command', command: `${command} ${more}`.trim() }] }];
  const events = { SessionStart: hook(), BeforeTool: hook('no'), SessionEnd: hook() };
  writeHome(editor, { 'settings.json': JSON.stringify({ hooks: events }) });
  const { sessionId } = await editor.begin();
  expect(await editor.say(sessionId, 'write it')).toBe('end_turn');
  expect(editor.asked).toEqual([]);
  expect(gemini.requests[1]?.results).toMatchObject([{ error: expect.stringContaining('not today') }]);
  expect(editor.updates).toContainEqual(expect.objectContaining({ status: 'failed' }));
  await editor.agent.request('session/close', { sessionId });
  expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual(Object.keys(events));
});

test('a skill is followed, in a prompt that the session shows again as it was typed', async (t) => {
  const gemini = await fakeGemini(t, [reply('Rain, again.')]);
  const editor = await openEditor(t, { gemini });
  writeHome(editor, { 'skills/poem/SKILL.md': '---\nname: poem\ndescription: writes poems\n---\nRhyme always.\n' });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, '/skill:poem about rain');
  expect(gemini.requests[0]?.parts).toMatchObject([
    { text: expect.stringContaining('Rhyme always.') },
    { text: 'about rain' },
  ]);
  const { sessions } = await editor.agent.request('session/list', {});
  expect(sessions).toMatchObject([{ title: '/skill:poem about rain' }]);
});

test.for([
  ['once', 'completed'],
  ['no', 'failed'],
] as const)(
  'what a sub-agent wants to do is asked about, and does not wait for ever: %s',
  async ([answer, status], t) => {
    const gemini = await fakeGemini(t, [reply(call('write_file', WRITE)), reply('Tried.'), reply('All.')]);
    const editor = await openEditor(t, { gemini, answer: () => answer });
    const agent = '---\nname: helper\ndescription: helps\ntools: [read_file, write_file]\n---\nYou help.\n';
    writeHome(editor, { 'agents/helper.md': agent });
    const { sessionId } = await editor.begin();
    expect(await editor.say(sessionId, '@helper write a file')).toBe('end_turn');
    const [{ toolCall } = { toolCall: undefined }] = editor.asked;
    expect(toolCall).toMatchObject({ title: 'write_file a.txt', content: [{ type: 'diff', newText: 'x' }] });
    const told = editor.updates.filter(
      (update) => 'toolCallId' in update && update.toolCallId === toolCall?.toolCallId,
    );
    expect(told).toMatchObject([{ status }]);
    const own = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call');
    expect(own).toMatchObject([{ title: 'helper write a file' }]);
    expect(editor.text()).toBe('All.');
  },
);

test('in plan mode nothing is written, and the plan can be carried out in another mode', async (t) => {
  const gemini = await fakeGemini(t, [reply('First this.'), reply(call('write_file', WRITE)), reply('Done.')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, '/plan how would you write it?');
  expect(gemini.requests[0]?.tools).not.toContain('write_file');
  const modes = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'current_mode_update');
  expect(modes).toMatchObject([{ currentModeId: 'plan' }]);
  await editor.agent.request('session/set_config_option', { sessionId, configId: 'mode', value: 'auto_edit' });
  expect(await editor.say(sessionId, 'do it')).toBe('end_turn');
  expect(readFileSync(join(editor.at.cwd, 'a.txt'), 'utf8')).toBe('x');
});

/** In place of bubblewrap: confines nothing, and says that it was there. What a real one holds is test/sandbox/. */
const STAND_IN = `#!/bin/sh
options=$(tr '\\0' '\\n' <&3)
cd "$(echo "$options" | sed -n '/^--chdir$/{n;p;}')"
# The first program inside looks whether it is confined, so that is taken out.
script=$(echo "$6" | sed 's/^\\[ ! -w .* \\]/:/')
shift 6
echo confined
exec /bin/sh -c "$script" "$@"
`;

const linuxTest = process.platform === 'linux' ? test : test.skip;

linuxTest(
  'in a sandbox commands run confined, not in a terminal of the editor, and auto_edit asks nothing',
  async (t) => {
    const gemini = await fakeGemini(t, [reply(call('run_shell_command', { command: 'echo hello' })), reply('Done.')]);
    const at = place(t, { gemini });
    writeFileSync(join(at.root, 'bwrap'), STAND_IN, { mode: 0o755 });
    const editor = await openEditor(t, {
      ...{ gemini, at: { ...at, env: { ...at.env, PATH: `${at.root}:${at.env.PATH}` } } },
      ...{ options: { sandbox: 'bwrap', approvalMode: 'auto_edit' }, capabilities: { terminal: true } },
    });
    const { sessionId, modes } = await editor.begin();
    expect(modes?.availableModes[1]?.description).toBe('edits and confined commands run without asking');
    expect(await editor.say(sessionId, 'run it')).toBe('end_turn');
    expect(gemini.requests[1]?.results).toMatchObject([{ output: 'confined\nhello\n' }]);
  },
);
