import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place } from '../support/gmn.ts';
import { isRunning } from '../support/mcp-place.ts';
import { isWindows, posixTest } from '../support/posix.ts';
import { complain, complainIfInput, keepInput, print, printAndFail, WAIT_LONG } from '../support/shell-lines.ts';

const json = JSON.stringify;

/** Settings with one hook. */
const hook = (
  event: string,
  command: string,
  { matcher, ...more }: { matcher?: string; timeout?: number; unconfined?: true } = {},
) => ({
  hooks: { [event]: [{ matcher, hooks: [{ type: 'command', command, ...more }] }] },
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const KEY = 'test-key-0123456789';
const READ = reply(call('read_file', { file_path: 'a.txt' }));

const DENIALS = [
  ['exit code 2', 'BeforeTool', complain('no keys', 2), {}, 'read_file was not run: no keys'],
  ['a decision', 'BeforeTool', print('{"decision":"deny","reason":"not now"}'), {}, 'read_file was not run: not now'],
  ['block', 'PreToolUse', print('{"decision":"block"}'), {}, 'read_file was not run: the hook PreToolUse 1 says no'],
  [
    'a permission',
    'PreToolUse',
    print(
      '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"secret"}}',
    ),
    { matcher: 'Read|Write' },
    'read_file was not run: secret',
  ],
  [
    'a failure',
    'BeforeTool',
    complain('oh', 1),
    { matcher: 'read_.*' },
    /the hook BeforeTool 1 failed: exit code 1: oh$/,
  ],
  [
    'no such program',
    'BeforeTool',
    'no-such-program-here',
    {},
    isWindows ? /exit code [1-9]/ : /failed: exit code 127/,
  ],
  ['its time', 'BeforeTool', WAIT_LONG, { timeout: 100 }, /failed: it took too long$/],
  ['nonsense', 'BeforeTool', print('fine'), {}, /failed: its output must be empty or a JSON object/],
  [
    'a question nobody can answer',
    'PreToolUse',
    print('{"hookSpecificOutput":{"permissionDecision":"ask"}}'),
    {},
    /a hook wants the user to be asked/,
  ],
] as const;

const POSIX_DENIALS = [
  ['a signal', 'BeforeTool', 'kill -9 $$', {}, /failed: it was ended by SIGKILL$/],
  [
    'a stubborn one',
    'BeforeTool',
    "trap '' TERM; sleep 600 & wait; sleep 600",
    { timeout: 100 },
    /failed: it took too long$/,
  ],
  [
    '100 MB',
    'BeforeTool',
    'head -c 1000000 /dev/zero >&2; head -c 100000000 /dev/zero',
    {},
    /failed: it printed too much$/,
  ],
] as const;

test.for([...DENIALS, ...(isWindows ? [] : POSIX_DENIALS)])(
  'a hook before a tool denies by %s',
  async ([, event, command, more, why], t) => {
    const gmn = await callGmn(t, ['--tools', 'read', 'x'], {
      files: { 'a.txt': 'hello' },
      settings: hook(event, command, more),
      script: [READ, reply('ok')],
    });
    expect(gmn).toMatchObject({ stdout: 'ok\n', exitCode: 0 });
    expect(gmn.requests[1]?.results[0].error).toMatch(why);
    expect(gmn.stderr).toMatch(/^✗ read_file a\.txt was not run: /m);
  },
);

test.for([
  ['nothing', 'BeforeTool', complainIfInput('has', 'no such words', 'no', 2), {}],
  ['allow', 'BeforeTool', print('{"decision":"allow"}'), {}],
  ['a matcher for another tool', 'BeforeTool', 'exit 2', { matcher: 'write_file' }],
  ['a matcher of Claude Code that has to match the whole name', 'PreToolUse', 'exit 2', { matcher: 'Rea' }],
  ['input that it does not read', 'BeforeTool', isWindows ? 'exit 0' : 'exec 0<&-', {}],
] as const)('a call runs after a hook with %s', async ([, event, command, more], t) => {
  const gmn = await callGmn(t, ['--tools', 'read', 'x'], {
    files: { 'a.txt': 'hello' },
    settings: hook(event, command, more),
    script: [READ, reply('ok')],
  });
  expect(gmn.requests[1]?.results[0]).toEqual({ output: 'hello' });
});

test('allow of a hook allows nothing that has to be asked about', async (t) => {
  const allow = print('{"decision":"approve","hookSpecificOutput":{"permissionDecision":"allow"}}');
  const gmn = await callGmn(t, ['--tools', 'edit', 'x'], {
    settings: hook('PreToolUse', allow),
    script: [reply(call('write_file', { file_path: 'new.txt', content: 'x' })), reply('ok')],
  });
  expect(gmn.requests[1]?.results[0].error).toContain("needs the user's approval");
});

test('a hook gets the contract of both programs, with their names, and no credential of gmn', async (t) => {
  const { hooks: before } = hook('BeforeTool', keepInput('before'), { matcher: 'replace' });
  const { hooks: claude } = hook('PreToolUse', keepInput('claude'), { matcher: 'Edit' });
  const { hooks: after } = hook('AfterTool', keepInput('after'), { unconfined: true });
  const at = place(t, {
    files: { 'a.txt': 'hello' },
    settings: { hooks: { ...before, ...claude, ...after } },
    env: { SECRET_TOKEN: 'sk-canary-0123456789abcdef' },
  });
  const edit = { file_path: 'a.txt', old_string: 'hello', new_string: KEY };
  const gemini = await fakeGemini(t, [READ, reply(call('edit_file', edit)), reply('ok')]);
  const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
  await callGmnIn(t, { ...at, env }, ['--tools', 'edit', '--approval-mode', 'auto_edit', 'x']);
  const read = (name: string) => readFileSync(join(at.cwd, name), 'utf8');
  expect(JSON.parse(read('before'))).toEqual({
    session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    transcript_path: '',
    cwd: at.cwd,
    hook_event_name: 'BeforeTool',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    tool_name: 'replace',
    tool_input: { ...edit, new_string: '‹redacted›' },
  });
  expect(JSON.parse(read('claude'))).toMatchObject({ hook_event_name: 'PreToolUse', tool_name: 'Edit' });
  expect(JSON.parse(read('after'))).toMatchObject({
    tool_name: 'replace',
    tool_response: { returnDisplay: expect.any(String) },
  });
  for (const name of ['before.env', 'claude.env', 'after.env']) {
    expect(read(name)).toMatch(/^GEMINI_PROJECT_DIR=.*work$/m);
    expect(read(name)).toMatch(/^CLAUDE_PROJECT_DIR=.*work$/m);
    expect(read(name)).not.toMatch(/canary|test-key/);
  }
});

test('a hook can change what is done: arguments before, the result after, and end it all', async (t) => {
  const changed = print('{"hookSpecificOutput":{"tool_input":{"file_path":"b.txt"}}}');
  const files = { 'a.txt': 'A', 'b.txt': 'B' };
  const first = await callGmn(t, ['--tools', 'read', 'x'], {
    files,
    settings: hook('BeforeTool', changed),
    script: [READ, reply('ok')],
  });
  expect(first.requests[1]?.results[0]).toMatchObject({
    output: 'B',
    note: 'a hook changed the arguments',
    editedArgs: { file_path: 'b.txt' },
  });
  const noted = print('{"hookSpecificOutput":{"additionalContext":"mind the B"},"systemMessage":"seen \\u001b[31m"}');
  const second = await callGmn(t, ['--tools', 'read', 'x'], {
    files,
    settings: hook('PostToolUse', noted),
    script: [READ, reply('ok')],
  });
  expect(second.requests[1]?.results[0]).toEqual({ output: 'A', hook: 'mind the B' });
  expect(second.stderr).toContain('gmn: seen \\x1b[31m\n');
  const warned = await callGmn(t, ['--tools', 'read', 'x'], {
    files,
    settings: hook('PreToolUse', noted),
    script: [READ, reply('ok')],
  });
  expect(warned.requests[1]?.results[0]).toEqual({ output: 'A', hook: 'mind the B' });
  const denied = await callGmn(t, ['--tools', 'read', 'x'], {
    files,
    settings: hook('AfterTool', complain('stale', 2)),
    script: [READ, reply('ok')],
  });
  expect(denied.requests[1]?.results[0]).toEqual({ error: 'stale' });
  const failed = await callGmn(t, ['--tools', 'read', 'x'], {
    files,
    settings: hook('AfterTool', printAndFail('loud', 'bad', 1)),
    script: [READ, reply('ok')],
  });
  expect(failed.requests[1]?.results[0]).toEqual({ output: 'A' });
  expect(failed).toMatchObject({
    stdout: 'ok\n',
    stderr: expect.stringContaining('hook AfterTool 1 failed: exit code 1: bad'),
  });
  for (const event of ['BeforeTool', 'AfterTool']) {
    const ends = print('{"continue":false,"stopReason":"enough"}');
    const ended = await callGmn(t, ['--tools', 'read', '-o', 'json', 'x'], {
      files,
      settings: hook(event, ends),
      script: [READ],
    });
    expect(ended.exitCode).toBe(1);
    expect(JSON.parse(ended.stdout).error).toMatchObject({
      type: 'LimitError',
      message: 'a hook has ended this: enough',
    });
  }
});

posixTest('hooks around a turn add to the prompt, refuse it, and send the answer back', async (t) => {
  const { hooks: start } = hook('SessionStart', 'echo from the start', { matcher: 'startup' });
  const { hooks: before } = hook(
    'UserPromptSubmit',
    `cat > prompt; echo '{"hookSpecificOutput":{"additionalContext":"with this"}}'`,
  );
  const { hooks: after } = hook(
    'Stop',
    `cat > stop; grep -q '"stop_hook_active":true' stop || { echo once more >&2; exit 2; }`,
  );
  const { hooks: end } = hook('SessionEnd', 'touch ended');
  const at = place(t, { settings: { hooks: { ...start, ...before, ...after, ...end } } });
  const gemini = await fakeGemini(t, [reply('one'), reply('two')]);
  const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
  const gmn = await callGmnIn(t, { ...at, env }, ['-o', 'json', 'hello']);
  expect(JSON.parse(gmn.stdout)).toMatchObject({ response: 'two', usage: { totalTokenCount: 34 } });
  expect(gemini.requests[0]?.parts.map(({ text }) => text)).toEqual([
    '<hook_context>\nfrom the start\n</hook_context>',
    'hello',
    '<hook_context>\nwith this\n</hook_context>',
  ]);
  expect(gemini.requests[1]?.prompt).toBe('once more');
  expect(JSON.parse(readFileSync(join(at.cwd, 'prompt'), 'utf8'))).toMatchObject({ prompt: 'hello' });
  expect(JSON.parse(readFileSync(join(at.cwd, 'stop'), 'utf8'))).toMatchObject({
    prompt_response: 'two',
    stop_hook_active: true,
  });
  expect(existsSync(join(at.cwd, 'ended'))).toBe(true);
  const listed = await callGmnIn(t, at, ['sessions', 'list', '--json']);
  expect(JSON.parse(listed.stdout).sessions[0].title).toBe('hello');
  const refused = await callGmn(t, ['x'], {
    settings: hook('BeforeAgent', 'echo no such words >&2; exit 2'),
    gemini: { url: 'http://127.0.0.1:1' },
  });
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toBe('Error: the prompt was not sent: no such words\nTo see the hooks: gmn doctor\n');
});

test.for([
  ['a reason', 'BeforeTool', complain(KEY, 2)],
  ['a failure', 'BeforeTool', complain(KEY, 1)],
  ['a note', 'BeforeTool', print(`{"systemMessage":"${KEY}","hookSpecificOutput":{"additionalContext":"${KEY}"}}`)],
  ['a result', 'AfterTool', complain(KEY, 2)],
  ['a context', 'BeforeAgent', print(KEY)],
  ['an objection', 'AfterAgent', complainIfInput('lacks', '"stop_hook_active":true', KEY, 2)],
] as const)('a credential of gmn in %s of a hook goes nowhere', async ([, event, command], t) => {
  const gemini = await fakeGemini(t, [READ, reply('one'), ...(event === 'AfterAgent' ? [reply('two')] : [])]);
  const at = place(t, { gemini, files: { 'a.txt': 'A' }, settings: hook(event, command) });
  const { stdout, stderr } = await callGmnIn(t, at, ['--tools', 'read', '-o', 'stream-json', 'x']);
  const kept = readdirSync(join(at.home, '.gmn/sessions')).map((name) =>
    readFileSync(join(at.home, '.gmn/sessions', name), 'utf8'),
  );
  expect(kept.join('')).toContain('"x"');
  for (const text of [stdout, stderr, ...kept, ...gemini.requests.map((request) => request.text)])
    expect(text).not.toContain(KEY);
  expect([...kept, stdout, ...gemini.requests.map((request) => request.text)].join('')).toContain('‹redacted›');
});

test('a no after a tool takes its pictures along', async (t) => {
  const gmn = await callGmn(t, ['--tools', 'read', 'x'], {
    files: { 'a.png': PNG },
    settings: hook('AfterTool', 'exit 2'),
    script: [reply(call('read_file', { file_path: 'a.png' })), reply('ok')],
  });
  expect(gmn.requests[1]?.results).toEqual([{ error: 'the hook AfterTool 1 says no' }]);
  expect(gmn.requests[1]?.text).not.toContain('inlineData');
});

posixTest("a folder's hook whose script the model has changed denies, and does not run", async (t) => {
  const at = place(t, {
    files: {
      'a.txt': 'A',
      'check.sh': 'exit 0',
      '.gemini/settings.json': json(hook('BeforeTool', 'sh ./check.sh')),
    },
  });
  await callGmnIn(t, at, ['trust']);
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: 'check.sh' })),
    reply(call('write_file', { file_path: 'check.sh', content: 'touch ran' })),
    READ,
    reply('ok'),
  ]);
  const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
  const gmn = await callGmnIn(t, { ...at, env }, ['--tools', 'edit', '--approval-mode', 'auto_edit', 'x']);
  expect(gmn.stdout).toBe('ok\n');
  expect(gemini.requests[2]?.results[0]).not.toHaveProperty('error');
  expect(gemini.requests[3]?.results[0].error).toContain('it is not, or no longer, what gmn trust has shown');
  expect(existsSync(join(at.cwd, 'ran'))).toBe(false);
});

test('a hook that keeps saying no ends the rounds by itself', async (t) => {
  const gmn = await callGmn(t, ['x'], {
    settings: hook('AfterAgent', 'exit 2'),
    script: Array.from({ length: 6 }, () => reply('a')),
  });
  expect(gmn).toMatchObject({ exitCode: 1, stdout: '' });
});

posixTest('what a hook starts ends with it, and hooks end with the run', async (t) => {
  const at = place(t, {
    files: { 'a.txt': 'A' },
    settings: hook('BeforeTool', '(sleep 600 & echo $! > pid; setsid sleep 600 & echo $! > pid2); exit 0'),
  });
  const gemini = await fakeGemini(t, [READ, reply('ok')]);
  const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
  expect(await callGmnIn(t, { ...at, env }, ['--tools', 'read', 'x'])).toMatchObject({ stdout: 'ok\n' });
  for (const name of ['pid', 'pid2']) {
    const pid = Number(readFileSync(join(at.cwd, name), 'utf8'));
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  }
});

posixTest('no hook of a folder runs that gmn trust has not shown, whatever its names and links', async (t) => {
  const touch = (name: string) => hook('SessionStart', `touch ${name}`);
  const at = place(t, {
    files: { '.gemini/settings.json': json(touch('ran')) },
  });
  const ask = async (env = {}): Promise<string> => {
    const gemini = await fakeGemini(t, [reply('ok')]);
    const given = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url, ...env };
    return (await callGmnIn(t, { ...at, env: given }, ['x'])).stderr;
  };
  expect(await ask()).toContain('is not used: this folder is not trusted');
  expect(await ask({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toContain('hook "SessionStart 1" new or changed, not used');
  await callGmnIn(t, at, ['trust']);
  writeFileSync(join(at.cwd, '.gemini/settings.json'), json(touch('other')));
  expect(await ask()).toContain('hook "SessionStart 1" new or changed, not used');
  for (const name of ['ran', 'other']) expect(existsSync(join(at.cwd, name)), name).toBe(false);
  writeFileSync(join(at.cwd, 'check.sh'), 'touch ran');
  writeFileSync(join(at.cwd, '.gemini/settings.json'), json(hook('SessionStart', 'sh ./check.sh')));
  const shown = await callGmnIn(t, at, ['trust']);
  expect(shown.stdout).toMatch(/Hooks:\n {2}SessionStart 1 \(changed\): sh \.\/check\.sh\n {6}its files: check\.sh\n/);
  writeFileSync(join(at.cwd, 'check.sh'), 'touch other');
  expect(await ask()).toContain('hook "SessionStart 1" new or changed, not used');
  writeFileSync(join(at.cwd, 'check.sh'), 'touch ran');
  expect(await ask()).toBe('');
  expect(existsSync(join(at.cwd, 'ran'))).toBe(true);
  expect(existsSync(join(at.cwd, 'other'))).toBe(false);
  // Somebody else's folder, entered through a link, is judged by where it is.
  mkdirSync(join(at.root, 'theirs/.gemini'), { recursive: true });
  writeFileSync(join(at.root, 'theirs/.gemini/settings.json'), json(hook('SessionStart', 'sh ./check.sh')));
  writeFileSync(join(at.root, 'theirs/check.sh'), 'touch ran-there');
  symlinkSync(join(at.root, 'theirs'), join(at.cwd, 'sub'));
  const gemini = await fakeGemini(t, [reply('ok')]);
  const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
  await callGmnIn(t, { cwd: join(at.cwd, 'sub'), env }, ['x']);
  expect(existsSync(join(at.root, 'theirs/ran-there'))).toBe(false);
});

test('hooks can be turned off, all or by name, and faulty ones are named', async (t) => {
  const settings = { hooks: { BeforeAgent: [{ hooks: [{ type: 'command', command: 'exit 2', name: 'guard' }] }] } };
  for (const hooksConfig of [{ enabled: false }, { disabled: ['guard'] }, { disabled: ['exit 2'] }]) {
    const gmn = await callGmn(t, ['x'], { settings: { ...settings, hooksConfig }, script: [reply('ok')] });
    expect(gmn).toMatchObject({ stdout: 'ok\n', stderr: '' });
  }
  const faulty = {
    BeforeModel: [{ hooks: [{ type: 'command', command: 'exit 2' }] }],
    BeforeAgent: [
      { hooks: [{ type: 'prompt', prompt: 'x' }, { type: 'command' }] },
      'x',
      { matcher: '(', hooks: [{ command: 'exit 2' }] },
    ],
    enabled: true,
  };
  const gmn = await callGmn(t, ['x'], { settings: { hooks: faulty }, script: [reply('ok')] });
  expect(gmn.stdout).toBe('ok\n');
  expect(gmn.stderr.split('\n').map((line) => line.replace(/^.*settings\.json: /, ''))).toEqual([
    'hook BeforeAgent 1 is not used: gmn runs hooks of type "command" only, not "prompt"',
    'hook BeforeAgent 2 is not used: it has no command',
    'hook BeforeAgent 4 is not used: its matcher is not a valid regular expression',
    'hook BeforeModel is not used: gmn runs no hooks at it',
    'hook BeforeAgent 3 is not used: it must be {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}',
    '',
  ]);
});

const ONCE = `cat > stop; grep -q '"stop_hook_active":true' stop || { echo once more >&2; exit 2; }`;

posixTest('an answer that a hook rejects is delivered in no format, and what was said before a call is', async (t) => {
  for (const event of ['AfterAgent', 'Stop']) {
    const script = [reply('I look.', call('read_file', { file_path: 'a.txt' })), reply('draft'), reply('final')];
    const options = { files: { 'a.txt': 'A' }, settings: hook(event, ONCE), script };
    const text = await callGmn(t, ['--tools', 'read', 'x'], options);
    expect(text).toMatchObject({ stdout: 'I look.\nfinal\n', exitCode: 0 });
    expect(text.stderr).toContain('a hook sends the answer back: once more');
    const document = await callGmn(t, ['--tools', 'read', '-o', 'json', 'x'], options);
    expect(JSON.parse(document.stdout)).toMatchObject({ response: 'I look.\nfinal' });
    const stream = await callGmn(t, ['--tools', 'read', '-o', 'stream-json', 'x'], options);
    const lines = parseLines(stream.stdout);
    expect(
      lines
        .filter(({ type }) => type === 'content')
        .map(({ text: piece }) => piece)
        .join(''),
    ).toBe('I look.\nfinal');
    expect(stream.stdout).not.toContain('draft');
    const file = await callGmn(t, ['--output-file', 'out.md', 'x'], {
      settings: hook(event, ONCE),
      script: [reply('draft'), reply('final')],
    });
    expect(file.exitCode).toBe(0);
  }
});

posixTest('a run whose last answer is rejected too fails as --verify does', async (t) => {
  const never = hook('Stop', 'echo not good >&2; exit 2');
  const drafts = ['a', 'b', 'c', 'd', 'e', 'f'];
  const options = { settings: never, script: drafts.map((draft) => reply(draft)) };
  const text = await callGmn(t, ['x'], options);
  expect(text).toMatchObject({ stdout: '', exitCode: 1 });
  expect(text.stderr).toContain(
    'Error: hooks rejected the answer, and each of 5 more: not good\nTo see the hooks: gmn doctor\n',
  );
  const document = await callGmn(t, ['-o', 'json', 'x'], options);
  expect(document.exitCode).toBe(1);
  expect(JSON.parse(document.stdout).error).toMatchObject({ type: 'VerifyError', code: 1, partialResponse: 'f' });
  const stream = await callGmn(t, ['-o', 'stream-json', 'x'], options);
  expect(parseLines(stream.stdout).at(-1)).toMatchObject({
    type: 'error',
    error: { type: 'VerifyError', partialResponse: 'f' },
  });
  const tools = {
    ...options,
    files: { 'a.txt': 'A' },
    script: [reply('I look.', call('read_file', { file_path: 'a.txt' })), ...options.script],
  };
  const after = await callGmn(t, ['--tools', 'read', '-o', 'json', 'x'], tools);
  expect(JSON.parse(after.stdout).error).toMatchObject({ partialResponse: 'I look.\nf' });
});

posixTest('what had come of an answer before a failure is shown, although hooks wait for its end', async (t) => {
  const gmn = await callGmn(t, ['--max-turns', '1', '--tools', 'read', '-o', 'json', 'x'], {
    files: { 'a.txt': 'A' },
    settings: hook('Stop', 'exit 0'),
    script: [reply('I look.', call('read_file', { file_path: 'a.txt' }))],
  });
  expect(JSON.parse(gmn.stdout).error).toMatchObject({ type: 'LimitError', partialResponse: 'I look.\n' });
});
