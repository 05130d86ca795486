import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fakeGemini, reply } from '../support/fake-gemini.ts';
import { place } from '../support/gmn.ts';
import { echo, serve } from './support.ts';

const write = { functionCall: { name: 'write_file', args: { file_path: 'made.txt', content: 'by Gemini' } } };
const shell = { functionCall: { name: 'run_shell_command', args: { command: 'touch made.txt' } } };
const readSecret = { functionCall: { name: 'read_file', args: { file_path: '.env' } } };
const read = { functionCall: { name: 'read_file', args: { file_path: 'notes.txt' } } };

const NOTE =
  'Refused by this server:\n- write_file: not offered by this server; whoever runs the server can allow it with --allow-write';

test('the model reads the files of the working directory by itself', async (t) => {
  const gemini = await fakeGemini(t, [reply(read), reply('It says hello.')]);
  const server = await serve(t, { gemini, files: { 'notes.txt': 'hello' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'What is in notes.txt?' });
  expect(structuredContent.output).toBe('It says hello.');
  expect(JSON.stringify(gemini.requests[1]?.body.contents.at(-1))).toContain('hello');
  const offered = gemini.requests[0]?.body.tools[0].functionDeclarations.map(({ name }: { name: string }) => name);
  expect(offered).toEqual(['list_directory', 'read_file', 'glob', 'search_file_content']);
});

test('what the model may not do is not done, and stands in the answer', async (t) => {
  const gemini = await fakeGemini(t, [reply(write), reply('I could not.'), reply(write), reply('I could not.')]);
  const server = await serve(t, { gemini });
  const delegated = await server.call('delegate', { prompt: 'Write a file' });
  const refused = ['write_file: not offered by this server; whoever runs the server can allow it with --allow-write'];
  expect(delegated.content).toEqual([
    { type: 'text', text: 'I could not.' },
    { type: 'text', text: NOTE },
  ]);
  expect(delegated.structuredContent.refused).toEqual(refused);
  const { job_id } = delegated.structuredContent;
  expect((await server.call('delegate_status', { job_id })).structuredContent.refused).toEqual(refused);
  const chat = await server.call('chat', { prompt: 'Write a file' });
  expect(chat).toEqual({
    content: [
      { type: 'text', text: 'I could not.' },
      { type: 'text', text: NOTE },
    ],
    _meta: { sessionId: expect.any(String), refused },
  });
  expect(readdirSync(server.cwd)).toEqual([]);
});

test('--allow-write lets it write inside the root, but not run commands', async (t) => {
  const gemini = await fakeGemini(t, [reply(write), reply('Done.'), reply(shell), reply('No shell.')]);
  const server = await serve(t, { gemini, flags: ['--allow-write'] });
  await server.call('delegate', { prompt: 'Write a file' });
  expect(readFileSync(join(server.cwd, 'made.txt'), 'utf8')).toBe('by Gemini');
  const { structuredContent } = await server.call('delegate', { prompt: 'Run it' });
  expect(structuredContent.refused[0]).toMatch(/^run_shell_command: .*--allow-shell$/);
});

test('--allow-shell lets it run commands in the working directory', async (t) => {
  const gemini = await fakeGemini(t, [reply(shell), reply('Done.')]);
  const server = await serve(t, { gemini, flags: ['--allow-shell'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'Run it' });
  expect(structuredContent.refused).toBeUndefined();
  expect(existsSync(join(server.cwd, 'made.txt'))).toBe(true);
});

test('files that may hold keys are not read, and nobody is asked', async (t) => {
  const gemini = await fakeGemini(t, [reply(readSecret), reply('I may not.')]);
  const server = await serve(t, { gemini, files: { '.env': 'KEY=canary-4711' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'Read .env' });
  expect(structuredContent.refused[0]).toMatch(/^read_file: .*\.env may hold keys or passwords$/);
  expect(JSON.stringify(gemini.requests.map(({ body }) => body))).not.toContain('canary-4711');
});

test('an @ in a prompt, a system prompt or a brainstorm is text', async (t) => {
  const gemini = await fakeGemini(t, Array(4).fill(echo));
  const server = await serve(t, { gemini, files: { 'notes.txt': 'canary-4711' } });
  const prompt = '@notes.txt @./notes.txt "@notes.txt" -f notes.txt $(cat notes.txt) `cat notes.txt`';
  for (const [name, args] of [
    ['chat', { prompt, systemPrompt: '@notes.txt' }],
    ['chat-reply', { prompt, systemPrompt: '@notes.txt' }],
    ['generate_text', { prompt, systemInstruction: '@notes.txt' }],
    ['delegate', { prompt, system_prompt: '@notes.txt', brainstorm: true }],
  ] as const) {
    const { isError } = await server.call(name, args);
    expect([name, isError]).toEqual([name, undefined]);
  }
  const sent = JSON.stringify(gemini.requests.map(({ body }) => body));
  expect(sent).not.toContain('canary-4711');
});

const PAYLOADS = [
  '$(touch MARKER)',
  '`touch MARKER`',
  '; touch MARKER',
  '| touch MARKER',
  '&& touch MARKER',
  '\n touch MARKER',
  "'; touch MARKER; '",
  '"; touch MARKER; "',
  '--yolo',
  '-y',
  '--allow-shell',
  '../../MARKER',
  '/etc/passwd',
  'file:///etc/passwd',
  '%2e%2e%2fMARKER',
  '\u0000MARKER',
  '\u202eMARKER',
  '$IFS touch MARKER',
  '{{constructor}}',
  '__proto__',
  '@/etc/passwd',
  '@MARKER',
] as const;

test('payloads in every string of every tool run nothing, write nothing and read nothing', async (t) => {
  const gemini = await fakeGemini(t, []);
  const server = await serve(t, { gemini, env: { GMN_MCP_DEPTH: '2' } });
  const { tools } = (await server.ask('tools/list')).result;
  for (const { name, inputSchema } of tools) {
    const texts = Object.entries<{ type: string }>(inputSchema.properties).filter(([, { type }]) => type === 'string');
    for (const [key] of texts) {
      const calls = PAYLOADS.map((payload) => server.call(name, { prompt: 'x', [key]: payload }));
      await Promise.all(calls);
    }
  }
  expect((await server.ask('ping')).result).toEqual({});
  expect(readdirSync(server.cwd)).toEqual([]);
  expect(readdirSync(join(server.cwd, '..')).filter((name) => name.includes('MARKER'))).toEqual([]);
});

test('a working directory outside the roots is refused, whatever leads there', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini, files: { 'a/b.txt': 'x', 'file.txt': 'x' } });
  mkdirSync(join(at.root, 'work-evil'));
  symlinkSync('/', join(at.cwd, 'link'));
  symlinkSync(join(at.root, 'work-evil'), join(at.cwd, 'sibling'));
  const server = await serve(t, { at });
  const attempt = async (working_directory: string) =>
    (await server.call('delegate', { prompt: 'x', working_directory })).structuredContent;
  const tricks = [
    '/',
    '..',
    '../..',
    '../work-evil',
    'a/../..',
    'a/../../work-evil',
    'link',
    'link/etc',
    'sibling',
    './link/.',
    join(at.root, 'work-evil'),
    `${at.cwd}/../work-evil`,
    `${at.cwd}-evil`,
    '/etc',
    '/proc/self/cwd/..',
    '~',
    '$HOME',
    'file:///',
    'a\u0000/../..',
    'no/such',
    'file.txt',
    '//',
    '/./',
    `${at.home}`,
  ];
  for (const trick of tricks) {
    const { status, code, error } = await attempt(trick);
    expect([trick, status, code]).toEqual([trick, 'error', 'INVALID_DIRECTORY']);
    expect(error).not.toContain('work-evil/');
  }
  expect((await attempt(join(at.root, 'work-evil'))).error).toContain(`--root ${join(at.root, 'work-evil')}`);
  expect((await attempt('a')).status).toBe('completed');
  expect((await attempt(join(at.cwd, 'a'))).status).toBe('completed');
});

test('--root is repeatable, and the first one is the default', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini, files: { 'one/x': '', 'two/x': '' } });
  const server = await serve(t, { at, flags: ['--root', 'one', '--root', 'two'] });
  const attempt = async (args: object) => (await server.call('delegate', { prompt: 'x', ...args })).structuredContent;
  const { job_id } = await attempt({});
  expect((await server.call('delegate_status', { job_id })).structuredContent.working_directory).toMatch(/work\/one$/);
  expect((await attempt({ working_directory: join(at.cwd, 'two') })).status).toBe('completed');
  expect((await attempt({ working_directory: at.cwd })).code).toBe('INVALID_DIRECTORY');
});

test('started at home there is no root: the model has no tools, and no directory may be named', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini, home: { 'notes.txt': 'x' } });
  const server = await serve(t, { at: { ...at, cwd: at.home } });
  expect((await server.call('delegate', { prompt: 'x' })).structuredContent.status).toBe('completed');
  expect(gemini.requests[0]?.body.tools).toBeUndefined();
  const named = await server.call('delegate', { prompt: 'x', working_directory: at.home });
  expect(named.structuredContent.code).toBe('INVALID_DIRECTORY');
  expect(named.structuredContent.error).toContain('--root');
});

test('a session that was begun elsewhere is not for this caller', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini, files: { 'one/x': '', 'two/x': '' } });
  const one = await serve(t, { at: { ...at, cwd: join(at.cwd, 'one') } });
  const { session_id } = (await one.call('delegate', { prompt: 'private' })).structuredContent;
  await one.end();
  const two = await serve(t, { at: { ...at, cwd: join(at.cwd, 'two') } });
  const { structuredContent } = await two.call('delegate', { prompt: 'x', session_id });
  expect(structuredContent).toMatchObject({ code: 'SESSION_NOT_FOUND', error: expect.stringContaining('--root') });
  expect((await two.call('delegate_sessions')).structuredContent).toEqual({ sessions: [], total: 0 });
});

test('gmn behind gmn behind gmn is as deep as it goes', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, []), env: { GMN_MCP_DEPTH: '2' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent).toMatchObject({
    code: 'EXECUTION_FAILED',
    error: expect.stringContaining('GMN_MCP_DEPTH'),
  });
});

test('no secret is in any answer, job or line of stderr', async (t) => {
  const gemini = await fakeGemini(t, [
    (response) => void response.writeHead(401).end('{"error":{"code":401,"message":"key test-key-0123456789 is bad"}}'),
  ]);
  const server = await serve(t, { gemini });
  const result = await server.call('delegate', { prompt: 'x' });
  await server.end();
  const jobs = join(server.home, '.gmn/jobs');
  const written = readdirSync(jobs).map((name) => readFileSync(join(jobs, name), 'utf8'));
  expect([JSON.stringify(result), ...written, server.stderr()].join('\n')).not.toContain('test-key-0123456789');
});
