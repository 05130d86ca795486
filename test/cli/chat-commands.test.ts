import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/chat/commands/table.ts';
import { BUILT_IN_TEMPLATES } from '../../src/config/builtin-templates.ts';
import { ALIASES, MODELS } from '../../src/models/table.ts';
import { findBuiltin } from '../../src/tools/builtins.ts';
import { codeAssistResponse } from '../support/account.ts';
import { pipedChat, readChat, sharedHome } from '../support/chat.ts';
import { call, fakeGemini, json, reply } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';
import { CAT } from '../support/shell-lines.ts';
import { listSet } from '../support/tool-sets.ts';

test('/help lists every command, /keys every key', async (t) => {
  const help = await readChat(t, ['/help', '/h']);
  expect(help.match(/^ {2}\/help, \/h +List the commands$/gm)).toHaveLength(2);
  const others = ['/name words', ...Object.keys(BUILT_IN_TEMPLATES)];
  expect(help.match(/^ {2}\/\w+(?=[ ,])/gm)).toHaveLength(2 * (COMMANDS.length + others.length));
  expect(await readChat(t, ['/keys'])).toMatch(/^ {2}Enter +send\n/);
});

test('/help promises nothing that a chat which is not saved does not keep', async (t) => {
  const help = await readChat(t, ['/help']);
  expect(help).toMatch(/^ {2}\/save \[name\] +Name this session, and save it if it is not saved yet$/m);
  expect(help).toMatch(/^ {2}\/new +Begin a new session; this one is kept if it is saved$/m);
});

test.for(['/exit', '/q', '/quit'])('%s leaves, and reads no further', async (command, t) => {
  const { stdout, exitCode } = await pipedChat(t, ['hello', command, 'hi'], { args: ['--demo'] });
  expect(stdout).toBe('Hello! How can I help you today?\n');
  expect(exitCode).toBe(0);
});

test('/stats tells turns, tokens, time and tools', async (t) => {
  const { stderr } = await pipedChat(t, ['call read_file {"file_path":"nothing"}', 'hello', '/stats'], {
    args: ['--demo'],
  });
  expect(stderr).toMatch(
    /^✗ read_file nothing: .*\n2 turns · \d+ in · \d+ out · \d+ tokens · [\d.]+s\ntools: read_file 1 \(1 failed\)\n2 turns/,
  );
});

test('/model shows the model and the others, and switches', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  const { stderr } = await pipedChat(t, ['/model', 'x', '/model flash', 'y', '/model not/../one'], { gemini });
  expect(stderr).toMatch(/^The model is gemini-2\.5-flash\.\nOthers, with \/model <name>:\n {2}gemini-flash-latest/);
  expect(stderr).toContain('The model is gemini-flash-latest now.\n');
  expect(stderr).toContain('"not/../one" cannot be the name of a model');
  expect(gemini.requests.map(({ path }) => path.replace(/:.*/, ''))).toEqual([
    '/v1beta/models/gemini-2.5-flash',
    '/v1beta/models/gemini-flash-latest',
  ]);
});

test('/system shows, sets and drops the instruction', async (t) => {
  const { stderr, requests } = await pipedChat(t, ['/system', '/system Be brief.', 'x', '/system -', 'y'], {
    script: [reply('a'), reply('b')],
    args: ['--no-agent-prompt'],
  });
  expect(stderr).toMatch(/^There is no system instruction\.\nBe brief\.\nThere is no system instruction\.\n/);
  expect(requests.map(({ body }) => body.systemInstruction?.parts)).toEqual([[{ text: 'Be brief.' }], undefined]);
});

test('/model lists what this backend has, each model once, with its tiers', async (t) => {
  const { env } = sharedHome(t);
  const gemini = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-2.5-pro' }, { name: 'models/new' }] })]);
  const listed = async (variables: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const { stderr } = await pipedChat(t, ['/model'], { gemini, env: { ...env, ...variables } });
    return stderr.split('\n').filter((row) => row.startsWith('  '));
  };
  const names = (rows: readonly string[]) => rows.map((row) => row.trim().split(' ')[0]);
  const here = await listed({});
  const answering = MODELS.filter(({ makes }) => makes === undefined);
  const known = answering.filter(({ backends }) => backends.includes('gemini-api')).map(({ id }) => id);
  expect(names(here).toSorted()).toEqual([...known, ...Object.keys(ALIASES)].toSorted());
  expect(here.find((row) => row.startsWith('  gemini-2.5-pro '))).toMatch(/; tiers: free, standard$/);
  expect(here.find((row) => row.startsWith('  gemini-3-flash-preview '))).toMatch(/; tier: standard$/);
  expect(here.find((row) => row.startsWith('  gemini-3-flash '))).toMatch(/ short for gemini-3-flash-preview$/);
  const account = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 't', CODE_ASSIST_ENDPOINT: gemini.url };
  const there = names(await listed(account));
  expect(there).toEqual([...new Set(there)]);
  expect(there).toContain('gemini-3-flash');
  expect(there).not.toContain('gemini-pro-latest');
  await callGmn(t, ['models', '--refresh'], { gemini, env });
  expect(names(await listed({}))).toEqual(['new', 'gemini-2.5-pro', ...Object.keys(ALIASES)]);
  expect(await listed({ GEMINI_API_KEY: 'another-key-012345' })).toEqual(here);
});

test('/model leaves out what the tier of the account does not have, once it is known', async (t) => {
  const onboarded = json({ currentTier: { id: 'free-tier' }, cloudaicompanionProject: 'p-1' });
  const gemini = await fakeGemini(t, [onboarded, codeAssistResponse('a')]);
  const token = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 't', CODE_ASSIST_ENDPOINT: gemini.url };
  const { stderr } = await pipedChat(t, ['/model', 'hi', '/model'], { gemini, env: token });
  expect(stderr.match(/^ {2}gemini-2\.5-pro /gm)).toHaveLength(2);
  expect(stderr.match(/^ {2}gemini-3-flash-preview /gm)).toHaveLength(1);
});

test('/thoughts shows what the model thinks, on stderr', async (t) => {
  expect(await readChat(t, ['/thoughts', '/thoughts on', 'hello', '/thoughts off', 'hello', '/thoughts maybe'])).toBe(
    [
      'Hello! How can I help you today?',
      'Hello! How can I help you today?',
      'Thoughts are not shown.',
      'Thoughts are shown.',
      '**Reading the prompt**\n\nThe demo model looks it up.',
      'Thoughts are not shown.',
      'Error: say on or off: /thoughts on',
      'Example: /thoughts on\n',
    ].join('\n'),
  );
});

test('/tools lists the tools and turns them on and off', async (t) => {
  const lines = [
    '/tools run_shell_command on',
    '/tools replace off',
    '/tools replace on',
    '/tools write_file off',
    '/tools glbo on',
    '/tools',
    'x',
  ];
  const { stderr, requests } = await pipedChat(t, lines, { script: [reply('a')] });
  expect(stderr).toContain('Error: there is no tool glbo\nDid you mean glob?\n');
  const names = requests[0]?.tools ?? [];
  expect(names).toEqual(listSet('edit', 'run_shell_command').filter((name) => name !== 'write_file'));
  const off = ['write_file', 'web_fetch', 'google_web_search'];
  for (const name of [...names, ...off])
    expect(stderr).toMatch(
      new RegExp(`\\n  ${off.includes(name) ? 'off' : 'on '} ${name} +${findBuiltin(name)?.about}\\n`),
    );
});

test('the steps of a task are a checklist in a chat', async (t) => {
  const todos = [{ description: 'look', status: 'in_progress' }];
  const { stderr } = await pipedChat(t, ['x'], { script: [reply(call('write_todos', { todos })), reply('ok')] });
  expect(stderr).toContain('✓ write_todos · 0 of 1 done\n  [>] look\n');
});

test('/approve changes what asks; yolo is for the command line', async (t) => {
  const files = { 'a.txt': 'a\n' };
  const lines = [
    '/approve',
    '/approve auto_edit',
    'call write_file {"file_path":"b.txt","content":"b\\n"}',
    '/approve yolo',
  ];
  const told = await readChat(t, lines, { files });
  expect(told).toContain(
    'default: edits ask first\nTo change it: /approve auto_edit or plan\nauto_edit: edits run without asking\n✓ write_file b.txt +1 −0\n',
  );
  expect(told).toContain('Error: yolo is for the command line only\nStart with: gmn chat --yolo\n');
  expect(await readChat(t, ['/approve plan', '/approve yolo'], { args: ['--demo', '-y'] })).toBe(
    'plan: tools only read\nyolo: nothing asks first\n',
  );
});

test('in plan mode only tools that read are offered, and the others come back after it', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  await pipedChat(t, ['/approve plan', 'x', '/approve default', 'y'], { gemini });
  const offered = gemini.requests.map(({ body }) => body.tools[0].functionDeclarations);
  expect(offered.map((tools) => tools.map(({ name }: { name: string }) => name))).toEqual([
    listSet('read'),
    listSet('edit'),
  ]);
});

test('/mcp says that there are none', async (t) => {
  expect(await readChat(t, ['/mcp'])).toBe('No MCP servers are connected.\n');
});

test('/context tells what fills the window', async (t) => {
  const told = await readChat(t, ['hello', '/context'], {
    args: ['--demo', '--tools', 'read_file,glob', '--system', 'Be brief.'],
  });
  expect(told).toMatch(
    /\n +3 {2}system instruction, 0\.0 %\n +\d+ {2}2 tools, 0\.\d %\n +2 {2}your prompts, 0\.0 %\n +8 {2}replies, 0\.0 %\n +\d+ {2}tokens in all, estimated, 0\.\d % of 1048576\n +17 {2}tokens after the last reply, as the server counts\n$/,
  );
});

test('/new begins another session, /clear forgets this one', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b'), reply('c')]);
  const { env } = sharedHome(t);
  const { stderr } = await pipedChat(t, ['x', '/clear', 'y', '/new', 'z', '/sessions'], { gemini, env });
  expect(gemini.requests.map(({ body }) => body.contents.length)).toEqual([1, 1, 1]);
  expect(stderr).toMatch(
    /The conversation is forgotten\.\nThis is a new session\.\n {2}1 {2}[\da-f]{8} {2}z {2}just now {2}1 turn {2}chat\n {2}2 {2}/,
  );
});

test('/retry asks again, /rewind drops exchanges', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('b'), reply('c'), reply('d')]);
  const { stdout, stderr } = await pipedChat(t, ['x', 'y', '/retry', '/rewind 2', '/rewind', '/rewind x', 'z'], {
    gemini,
  });
  expect(stdout).toBe('a\nb\nc\nd\n');
  expect(gemini.requests[2]?.body.contents).toEqual(gemini.requests[1]?.body.contents);
  expect(gemini.requests[3]?.body.contents).toEqual([{ role: 'user', parts: [{ text: 'z' }] }]);
  expect(stderr).toMatch(
    /^Dropped the last 2 exchanges\.\nError: there is nothing to drop\n.*\nError: \/rewind takes a number, not "x"\n/,
  );
});

test('/retry asks a prompt again that failed', async (t) => {
  const gemini = await fakeGemini(t, [
    (response) => void response.writeHead(400).end('{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}'),
    reply('now'),
  ]);
  const { stdout } = await pipedChat(t, ['x', '/retry'], { gemini });
  expect(stdout).toBe('now\n');
  expect(gemini.requests[1]?.body.contents).toEqual([{ role: 'user', parts: [{ text: 'x' }] }]);
});

test('/compress continues from a summary that the model writes', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('You said x.'), reply('b')]);
  const { stdout, stderr } = await pipedChat(t, ['/compress', 'x '.repeat(200), '/compress', 'y'], { gemini });
  expect(stdout).toBe('a\nb\n');
  expect(stderr).toMatch(
    /^Error: there is no conversation to summarise\n.*\nThe conversation is a summary now: about \d+ tokens/,
  );
  expect(gemini.requests[1]?.body.tools).toBeUndefined();
  expect(gemini.requests[2]?.body.contents.map(({ parts }: { parts: object[] }) => parts)).toEqual([
    [{ text: 'This is a summary of our conversation so far:\n\nYou said x.' }],
    [{ text: 'I will continue from there.' }],
    [{ text: 'y' }],
  ]);
});

test('/save names, /load continues, /sessions lists', async (t) => {
  const { env } = sharedHome(t);
  const lines = ['x', '/save trip', '/load trip', '/new', 'y', '/resume trip', 'z', '/load nowhere', '/load'];
  const { stderr, requests } = await pipedChat(t, lines, { script: [reply('a'), reply('b'), reply('c')], env });
  expect(requests[2]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
    { text: 'x' },
    { text: 'a' },
    { text: 'z' },
  ]);
  expect(stderr).toMatch(
    /^Saved as trip\.\nError: this is the session you are in\n.*\nThis is a new session\.\nContinuing trip: 1 turn\.\nError: .*nowhere.*\n.*\n {2}1 {2}[\da-f]{8} {2}trip {2}x {2}just now {2}2 turns {2}chat\n/,
  );
  expect(stderr).toMatch(/\nResume: gmn chat -r trip\n$/);
});

test('/sessions can be narrowed to where they are from, and keeps the numbers of all', async (t) => {
  const { env } = sharedHome(t);
  const gemini = await fakeGemini(t, [reply('a'), reply('b')]);
  await callGmn(t, ['shot'], { gemini, env });
  const lines = ['x', '/sessions one-shot', '/sessions chat', '/sessions served', '/sessions mine'];
  const { stderr } = await pipedChat(t, lines, { gemini, env });
  expect(stderr).toMatch(
    /^ {2}2 {2}[\da-f]{8} {2}shot {2}just now {2}1 turn {2}one-shot\n {2}1 {2}[\da-f]{8} {2}x {2}just now {2}1 turn {2}chat\nThere are no such sessions\.\nError: \/sessions cannot be narrowed to "mine"\nChoose one of: chat, one-shot, served, sub-agent\n/,
  );
});

test('/save keeps a chat that was not to be saved', async (t) => {
  const { env } = sharedHome(t);
  await pipedChat(t, ['hello', '/save kept'], { env, args: ['--demo'] });
  const { stderr } = await pipedChat(t, ['/copy', `/pipe ${CAT}`], { env, args: ['--demo', '-r', 'kept'] });
  expect(stderr.replace(/^this session was started in .*\n/, '').replace(/[\d.]+s$/m, '1s')).toBe(
    [
      'Error: nothing was copied: a clipboard needs a terminal',
      'Pass it to a program of yours: /pipe <command>',
      'Hello! How can I help you today?',
      '0 turns · 1s',
      'Resume: gmn chat --demo -r kept\n',
    ].join('\n'),
  );
});

test.for(['/approve', '/rewind', '/model', '/tools'])(
  '%s shows what was typed without its control characters',
  async (command, t) => {
    const { stderr } = await pipedChat(t, [`${command} \u001b]0;x\u0007 on`], { args: ['--demo'] });
    expect(stderr).toMatch(/Error: .*\\x1b\]0;x\\x07/);
    expect(stderr).not.toContain('\u001b');
  },
);
