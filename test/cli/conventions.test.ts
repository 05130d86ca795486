import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext } from 'vitest';
import { openEditor } from '../acp/support.ts';
import { serve } from '../mcp/server/support.ts';
import { gate } from '../support/gate.ts';
import { call, type FakeGemini, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, parseLines, place, startProgram } from '../support/gmn.ts';
import { fixtureServer, isRunning } from '../support/mcp-place.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const GUARD = `if grep -q secret.txt; then echo 'secret.txt stays here' >&2; exit 2; fi`;
const hooks = (event: string, command: string) => ({ hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] } });

/** A skill and a hook of the user's, a sub-agent and a server of a folder that is trusted. */
async function openPlace(t: TestContext, gemini: FakeGemini) {
  const at = place(t, {
    gemini,
    settings: hooks('BeforeTool', GUARD),
    home: { '.gemini/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Reads forms.\n---\nRead the form.\n' },
    files: {
      'secret.txt': 's',
      '.gemini/agents/tester.md': '---\nname: tester\ndescription: Tests.\ntools: [read_file]\n---\nYou test.\n',
      '.mcp.json': JSON.stringify({ mcpServers: { memo: fixtureServer('mcp-server.mjs') } }),
    },
  });
  await callGmnIn(t, at, ['trust']);
  return at;
}

const SCRIPT = [
  reply(
    call('activate_skill', { name: 'pdf' }),
    call('read_file', { file_path: 'secret.txt' }),
    call('tester', { prompt: 'test it' }),
  ),
  reply('tested'),
  reply('done'),
];

/** All of it is there, and does what it is for. */
function expectReached({ requests }: FakeGemini, { hasServer = true } = {}): void {
  const [first, asked, last] = requests;
  expect(first?.body.systemInstruction.parts[0].text).toContain('- pdf: Reads forms.');
  expect(first?.tools).toEqual(expect.arrayContaining(['activate_skill', 'tester', ...(hasServer ? ['add'] : [])]));
  expect(asked?.body.systemInstruction.parts[0].text).toMatch(/^You test\./);
  expect(asked?.tools).toEqual(['read_file']);
  expect(last?.results).toMatchObject([
    { output: 'Read the form.' },
    { error: 'read_file was not run: secret.txt stays here' },
    { output: 'tested' },
  ]);
}

type Surface = (t: TestContext, at: Awaited<ReturnType<typeof openPlace>>) => Promise<unknown>;

const SERVER = ['--allowed-mcp-server-names', 'memo'];

const SURFACES: Readonly<Record<string, Surface>> = {
  'a one-shot': (t, at) => callGmnIn(t, at, ['--tools', 'read', ...SERVER, 'x']),
  'a chat': (t, at) => callGmnIn(t, at, ['chat', '--tools', 'read'], 'x\n'),
  '--input-format stream-json': (t, at) =>
    callGmnIn(
      t,
      at,
      ['--input-format', 'stream-json', '-o', 'stream-json', '--tools', 'read', ...SERVER],
      '{"type":"prompt","id":"1","text":"x"}\n',
    ),
  'an editor': async (t, at) => {
    const editor = await openEditor(t, { at, options: { tools: 'read' } });
    const { sessionId } = await editor.begin();
    expect(await editor.say(sessionId, 'x')).toBe('end_turn');
  },
  'the library': async (t, at) => {
    const answer = await runLibrary(
      t,
      at,
      `report(await ask('x', { settings: true, tools: ['read'], mcpServers: ['memo'] }));`,
    );
    expect(answer).toMatchObject({ text: 'done', warnings: [expect.stringContaining('secret.txt stays here')] });
  },
};

/** A program that has gmn in its node_modules. Returns what it reports. */
async function runLibrary(t: TestContext, at: ReturnType<typeof place>, code: string): Promise<unknown> {
  mkdirSync(join(at.root, 'node_modules'));
  symlinkSync(fileURLToPath(new URL('../..', import.meta.url)), join(at.root, 'node_modules/gmn'), 'junction');
  const file = join(at.root, 'program.mjs');
  const report = `import { writeFileSync } from 'node:fs';\nconst report = (value) => writeFileSync('report.json', JSON.stringify(value));`;
  writeFileSync(file, `import { ask, chat } from 'gmn';\n${report}\n${code}`);
  const { stderr, exitCode } = await startProgram(t, [process.execPath, [file]], at).ended;
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return JSON.parse(readFileSync(join(at.cwd, 'report.json'), 'utf8'));
}

posixTest.for(Object.keys(SURFACES))('skills, hooks, sub-agents and .mcp.json reach %s', async (name, t) => {
  const gemini = await fakeGemini(t, SCRIPT);
  await SURFACES[name]?.(t, await openPlace(t, gemini));
  expectReached(gemini);
});

posixTest('they reach delegated work, each folder its own, and no script of a folder that nobody trusts', async (t) => {
  const gemini = await fakeGemini(t, [...SCRIPT, ...SCRIPT]);
  const at = await openPlace(t, gemini);
  const put = (name: string, text: string): void => {
    mkdirSync(join(at.cwd, name, '..'), { recursive: true });
    writeFileSync(join(at.cwd, name), text);
  };
  // What is approved for one folder is not run in another one, where the same words mean other files.
  put('.gemini/settings.json', JSON.stringify(hooks('SessionStart', 'sh ./begin.sh')));
  put('begin.sh', 'echo from the root');
  put('theirs/begin.sh', 'echo stolen; touch stolen');
  put('ours/.gemini/settings.json', JSON.stringify(hooks('SessionStart', 'sh ./our.sh')));
  put('ours/our.sh', 'echo from ours');
  await callGmnIn(t, at, ['trust']);
  await callGmnIn(t, at, ['trust', 'ours']);
  const server = await serve(t, { at });
  const [work, theirs, ours] = [undefined, 'theirs', 'ours'].map((name) => name && join(at.cwd, name));
  expect((await server.call('delegate', { prompt: 'x', working_directory: work })).structuredContent).toMatchObject({
    output: 'done',
  });
  // A server is the client of no other one.
  expectReached(gemini, { hasServer: false });
  const begin = async (directory: string | undefined): Promise<readonly string[]> => {
    const before = gemini.requests.length;
    await server.call('delegate', { prompt: 'x', working_directory: directory });
    return gemini.requests[before]?.parts.map(({ text }) => text) ?? [];
  };
  expect(gemini.requests[0]?.parts[0].text).toContain('from the root');
  expect(await begin(theirs)).toEqual(['x']);
  expect((await begin(ours))[0]).toContain('from ours');
});

posixTest('a library that was not asked for settings has none of it', async (t) => {
  const gemini = await fakeGemini(t, [reply('plain'), reply('followed'), reply('again')]);
  const at = await openPlace(t, gemini);
  const code = `
    const [first, second] = [await ask('@tester x', { tools: ['read'] }), await ask('y', { settings: true, skills: ['pdf'] })];
    const session = await chat({ settings: true });
    const third = await session.send('z', { skills: ['pdf'] });
    await session.close();
    const refused = [];
    for (const options of [{ skills: ['pdf'] }, { settings: true, skills: ['pfd'] }])
      refused.push(await ask('y', options).catch(({ message, hint }) => [message, hint]));
    report({ warnings: [first, second, third].map(({ warnings }) => warnings), refused });`;
  expect(await runLibrary(t, at, code)).toEqual({
    warnings: [[], [], []],
    refused: [
      ['skills are those of the settings', 'Add settings: true.'],
      ['there is no skill "pfd"', 'Did you mean pdf?'],
    ],
  });
  const [plain, ...followed] = gemini.requests;
  expect(plain?.tools).not.toContain('tester');
  expect(plain?.text).not.toContain('Reads forms.');
  expect(followed.map(({ parts }) => parts.map(({ text }) => text))).toEqual([
    [expect.stringMatching(/^Follow the instructions of the skill pdf [\s\S]*Read the form\.$/), 'y'],
    [expect.stringContaining('Read the form.'), 'z'],
  ]);
});

posixTest('a prompt of a process names its skills, and an editor begins one with /skill:name', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two'), reply('three')]);
  const at = await openPlace(t, gemini);
  const lines = [{ skills: ['pdf'] }, { skills: ['nope'] }, { skills: 'pdf' }, {}].map((more, index) =>
    JSON.stringify({ type: 'prompt', id: `${index}`, text: 'x', ...more }),
  );
  const gmn = await callGmnIn(t, at, ['--input-format', 'stream-json', '-o', 'stream-json'], lines.join('\n'));
  const ends = parseLines(gmn.stdout).filter(({ type }) => type === 'done' || type === 'error');
  expect(ends).toMatchObject([
    { type: 'error', line: 3, error: { message: '"skills" must be a list of names' } },
    { type: 'done', turn: '0' },
    { type: 'error', turn: '1', error: { message: 'there is no skill "nope"' } },
    { type: 'done', turn: '3' },
  ]);
  const editor = await openEditor(t, { at, options: { tools: 'none', noMcp: true } });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, '/skill:pdf y');
  const commands = editor.updates.flatMap((update) =>
    update.sessionUpdate === 'available_commands_update' ? update.availableCommands.map(({ name }) => name) : [],
  );
  expect(commands).toContain('skill:pdf');
  const said = gemini.requests.map(({ parts }) => parts.map(({ text }) => text));
  expect(said[0]).toEqual([expect.stringContaining('Read the form.'), 'x']);
  expect(said[1]).toEqual(['x']);
  expect(said[2]).toEqual([expect.stringContaining('Read the form.'), 'y']);
});

posixTest('hooks around a turn reach the rows of a batch', async (t) => {
  const gemini = await fakeGemini(t, [reply('one')]);
  const at = place(t, {
    gemini,
    settings: hooks('BeforeAgent', 'echo mind the gap'),
    files: { 'in.jsonl': '{"prompt":"x"}\n' },
  });
  expect(await callGmnIn(t, at, ['batch', 'in.jsonl', '--output-file', 'out.jsonl'])).toMatchObject({ exitCode: 0 });
  expect(gemini.requests[0]?.parts.map(({ text }) => text)).toEqual([
    'x',
    '<hook_context>\nmind the gap\n</hook_context>',
  ]);
});

/** Ignores what ends it politely, as does what it has started. */
const STUBBORN = `trap '' INT TERM HUP; sleep 600 & echo $! > child; echo $$ > pid; wait; wait; sleep 600`;

posixTest.for([
  ['a one-shot with Ctrl+C', ['--tools', 'read', 'x'], '\x03'],
  ['a chat with Esc', ['chat', '--tools', 'read', 'x'], '\x1b'],
] as const)('a hook that hangs ends with %s on a terminal, and all that it has started', async ([, args, key], t) => {
  const gemini = await fakeGemini(t, [reply(call('read_file', { file_path: 'a.txt' }))]);
  const { hooks: before } = hooks('BeforeTool', STUBBORN);
  const { hooks: end } = hooks('SessionEnd', 'touch ended');
  const at = place(t, { gemini, files: { 'a.txt': 'A' }, settings: { hooks: { ...before, ...end } } });
  const terminal = runInTerminal(t, args, { at });
  const read = (name: string): number => Number(readFileSync(join(at.cwd, name), 'utf8'));
  await expect.poll(() => existsSync(join(at.cwd, 'pid')) && read('pid') > 0, { timeout: 20_000 }).toBe(true);
  terminal.type(key);
  if (args[0] === 'chat') {
    await terminal.until(/Stopped|stopped|[Ii]nterrupted|[Cc]ancelled/);
    terminal.type('/exit\r');
  }
  expect((await terminal.ended).exitCode).toBe(args[0] === 'chat' ? 0 : 130);
  // A child of a process that has ended is gone when the system has noticed.
  for (const name of ['pid', 'child'])
    await expect.poll(() => isRunning(read(name)), { timeout: 10_000, message: name }).toBe(false);
  expect(existsSync(join(at.cwd, 'ended'))).toBe(true);
  expect(gemini.requests).toHaveLength(1);
});

posixTest('a sub-agent ends with the turn, and its session is kept', async (t) => {
  const asked = gate();
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: 'a.txt' })),
    () => {
      asked.open();
    },
  ]);
  const at = await openPlace(t, gemini);
  const editor = await openEditor(t, { at, options: { tools: 'read', noMcp: true } });
  const { sessionId } = await editor.begin();
  const said = editor.say(sessionId, '@tester look at a.txt');
  await asked.opened;
  await editor.agent.notify('session/cancel', { sessionId });
  expect(await said).toBe('cancelled');
  await editor.close();
  const { sessions } = JSON.parse((await callGmnIn(t, at, ['sessions', 'list', '--json'])).stdout);
  expect(sessions.map(({ from, title }: Record<string, string>) => [from, title])).toContainEqual([
    'sub-agent',
    'tester: look at a.txt',
  ]);
});
