import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../../support/gemini.ts';
import { GMN_LINE } from '../../support/gmn.ts';
import { listSet } from '../../support/tool-sets.ts';
import { echo, serve } from './support.ts';

const write = call('write_file', { file_path: 'made.txt', content: 'by Gemini' });
const shell = call('run_shell_command', { command: 'echo made > made.txt' });
const readSecret = call('read_file', { file_path: '.env' });
const read = call('read_file', { file_path: 'notes.txt' });

const NOTE =
  'Refused by this server:\n- write_file: not offered by this server; whoever runs the server can allow it with --allow-write';

test('the model reads the files of the working directory by itself', async (t) => {
  const gemini = await fakeGemini(t, [reply(read), reply('It says hello.')]);
  const server = await serve(t, { gemini, files: { 'notes.txt': 'hello' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'What is in notes.txt?' });
  expect(structuredContent.output).toBe('It says hello.');
  expect(JSON.stringify(gemini.requests[1]?.body.contents.at(-1))).toContain('hello');
  const offered = gemini.requests[0]?.tools;
  expect(offered).toEqual(listSet('read'));
});

test('what the model may not do is denied, and listed in the answer', async (t) => {
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

test('--allow-write lets it neither write what instructs it nor make a repository', async (t) => {
  const paths = ['docs/rules.md', 'x/refs/y', 'x/objects/y', 'x/HEAD'];
  const calls = paths.map((path) => call('write_file', { file_path: path, content: 'x' }));
  const gemini = await fakeGemini(t, [reply(...calls), reply('Done.')]);
  const env = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const server = await serve(t, { gemini, env, files: { 'AGENTS.md': '@docs/rules.md' }, flags: ['--allow-write'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'Write them' });
  expect(structuredContent.refused).toEqual([
    'write_file: docs/rules.md instructs models or is run by other programs',
    'x/HEAD is protected',
  ]);
  expect(paths.map((path) => existsSync(join(server.cwd, path)))).toEqual([false, true, true, false]);
});

test('--allow-shell lets it run commands in the working directory', async (t) => {
  const gemini = await fakeGemini(t, [reply(shell), reply('Done.')]);
  const server = await serve(t, { gemini, flags: ['--allow-shell'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'Run it' });
  expect(structuredContent.refused).toBeUndefined();
  expect(existsSync(join(server.cwd, 'made.txt'))).toBe(true);
});

test.skipIf(process.platform === 'win32')('verify runs its command only with --allow-shell', async (t) => {
  const refusing = await serve(t, { gemini: await fakeGemini(t, []), flags: ['--allow-write'] });
  const refused = await refusing.call('delegate', { prompt: 'x', verify: 'touch made.txt' });
  expect(refused).toMatchObject({ isError: true, structuredContent: { status: 'error', code: 'EXECUTION_FAILED' } });
  expect(refused.structuredContent.error).toMatch(/^verify: this server runs no commands\n.*--allow-shell\.$/);
  expect(existsSync(join(refusing.cwd, 'made.txt'))).toBe(false);
  const gemini = await fakeGemini(t, [reply('Done.'), reply('Done now.'), ...Array(4).fill(reply('Sorry.'))]);
  const server = await serve(t, { gemini, flags: ['--allow-shell'] });
  const verify = '[ -e made.txt ] && exit 0; touch made.txt; echo not yet; exit 1';
  const verified = await server.call('delegate', { prompt: 'x', verify });
  expect(verified.structuredContent).toMatchObject({ status: 'completed', output: 'Done.\nDone now.' });
  expect(JSON.stringify(gemini.requests[1]?.body.contents.at(-1))).toContain('not yet');
  const failed = await server.call('delegate', { prompt: 'x', verify: 'echo never; exit 2' });
  expect(failed.structuredContent).toMatchObject({
    code: 'EXECUTION_FAILED',
    partial_output: 'Sorry.\nSorry.\nSorry.\nSorry.',
  });
  expect(failed.structuredContent.error).toMatch(
    /^verify still fails after 3 repairs: .* \(exit code 2\)\n[\s\S]*never$/,
  );
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

test('gmn started by gmn started by gmn is refused', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, []), env: { GMN_MCP_DEPTH: '2' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent).toMatchObject({
    code: 'EXECUTION_FAILED',
    error: expect.stringContaining('GMN_MCP_DEPTH'),
  });
});

/** Starts a nested server, as a command of the model may, and prints the result of one delegation. */
const NEST = `
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const [, , file, ...args] = process.argv;
const child = spawn(file, [...args, 'mcp', 'serve', '--allow-shell'], { stdio: ['pipe', 'pipe', 'ignore'] });
const say = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
say({ id: 1, method: 'initialize' });
say({ id: 2, method: 'tools/call', params: { name: 'delegate', arguments: { prompt: 'nested' } } });
for await (const line of createInterface({ input: child.stdout })) {
  if (JSON.parse(line).id !== 2) continue;
  console.log(line);
  child.stdin.end();
}
`;

test.skipIf(process.platform === 'win32')(
  'servers that commands start are counted',
  async (t) => {
    const nest = (): object => {
      const command = `GEMINI_API_KEY=k GOOGLE_GEMINI_BASE_URL=${gemini.url} "${process.execPath}" nest.mjs ${GMN_LINE}`;
      return call('run_shell_command', { command });
    };
    const gemini = await fakeGemini(t, [
      (response, request) => reply(nest())(response, request),
      (response, request) => reply(nest())(response, request),
      reply('The second is as deep as it goes.'),
      reply('The first.'),
    ]);
    const server = await serve(t, { gemini, files: { 'nest.mjs': NEST }, flags: ['--allow-shell'] });
    const { structuredContent } = await server.call('delegate', { prompt: 'x' });
    expect(structuredContent.output).toBe('The first.');
    expect(JSON.stringify(gemini.requests[2]?.body.contents.at(-1))).toContain('GMN_MCP_DEPTH counts the levels');
  },
  30_000,
);

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
