import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, chunk, events, failure, fakeGemini, finish, reply } from '../../support/gemini.ts';
import { place } from '../../support/gmn.ts';
import { echo, serve, silence } from './support.ts';

test('an answer that was cut says so, in words that a caller can use', async (t) => {
  const cut = events([chunk([{ text: 'half of' }]), finish('MAX_TOKENS')]);
  const server = await serve(t, { gemini: await fakeGemini(t, [cut, cut, cut]) });
  const notices = ['the answer was cut at the token limit'];
  const content = [
    { type: 'text', text: 'half of' },
    { type: 'text', text: 'Note:\n- the answer was cut at the token limit' },
  ];
  const chat = await server.call('chat', { prompt: 'x' });
  expect(chat).toEqual({ content, _meta: { sessionId: expect.any(String), notices } });
  const delegated = await server.call('delegate', { prompt: 'x' });
  expect(delegated.content).toEqual(content);
  expect(delegated.structuredContent).toMatchObject({ output: 'half of', notices });
  const { job_id } = delegated.structuredContent;
  expect((await server.call('delegate_status', { job_id })).structuredContent.notices).toEqual(notices);
  const text = await server.call('generate_text', { prompt: 'x' });
  expect(text.content).toEqual(content);
  expect(text._meta).toMatchObject({ finishReason: 'MAX_TOKENS', notices });
});

test('a failure names no flag that its caller does not have', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, [events([finish('MAX_TOKENS')])]) });
  const { content, isError } = await server.call('generate_text', { prompt: 'x' });
  expect(isError).toBe(true);
  expect(content[0].text).toMatch(/the token limit was spent/);
  expect(content[0].text).not.toContain('--');
});

test('an unanswered prompt is not sent again with the next one, which says so once', async (t) => {
  const refused = failure(400, 'INVALID_ARGUMENT', 'never this');
  const gemini = await fakeGemini(t, [refused, echo, refused, echo]);
  const server = await serve(t, { gemini });
  const delegate = async (prompt: string, session_id?: string) =>
    (await server.call('delegate', { prompt, ...(session_id ? { session_id } : {}) })).structuredContent;
  const { session_id } = await delegate('bad');
  const left = (prompt: string) => [
    `an earlier prompt of this session had no answer, and the model did not see it now: "${prompt}"`,
  ];
  expect(await delegate('one', session_id)).toMatchObject({ output: 'echo: one', notices: left('bad') });
  expect((await delegate('worse', session_id)).status).toBe('error');
  expect(await delegate('two', session_id)).toMatchObject({ output: 'echo: two', notices: left('worse') });
  const texts = gemini.requests.at(-1)?.body.contents.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text);
  expect(texts).toEqual(['one', 'echo: one', 'two']);
});

test('continuing a session that is open elsewhere reports that it is a copy', async (t) => {
  const gemini = await fakeGemini(t, [echo, silence('so far').scripted, echo]);
  const at = place(t, { gemini });
  const one = await serve(t, { at });
  const { session_id } = (await one.call('delegate', { prompt: 'one' })).structuredContent;
  const { job_id } = (await one.call('delegate', { prompt: 'two', session_id, mode: 'async' })).structuredContent;
  await expect
    .poll(async () => (await one.call('delegate_status', { job_id })).structuredContent.partial_output)
    .toBe('so far');
  const two = await serve(t, { at });
  const { structuredContent } = await two.call('delegate', { prompt: 'three', session_id });
  expect(structuredContent.session_id).not.toBe(session_id);
  expect(structuredContent.notices).toEqual([
    `this session is open elsewhere; continuing in a copy, ${structuredContent.session_id.slice(0, 8)}`,
    'an earlier prompt of this session had no answer, and the model did not see it now: "two"',
  ]);
});

test('a session that cannot be written has no id, and the caller gets a notice', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const server = await serve(t, { gemini, home: { '.gmn/sessions': 'in the way' } });
  const delegated = (await server.call('delegate', { prompt: 'x' })).structuredContent;
  expect(delegated).toMatchObject({ status: 'completed', output: 'echo: x' });
  expect(delegated.session_id).toBeUndefined();
  expect(delegated.notices[0]).toMatch(/^this session is no longer being saved/);
  const chat = await server.call('chat', { prompt: 'x' });
  expect(chat._meta).toEqual({ notices: [expect.stringMatching(/^this session is no longer being saved/)] });
});

test('a failed turn names its session only if it can be continued', async (t) => {
  const fails = failure(400, 'no');
  const gemini = await fakeGemini(t, [fails, fails, echo, fails]);
  const broken = await serve(t, { gemini, home: { '.gmn/sessions': 'in the way' } });
  const lost = (await broken.call('delegate', { prompt: 'x' })).structuredContent;
  expect(lost).toMatchObject({ status: 'error', code: 'EXECUTION_FAILED' });
  expect(lost.session_id).toBeUndefined();
  const { structuredContent: job } = await broken.call('delegate_status', { job_id: lost.job_id });
  expect([job.status, job.session_id]).toEqual(['failed', undefined]);
  const whole = await serve(t, { gemini });
  const { session_id } = (await whole.call('delegate', { prompt: 'one' })).structuredContent;
  const next = (await whole.call('delegate', { prompt: 'two', session_id })).structuredContent;
  expect(next).toMatchObject({ status: 'completed', output: 'echo: two', session_id });
  const last = (await whole.call('delegate', { prompt: 'three', session_id })).structuredContent;
  expect(last).toMatchObject({ status: 'error', session_id });
  const early = (await (await serve(t)).call('delegate', { prompt: 'no key, nothing is written' })).structuredContent;
  expect([early.status, early.session_id]).toEqual(['error', undefined]);
});

test('refused paths are listed in the answer; missing files are not', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: '../outside.txt' }), call('list_directory', { dir_path: 'link' })),
    reply(call('write_file', { file_path: '.git/hooks/pre-commit', content: 'x' })),
    reply(call('write_file', { file_path: 'there.txt', content: 'x' })),
    reply(call('read_file', { file_path: 'nothing.txt' })),
    reply('Done.'),
  ]);
  const at = place(t, { gemini, files: { 'there.txt': 'y' } });
  mkdirSync(join(at.root, 'elsewhere'));
  writeFileSync(join(at.root, 'outside.txt'), 'canary');
  symlinkSync(join(at.root, 'elsewhere'), join(at.cwd, 'link'));
  const server = await serve(t, { at, flags: ['--allow-write'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent.refused).toEqual([
    '../outside.txt is outside the workspace',
    'link is outside the workspace',
    '.git/hooks/pre-commit is protected',
    'there.txt was not written: it exists and was not read in this run',
  ]);
});

test('a grounded answer names its sources', async (t) => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://example.com/a', title: 'A' } }] };
  const candidate = { content: { role: 'model', parts: [] }, finishReason: 'STOP', groundingMetadata };
  const last = { ...finish(), candidates: [candidate] };
  const server = await serve(t, { gemini: await fakeGemini(t, [events([chunk([{ text: 'Them.' }]), last])]) });
  const { metadata, _meta } = await server.call('generate_text', { prompt: 'who?', grounding: true });
  const grounding = { sources: [{ uri: 'https://example.com/a', title: 'A' }] };
  expect([metadata.grounding, _meta.grounding]).toEqual([grounding, grounding]);
});
