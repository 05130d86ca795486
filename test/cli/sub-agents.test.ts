import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { call, type FakeGemini, failure, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, type GmnOptions, parseLines, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { complainIfInput } from '../support/shell-lines.ts';

const KEY = 'test-key-0123456789';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const agent = (fields: string, body = 'You test things.'): string =>
  `---\nname: tester\ndescription: Tests what was changed.\n${fields}\n---\n${body}\n`;

function agentPlace(
  t: TestContext,
  gemini: FakeGemini,
  { home = {}, ...options }: GmnOptions = {},
  fields = 'tools: [read_file, replace]',
) {
  return place(t, { gemini, ...options, home: { '.gemini/agents/tester.md': agent(fields), ...home } });
}

const ASK = reply(call('tester', { prompt: 'Look at a.txt' }));
const READ = reply(call('read_file', { file_path: 'a.txt' }));

test('a sub-agent is a tool of its name, with its own instruction, tools and history, and one line', async (t) => {
  const gemini = await fakeGemini(t, [ASK, READ, reply('it says hello'), reply('done')]);
  const at = agentPlace(t, gemini, { files: { 'a.txt': 'hello', 'GEMINI.md': 'Be brief.' } });
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '-o', 'json', 'x']);
  const [first, second, third, last] = gemini.requests;
  expect(first?.tools).toContain('tester');
  expect(second?.body.systemInstruction.parts[0].text).toMatch(/^You test things\.\n\nYou do this for another agent/);
  // Of what it names, only what its parent has; and no other sub-agent.
  expect(second?.tools).toEqual(['read_file']);
  expect(second?.body.contents).toEqual([{ role: 'user', parts: [{ text: 'Look at a.txt' }] }]);
  expect(third?.results).toEqual([{ output: 'hello' }]);
  expect(last?.results).toEqual([{ output: 'it says hello', session: expect.stringMatching(/^[0-9a-f]{8}$/) }]);
  // All four requests are counted.
  expect(JSON.parse(gmn.stdout)).toMatchObject({ response: 'done', usage: { totalTokenCount: 68 } });
  const listed = JSON.parse((await callGmnIn(t, at, ['sessions', 'list', '--json'])).stdout).sessions;
  expect(listed.map(({ from, title }: Record<string, string>) => [from, title])).toEqual(
    expect.arrayContaining([
      ['one-shot', 'x'],
      ['sub-agent', 'tester: Look at a.txt'],
    ]),
  );
  const own = listed.find(({ from }: Record<string, string>) => from === 'sub-agent');
  const shown = await callGmnIn(t, at, ['sessions', 'show', own.id]);
  expect(shown.stdout).toContain('it says hello');
});

test('its line says how many calls it made, and what they cost', async (t) => {
  const gmn = await callGmn(t, ['--tools', 'read', 'x'], {
    home: { '.claude/agents/tester.md': agent('tools: Read, Grep, Bash\nmodel: sonnet') },
    files: { 'a.txt': 'hello' },
    script: [ASK, READ, reply('fine'), reply('done')],
  });
  expect(gmn.stderr).toMatch(/^✓ tester .*· 1 call · \$0\.\d+ · session [0-9a-f]{8}/m);
  expect(gmn.stderr).not.toContain('read_file');
  expect(gmn.requests[1]?.tools).toEqual(['read_file', 'search_file_content']);
  const unsaved = await callGmn(t, ['--tools', 'read', '--no-session', 'x'], {
    home: { '.gemini/agents/tester.md': agent('') },
    script: [ASK, reply('fine'), reply('done')],
  });
  expect(unsaved.stderr).toMatch(/^✓ tester .*· 0 calls · \$0\.\d+$/m);
  expect(unsaved.requests[1]?.tools).not.toContain('tester');
});

test('@name at the beginning asks it at once, with the rest as its prompt', async (t) => {
  const gemini = await fakeGemini(t, [reply('looks good'), reply('It looks good.')]);
  const at = agentPlace(t, gemini);
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '-o', 'stream-json', '@tester check\nall of it']);
  expect(gemini.requests[0]?.prompt).toBe('check\nall of it');
  expect(gemini.requests[0]?.body.systemInstruction.parts[0].text).toContain('You test things.');
  expect(gemini.requests[1]?.results).toMatchObject([{ output: 'looks good' }]);
  const events = parseLines(gmn.stdout);
  expect(events.map(({ type }) => type)).toEqual(['start', 'tool_call', 'tool_result', 'content', 'done']);
  const text = await callGmn(t, ['--tools', 'read', '@nobody check'], {
    home: { '.gemini/agents/tester.md': agent('') },
    script: [reply('who?')],
  });
  expect(text).toMatchObject({ stdout: 'who?\n', exitCode: 0 });
  const bare = await callGmn(t, ['@tester check'], {
    home: { '.gemini/agents/tester.md': agent('') },
    script: [reply('hm')],
  });
  expect(bare.stderr).toContain('@tester is a sub-agent, which needs tools to work with');
});

test('its own model and temperature are asked, and a turn limit ends it, not the run', async (t) => {
  const gemini = await fakeGemini(t, [ASK, READ, reply('done')]);
  const at = agentPlace(
    t,
    gemini,
    { files: { 'a.txt': 'A' } },
    'model: gemini-2.5-pro\ntemperature: 0.2\nmax_turns: 1',
  );
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '-m', 'gemini-2.5-flash', 'x']);
  expect(gemini.requests.map(({ path }) => /models\/([^:]+)/.exec(path)?.[1])).toEqual([
    'gemini-2.5-flash',
    'gemini-2.5-pro',
    'gemini-2.5-flash',
  ]);
  expect(gemini.requests[1]?.body.generationConfig).toMatchObject({ temperature: 0.2 });
  expect(gemini.requests[2]?.results[0].error).toMatch(/^stopped after 1 model turn/);
  expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
});

test('what it writes is asked about, protected and undone as for its parent', async (t) => {
  const write = (file_path: string) => reply(call('write_file', { file_path, content: 'new' }));
  const denied = await fakeGemini(t, [ASK, write('new.txt'), reply('I could not'), reply('done')]);
  const first = agentPlace(t, denied, {}, '');
  const gmn = await callGmnIn(t, first, ['--tools', 'edit', 'x']);
  expect(denied.requests[2]?.results[0].error).toContain("needs the user's approval");
  expect(gmn.stderr).toContain('write_file new.txt was not run');
  const gemini = await fakeGemini(t, [
    ASK,
    write('new.txt'),
    write('.gemini/settings.json'),
    reply('ok'),
    reply('done'),
  ]);
  const at = agentPlace(t, gemini, {}, '');
  await callGmnIn(t, at, ['--tools', 'edit', '--approval-mode', 'auto_edit', 'x']);
  expect(gemini.requests[3]?.results[0].error).toContain('is protected');
  expect(readFileSync(join(at.cwd, 'new.txt'), 'utf8')).toBe('new');
  expect((await callGmnIn(t, at, ['undo'])).exitCode).toBe(0);
  expect(existsSync(join(at.cwd, 'new.txt'))).toBe(false);
});

test('the budget of the run holds for it', async (t) => {
  const long = 'x'.repeat(40_000);
  const gemini = await fakeGemini(t, [ASK, reply('done')]);
  const at = agentPlace(t, gemini, { home: { '.gemini/agents/tester.md': agent('', long) } });
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '--max-cost', '0.002', '-m', 'gemini-2.5-flash', 'x']);
  expect(gmn.exitCode).toBe(0);
  // It was refused before it was sent.
  expect(gemini.requests).toHaveLength(2);
  expect(gemini.requests[1]?.results[0].error).toContain('--max-cost');
});

test('no credential of gmn reaches it, its session or its prompt', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(call('tester', { prompt: `use ${KEY}` })),
    READ,
    reply('ok'),
    reply('done'),
  ]);
  const at = agentPlace(t, gemini, { files: { 'a.txt': `key: ${KEY}` } }, `# ${KEY}`);
  writeFileSync(join(at.home, '.gemini/agents/tester.md'), agent('', `Use ${KEY} for all.`));
  await callGmnIn(t, at, ['--tools', 'read', 'x']);
  for (const { text } of gemini.requests.slice(1, 3)) expect(text).not.toContain(KEY);
  expect(gemini.requests[2]?.results[0].output).toBe('key: ‹redacted›');
  const sessions = join(at.home, '.gmn/sessions');
  for (const name of readdirSync(sessions).filter((each) => each.endsWith('.jsonl'))) {
    const text = readFileSync(join(sessions, name), 'utf8');
    if (text.includes('"by":"agent"')) expect(text).not.toContain(KEY);
  }
});

test('an agent of a folder is offered only as gmn trust has shown it; faulty and hidden ones are named', async (t) => {
  const ask = async (at: ReturnType<typeof place>) => {
    const gemini = await fakeGemini(t, [reply('ok')]);
    const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const gmn = await callGmnIn(t, { ...at, env }, ['--tools', 'read', 'x']);
    return { tools: gemini.requests[0]?.tools ?? [], stderr: gmn.stderr };
  };
  const at = place(t, {
    files: { '.gemini/agents/tester.md': agent('') },
    home: {
      '.gemini/agents/remote.md': '---\nname: far\nkind: remote\ndescription: d\n---\nx\n',
      '.gemini/agents/glob.md': '---\nname: glob\ndescription: d\n---\nx\n',
      '.gemini/agents/README.md': 'no agent',
    },
  });
  const before = await ask(at);
  expect(before.tools).not.toContain('tester');
  expect(before.stderr).toMatch(/work: agent "tester" not used: this folder is not trusted/);
  expect(before.stderr).toMatch(/remote\.md is not used: it is a remote agent/);
  expect(before.stderr).toMatch(/glob\.md is not used: there is a tool glob already/);
  expect(before.stderr).not.toContain('README');
  await callGmnIn(t, at, ['trust']);
  expect((await ask(at)).tools).toContain('tester');
  writeFileSync(join(at.cwd, '.gemini/agents/tester.md'), agent('tools: run_shell_command'));
  expect((await ask(at)).tools).not.toContain('tester');
});

test('an answer that is sent back does not ask the sub-agent again', async (t) => {
  const command = complainIfInput('lacks', '"stop_hook_active":true', 'again', 2);
  const stop = { hooks: [{ type: 'command', command }] };
  const gemini = await fakeGemini(t, [reply('fine'), reply('one'), reply('two')]);
  const at = agentPlace(t, gemini, { settings: { hooks: { Stop: [stop] } } });
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '@tester check it']);
  expect(gmn.stdout).toBe('two\n');
  expect(gemini.requests[2]?.prompt).toBe('again');
});

test('its turns count against those of the run, and in plan mode it has no more tools', async (t) => {
  const read = (file_path: string) => reply(call('read_file', { file_path }));
  const gemini = await fakeGemini(t, [ASK, read('a.txt'), read('b.txt')]);
  const at = agentPlace(t, gemini, { files: { 'a.txt': 'A', 'b.txt': 'B' } }, '');
  const flags = ['--tools', 'all', '--approval-mode', 'plan', '--max-turns', '3', '-o', 'json'];
  const gmn = await callGmnIn(t, at, [...flags, 'x']);
  expect(gemini.requests[1]?.tools).toContain('read_file');
  for (const name of ['write_file', 'edit_file', 'run_shell_command', 'tester'])
    expect(gemini.requests[1]?.tools).not.toContain(name);
  expect(gmn.exitCode).toBe(1);
  expect(JSON.parse(gmn.stdout).error).toMatchObject({ type: 'LimitError', message: 'stopped after 3 model turns' });
});

test('sub-agents that run at the same time share the turns of the run', async (t) => {
  const three = ['one', 'two', 'three'].map((prompt) => call('tester', { prompt }));
  const gemini = await fakeGemini(t, (response, request) => {
    const answer = gemini.requests.length === 1 ? reply(...three) : reply(call('read_file', { file_path: 'a.txt' }));
    return answer(response, request);
  });
  const gmn = await callGmnIn(t, agentPlace(t, gemini, { files: { 'a.txt': 'A' } }, 'tools: [read_file]'), [
    ...['--tools', 'read', '--max-turns', '6', '-o', 'json', 'x'],
  ]);
  expect(JSON.parse(gmn.stdout).error).toMatchObject({ message: 'stopped after 6 model turns' });
  expect(gemini.requests).toHaveLength(6);
});

test('its calls count against those of the prompt', async (t) => {
  const many = (from: number) =>
    reply(...Array.from({ length: 50 }, (_, index) => call('read_file', { file_path: `${from + index}.txt` })));
  const gemini = await fakeGemini(t, [ASK, many(0), many(50), many(100), many(150), reply('fine'), reply('done')]);
  await callGmnIn(t, agentPlace(t, gemini), ['--tools', 'read', 'x']);
  const answers = gemini.requests[5]?.results.map(({ error }) => String(error)) ?? [];
  // One was the call of the sub-agent.
  expect(answers.filter((error) => error.startsWith('at most 200 calls are run'))).toHaveLength(1);
  expect(answers.at(-1)).toMatch(/^at most 200 calls are run/);
});

test('the hundredth request of a prompt is reported once, with retries and sub-agents counted', async (t) => {
  const gemini = await fakeGemini(t, (response, request) => {
    const made = gemini.requests.length;
    if (made === 1) return ASK(response, request);
    // Every other one is tried again.
    if (made % 2 === 0) return failure(503, 'UNAVAILABLE')(response, request);
    return (made < 203 ? reply(call('read_file', { file_path: `${made}.txt` })) : reply('done'))(response, request);
  });
  const at = agentPlace(t, gemini, {}, 'tools: [read_file]\nmax_turns: 20');
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '--max-turns', '200', '-o', 'json', 'x']);
  const { warnings } = JSON.parse(gmn.stdout);
  expect(warnings.filter((warning: string) => warning.includes('100 requests'))).toHaveLength(1);
  const text = await callGmnIn(t, at, ['--tools', 'read', '--max-turns', '1', 'x']);
  expect(text.stderr).not.toContain('100 requests');
});

test('a name that a tool has is not taken, offered or not; tools.exclude leaves one out', async (t) => {
  const named = (name: string) => `---\nname: ${name}\ndescription: d\n---\nx\n`;
  const names = ['write_file', 'replace', 'mine', 'off'];
  const gmn = await callGmn(t, ['--tools', 'read', 'x'], {
    home: Object.fromEntries(names.map((name) => [`.gemini/agents/${name}.md`, named(name)])),
    settings: { tools: { exclude: ['off'] } },
    script: [reply('ok')],
  });
  expect(gmn.requests[0]?.tools.filter((name) => names.includes(name))).toEqual(['mine']);
  for (const name of ['write_file', 'replace'])
    expect(gmn.stderr).toContain(`${name}.md is not used: there is a tool ${name} already`);
});

test.for([
  ['disallowedTools: Write, Edit, glob', ['list_directory', 'read_file', 'search_file_content']],
  ['tools: [read_file, glob]\ndisallowedTools: [glob]', ['read_file']],
  ['tools: []', undefined],
  ['tools: Read', ['read_file']],
  ['disallowedTools: "*"', undefined],
] as const)('with %j it has %j', async ([fields, tools], t) => {
  const gemini = await fakeGemini(t, [ASK, reply('fine'), reply('done')]);
  await callGmnIn(t, agentPlace(t, gemini, {}, fields), ['--tools', 'edit', 'x']);
  expect(gemini.requests[1]?.body.tools?.[0].functionDeclarations.map(({ name }: { name: string }) => name)).toEqual(
    tools,
  );
});

test.for(['tools: 5', 'tools: {a: b}', 'tools: [1]', 'disallowedTools: true'])(
  'with %s it is faulty, and does not get all tools',
  async (fields, t) => {
    const gemini = await fakeGemini(t, [reply('ok')]);
    const gmn = await callGmnIn(t, agentPlace(t, gemini, {}, fields), ['--tools', 'read', 'x']);
    expect(gemini.requests[0]?.tools).not.toContain('tester');
    expect(gmn.stderr).toMatch(/tester\.md is not used: "\w+" must be a list of names/);
  },
);

test('@name gets all texts of the prompt, however long, and says that it gets no pictures', async (t) => {
  const words = `check ${'all of it '.repeat(200)}`.trim();
  const gemini = await fakeGemini(t, [reply('fine'), reply('done')]);
  const at = agentPlace(t, gemini, { files: { 'notes.txt': 'the notes', 'a.png': PNG } });
  const gmn = await callGmnIn(t, at, ['--tools', 'read', '-f', 'notes.txt', '-f', 'a.png', `@tester ${words}`]);
  const [first] = gemini.requests;
  expect(first?.parts).toHaveLength(1);
  expect(first?.prompt).toBe(`=== notes.txt ===\nthe notes\n\n${words}`);
  expect(gmn.stderr).toContain('@tester gets the texts of the prompt, and none of its other files');
});

posixTest('a hook for the Task of Claude Code sees it', async (t) => {
  const hook = `cat > seen; echo 'no helpers' >&2; exit 2`;
  const gemini = await fakeGemini(t, [ASK, ASK, reply('done')]);
  const at = agentPlace(
    t,
    gemini,
    {
      settings: { hooks: { PreToolUse: [{ matcher: 'Task', hooks: [{ type: 'command', command: hook }] }] } },
    },
    'model: gemini-2.5-pro',
  );
  await callGmnIn(t, at, ['--tools', 'read', 'x']);
  expect(gemini.requests[1]?.results).toEqual([{ error: 'tester was not run: no helpers' }]);
  expect(JSON.parse(readFileSync(join(at.cwd, 'seen'), 'utf8'))).toMatchObject({
    tool_name: 'Task',
    tool_input: { subagent_type: 'tester', prompt: 'Look at a.txt' },
  });
});

test('a model of its own repeats no notice of the settings', async (t) => {
  const gemini = await fakeGemini(t, [ASK, reply('fine'), reply('done')]);
  const at = agentPlace(t, gemini, { files: { '.gemini/settings.json': '{}' } }, 'model: gemini-2.5-pro');
  const gmn = await callGmnIn(t, at, ['--tools', 'read', 'x']);
  expect(gmn.stderr.match(/settings\.json is not used: this folder is not trusted/g)).toHaveLength(1);
});
