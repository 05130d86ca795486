import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../../support/gemini.ts';
import { echo, serve } from './support.ts';

const FIBONACCI = 'Each number is the sum of the two before it.';
const read = call('read_file', { file_path: 'test.txt' });
const write = call('write_file', { file_path: 'gmn_test.txt', content: 'gmn was here' });

/** What an agent tries first with a server it delegates to. */
test('the seven probes: connectivity, help, question, file read, file write, follow-up, listing', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(FIBONACCI),
    reply(read),
    reply('It says: Hello from Codex'),
    reply(write),
    reply('Created gmn_test.txt.'),
    echo,
  ]);
  const server = await serve(t, { gemini, files: { 'test.txt': 'Hello from Codex' }, flags: ['--allow-write'] });
  const ask = async (prompt: string, more: object = {}) =>
    (await server.call('delegate', { prompt, ...more })).structuredContent;
  expect((await server.ask('ping')).result).toEqual({});
  const [{ text: help }] = (await server.call('get_help')).content;
  const { tools } = (await server.ask('tools/list')).result;
  for (const { name } of tools) expect(help).toContain(`- ${name}: `);
  const first = await ask('Explain the Fibonacci sequence in one sentence.');
  expect(first).toMatchObject({ status: 'completed', output: FIBONACCI, model_used: 'gemini-2.5-flash' });
  expect((await ask('Read test.txt and tell me what it says.')).output).toBe('It says: Hello from Codex');
  expect(JSON.stringify(gemini.requests[2]?.body.contents.at(-1))).toContain('Hello from Codex');
  expect((await ask('Create gmn_test.txt with the text "gmn was here".')).output).toBe('Created gmn_test.txt.');
  expect(readFileSync(join(server.cwd, 'gmn_test.txt'), 'utf8')).toBe('gmn was here');
  const { session_id } = first;
  expect((await ask('Perfect, thanks.', { session_id })).session_id).toBe(session_id);
  expect(JSON.stringify(gemini.requests[5]?.body.contents)).toContain(FIBONACCI);
  const { sessions, total } = (await server.call('delegate_sessions')).structuredContent;
  expect(total).toBe(3);
  expect(sessions[0]).toMatchObject({ session_id, turn_count: 2, working_directory: server.cwd });
  const { jobs } = (await server.call('delegate_jobs', { status_filter: 'completed' })).structuredContent;
  expect(jobs).toHaveLength(4);
});
