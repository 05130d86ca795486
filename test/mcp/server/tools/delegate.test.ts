import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failure, fakeGemini, reply } from '../../../support/gemini.ts';
import { callGmnIn, place } from '../../../support/gmn.ts';
import { systemMode } from '../../../support/posix.ts';
import { echo, readModel, sdkClient, serve, silence, startServing } from '../support.ts';

const UUID = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

test('a sync delegation is the whole answer, in text and as data', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const server = await serve(t, { gemini });
  const result = await server.call('delegate', { prompt: 'Say hi', model: 'gemini-2.5-flash' });
  expect(result).toEqual({
    content: [{ type: 'text', text: 'echo: Say hi' }],
    structuredContent: {
      status: 'completed',
      output: 'echo: Say hi',
      duration_ms: expect.any(Number),
      model_used: 'gemini-2.5-flash',
      cost: 0.0000315,
      session_id: UUID,
      job_id: UUID,
    },
  });
  const { job_id, session_id } = result.structuredContent;
  const status = await server.call('delegate_status', { job_id });
  expect(status.structuredContent).toEqual({
    job_id,
    session_id,
    status: 'completed',
    created_at: TIME,
    started_at: TIME,
    completed_at: TIME,
    duration_ms: expect.any(Number),
    model_used: 'gemini-2.5-flash',
    cost: 0.0000315,
    working_directory: expect.stringMatching(/work$/),
    prompt_sha256: createHash('sha256').update('Say hi').digest('hex'),
    timeout_ms: 120_000,
    output: 'echo: Say hi',
  });
  expect(status.content).toEqual([{ type: 'text', text: 'echo: Say hi' }]);
});

test('a picture is not in the output of a job: a notice names it', async (t) => {
  const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
  const server = await serve(t, { gemini: await fakeGemini(t, [reply('Here.', picture)]) });
  const { structuredContent } = await server.call('delegate', { prompt: 'draw' });
  expect(structuredContent).toMatchObject({
    status: 'completed',
    output: 'Here.',
    notices: ['The answer also has files that are not in this result: image/png, 8 B'],
  });
});

test('without a session it is stateless; with one it continues, even after a restart', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo]);
  const at = place(t, { gemini });
  const first = await serve(t, { at });
  const { session_id } = (await first.call('delegate', { prompt: 'one' })).structuredContent;
  await first.call('delegate', { prompt: 'two' });
  await first.end();
  for (const name of readdirSync(join(at.home, '.gmn/sessions')).filter((each) => each.endsWith('.jsonl'))) {
    const file = join(at.home, '.gmn/sessions', name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"date":"[^"]+"/, '"date":"Thu Jan 01 2026"'));
  }
  const second = await serve(t, { at });
  const reply = await second.call('delegate', { prompt: 'three', session_id });
  expect(reply.structuredContent.session_id).toBe(session_id);
  expect(gemini.requests.map(({ body }) => body.contents.length)).toEqual([1, 1, 3]);
  // The agent prompt of a session stays as it was in its first request.
  expect(
    gemini.requests.map(({ body }) => /Date: .* (?=\d{4}$)/m.exec(body.systemInstruction.parts[0].text)?.[0]),
  ).toEqual([...[expect.any(String), expect.any(String), 'Date: Thu Jan 01 ']]);
  const { sessions, total } = (await second.call('delegate_sessions', { limit: 1 })).structuredContent;
  expect(total).toBe(2);
  expect(sessions).toEqual([
    {
      session_id,
      created_at: TIME,
      last_accessed: TIME,
      turn_count: 2,
      working_directory: expect.stringMatching(/work$/),
      model: 'gemini-2.5-flash',
    },
  ]);
});

test('a plain name begins a session of that name, and continues it from then on', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
  const at = place(t, { gemini });
  const first = await serve(t, { at });
  // At the same time: the second waits for the session that the first begins.
  const [one, two] = await Promise.all(
    ['one', 'two'].map((prompt) => first.call('delegate', { prompt, session_id: 'own-name' })),
  );
  const { session_id } = one.structuredContent;
  expect([session_id, two.structuredContent.session_id]).toEqual([UUID, session_id]);
  await first.end();
  const second = await serve(t, { at });
  await second.call('delegate', { prompt: 'three', session_id: ' own-name' });
  await second.call('delegate', { prompt: 'four', session_id });
  expect(gemini.requests.map(({ body }) => body.contents.length)).toEqual([1, 3, 5, 7]);
  expect((await second.call('delegate_sessions')).structuredContent.sessions).toMatchObject([
    { session_id, name: 'own-name', turn_count: 4 },
  ]);
});

test('a name that is in use elsewhere, or by a person, is refused, and so is what is no plain name', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini, files: { 'one/x': '', 'two/x': '' } });
  const one = await serve(t, { at: { ...at, cwd: join(at.cwd, 'one') } });
  await one.call('delegate', { prompt: 'private', session_id: 'theirs' });
  await one.end();
  await callGmnIn(t, { ...at, cwd: join(at.cwd, 'two') }, ['mine', '--session-name', 'personal']);
  const two = await serve(t, { at: { ...at, cwd: join(at.cwd, 'two') } });
  const refuse = async (session_id: string) =>
    (await two.call('delegate', { prompt: 'x', session_id })).structuredContent;
  for (const name of ['theirs', 'personal']) {
    expect(await refuse(name)).toMatchObject({ code: 'EXECUTION_FAILED', error: expect.stringMatching(/is in use\n/) });
  }
  for (const name of [UNKNOWN, '12', 'latest', 'deadbeef', '../x', 'a b', '-x', 'x'.repeat(65)]) {
    expect([name, (await refuse(name)).code]).toEqual([name, 'SESSION_NOT_FOUND']);
  }
});

test('a session keeps its model and system prompt; what a call names holds for that call', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
  const server = await serve(t, { gemini, flags: ['-m', 'gemini-2.5-flash-lite'] });
  const call = async (args: object) => (await server.call('delegate', { prompt: 'x', ...args })).structuredContent;
  const { session_id } = await call({ model: 'Opus', system_prompt: '@Be brief.' });
  await call({ session_id });
  await call({ session_id, model: 's', system_prompt: 'Be long.' });
  await call({ session_id });
  expect(gemini.requests.map(({ path, body }) => [readModel(path), body.systemInstruction.parts[0].text])).toEqual([
    ['gemini-pro-latest', '@Be brief.'],
    ['gemini-pro-latest', '@Be brief.'],
    ['gemini-flash-latest', 'Be long.'],
    ['gemini-pro-latest', '@Be brief.'],
  ]);
});

test('brainstorm puts its words in front', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const server = await serve(t, { gemini });
  await server.call('delegate', { prompt: 'names', brainstorm: true, system_prompt: '@secret' });
  expect(gemini.requests[0]?.body.contents[0].parts[0].text).toBe(
    'BRAINSTORMING MODE: Generate creative, diverse ideas for the following:\n\nnames',
  );
  expect(gemini.requests[0]?.body.systemInstruction.parts).toEqual([{ text: '@secret' }]);
  // The session is named by the question.
  const [name = ''] = readdirSync(join(server.home, '.gmn/sessions')).filter((each) => each.endsWith('.jsonl'));
  expect(readFileSync(join(server.home, '.gmn/sessions', name), 'utf8')).toMatch(/^\{.*"title":"names"/);
});

test('an async delegation returns at once; its output, partial while it runs, is one call away', async (t) => {
  const { scripted, begun } = silence('so ', 'far');
  const gemini = await fakeGemini(t, [scripted]);
  const server = await serve(t, { gemini });
  const queued = await server.call('delegate', { prompt: 'long', mode: 'async' });
  const { job_id } = queued.structuredContent;
  expect(queued).toEqual({
    content: [{ type: 'text', text: `Queued as job ${job_id}` }],
    structuredContent: { job_id: UUID, status: 'queued' },
  });
  await begun;
  const running = await server.call('delegate_status', { job_id, wait_ms: 300 });
  expect(running.structuredContent).toMatchObject({ status: 'running', partial_output: 'so far' });
  expect(running.structuredContent.output).toBeUndefined();
});

test.for([
  ['sync', {}, 120_000],
  ['async', {}, 1_800_000],
  ['async', { timeout_ms: 90_000 }, 90_000],
] as const)('mode %s with %j gives up after %i ms', async ([mode, args, timeoutMs], t) => {
  const at = place(t, { gemini: await fakeGemini(t, [echo]) });
  const server = await serve(t, { at });
  const { job_id } = (await server.call('delegate', { prompt: 'x', mode, ...args })).structuredContent;
  await server.call('delegate_status', { job_id, wait_ms: 20_000 });
  const shown = await callGmnIn(t, at, ['jobs', 'show', job_id, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'completed', timeout_ms: timeoutMs });
});

test('a job that took too long says how long it had, and what to do', async (t) => {
  const { scripted } = silence('so far');
  // On a busy machine the job may end before its request is sent.
  const server = await serve(t, { gemini: await fakeGemini(t, scripted) });
  const { job_id } = (await server.call('delegate', { prompt: 'x', mode: 'async', timeout_ms: 50 })).structuredContent;
  const { content, structuredContent } = await server.call('delegate_status', { job_id, wait_ms: 20_000 });
  expect(content[0].text).toBe(`Job ${job_id} failed: it took longer than timeout_ms (50). Delegate again with more.`);
  expect(structuredContent).toMatchObject({ status: 'failed', code: 'TIMEOUT' });
});

test('every failure has its code', async (t) => {
  const gemini = await fakeGemini(t, [failure(400, 'INVALID_ARGUMENT', 'bad')]);
  const server = await serve(t, { gemini });
  const code = async (name: string, args: object): Promise<string> => {
    const { isError, structuredContent, content } = await server.call(name, args);
    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({ status: 'error', error: expect.stringMatching(/./) });
    expect(content[0].text).toBe(`${structuredContent.code}: ${structuredContent.error}`);
    return structuredContent.code;
  };
  expect(await code('delegate', { prompt: 'x' })).toBe('EXECUTION_FAILED');
  expect(await code('delegate', {})).toBe('EXECUTION_FAILED');
  expect(await code('delegate', { prompt: 'x', session_id: UNKNOWN })).toBe('SESSION_NOT_FOUND');
  expect(await code('delegate', { prompt: 'x', working_directory: '/' })).toBe('INVALID_DIRECTORY');
  expect(await code('delegate_status', { job_id: 'nothing' })).toBe('JOB_NOT_FOUND');
  expect(await code('delegate_status', { job_id: '../../etc/passwd' })).toBe('JOB_NOT_FOUND');
  expect(await code('delegate_cancel', { job_id: '00000000-0000-4000-8000-000000000000' })).toBe('JOB_NOT_FOUND');
});

test('what exceeds the queue is refused at once, and only that', async (t) => {
  const held = [silence(), silence()];
  const gemini = await fakeGemini(
    t,
    held.map(({ scripted }) => scripted),
  );
  const server = await serve(t, { gemini, flags: ['--max-running', '2', '--max-queued', '3'] });
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, index) => server.call('delegate', { prompt: `${index}`, mode: 'async' })),
  );
  const codes = results.map(({ structuredContent }) => structuredContent.code ?? structuredContent.status);
  expect(codes).toEqual([...Array(5).fill('queued'), ...Array(5).fill('OVERLOADED')]);
  await Promise.all(held.map(({ begun }) => begun));
  const states = async (status_filter: string) =>
    (await server.call('delegate_jobs', { status_filter })).structuredContent.total;
  expect([await states('running'), await states('queued')]).toEqual([2, 3]);
  const waiting = (await server.call('delegate_jobs', { status_filter: 'queued', limit: 1 })).structuredContent.jobs[0];
  const cancelled = await server.call('delegate_cancel', { job_id: waiting.job_id });
  expect(cancelled.structuredContent).toMatchObject({ status: 'cancelled' });
  expect(cancelled.structuredContent.started_at).toBeUndefined();
});

test('an answer is on disk when it is returned: the job, its output and its session', async (t) => {
  const gemini = await fakeGemini(t, [echo, failure(400, 'INVALID_ARGUMENT', 'no'), echo]);
  const server = await serve(t, { gemini });
  const read = (directory: string, id: string, ending: string): string => {
    const folder = join(server.home, '.gmn', directory);
    const name = readdirSync(folder).find((found) => found.includes(id) && found.endsWith(ending)) ?? '';
    return readFileSync(join(folder, name), 'utf8');
  };
  const lastLine = (id: string) => JSON.parse(read('jobs', id, '.jsonl').split('\n').at(-1) ?? '');
  const done = (await server.call('delegate', { prompt: 'quick' })).structuredContent;
  expect(lastLine(done.job_id)).toMatchObject({ status: 'completed', session_id: done.session_id });
  expect(read('jobs', done.job_id, '.txt')).toBe('echo: quick');
  expect(read('sessions', done.session_id, '.jsonl')).toContain('echo: quick');
  const failed = (await server.call('delegate', { prompt: 'bad' })).structuredContent;
  expect(lastLine(failed.job_id)).toMatchObject({ status: 'failed', code: 'EXECUTION_FAILED' });
  const { sessionId } = (await server.call('chat', { prompt: 'hello' }))._meta;
  expect(read('sessions', sessionId, '.jsonl')).toContain('echo: hello');
});

test('after kill -9 the ten running jobs are failed with their output so far, and the others unchanged', async (t) => {
  const work = Array.from({ length: 10 }, (_, index) => silence(`so far ${index}`));
  const gemini = await fakeGemini(t, [echo, ...work.map(({ scripted }) => scripted)]);
  const at = place(t, { gemini });
  const killed = await startServing(t, { at, flags: ['--max-running', '10'] });
  const submit = async (prompt: string): Promise<string> =>
    (await killed.call('delegate', { prompt, mode: 'async' })).structuredContent.job_id;
  const done = (await killed.call('delegate', { prompt: 'quick' })).structuredContent.job_id;
  const running = await Promise.all(work.map((_, index) => submit(`long ${index}`)));
  const queued = await submit('later');
  // A job's output and session are on disk as soon as they exist.
  const kept = (name: string) => readFileSync(join(at.home, '.gmn/jobs', name), 'utf8');
  for (const id of running) {
    await expect.poll(() => kept(`${id}.txt`), { timeout: 10_000 }).toMatch(/^so far \d$/);
    const known = () => JSON.parse(kept(`${id}.jsonl`).split('\n').at(-1) ?? '');
    await expect.poll(known, { timeout: 10_000 }).toHaveProperty('session_id', UUID);
  }
  killed.child.kill('SIGKILL');
  const server = await serve(t, { at });
  const status = async (job_id: string) => (await server.call('delegate_status', { job_id })).structuredContent;
  const after = await Promise.all(running.map(status));
  for (const job of after) {
    expect(job).toMatchObject({
      status: 'failed',
      code: 'INTERRUPTED',
      completed_at: TIME,
      duration_ms: expect.any(Number),
      session_id: UUID,
      model_used: 'gemini-2.5-flash',
    });
  }
  expect(after.map((job) => job.partial_output).sort()).toEqual(work.map((_, index) => `so far ${index}`));
  expect(await status(queued)).toMatchObject({ status: 'failed', code: 'INTERRUPTED' });
  expect(await status(done)).toMatchObject({ status: 'completed', output: 'echo: quick' });
  const { jobs } = (await server.call('delegate_jobs')).structuredContent;
  expect(jobs.map(({ status: state }: { status: string }) => state)).toEqual([
    ...Array(11).fill('failed'),
    'completed',
  ]);
});

test('a client that leaves ends its jobs as INTERRUPTED, and closes their connections', async (t) => {
  const { scripted, begun, closed } = silence('so far');
  const gemini = await fakeGemini(t, [scripted]);
  const at = place(t, { gemini });
  const server = await startServing(t, { at });
  const { job_id } = (await server.call('delegate', { prompt: 'long', mode: 'async' })).structuredContent;
  await begun;
  expect(await server.end()).toBe(0);
  await closed;
  const next = await serve(t, { at });
  expect((await next.call('delegate_status', { job_id })).structuredContent).toMatchObject({
    status: 'failed',
    code: 'INTERRUPTED',
    partial_output: 'so far',
  });
});

test('what is on disk is for its owner alone', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, [echo]) });
  await server.call('delegate', { prompt: 'x' });
  await server.end();
  const directory = join(server.home, '.gmn/jobs');
  expect(statSync(directory).mode & 0o777).toBe(systemMode(0o700));
  expect(
    readdirSync(directory).map((name) => [name.replace(/^[\w-]+/, ''), statSync(join(directory, name)).mode & 0o777]),
  ).toEqual(
    expect.arrayContaining([
      ['.jsonl', systemMode(0o600)],
      ['.txt', systemMode(0o600)],
    ]),
  );
});

test('two jobs of one session run one after the other', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo]);
  const server = await serve(t, { gemini });
  const { session_id } = (await server.call('delegate', { prompt: 'one' })).structuredContent;
  const results = await Promise.all(['two', 'three'].map((prompt) => server.call('delegate', { prompt, session_id })));
  expect(results.map(({ structuredContent }) => structuredContent.session_id)).toEqual([session_id, session_id]);
  expect(gemini.requests.map(({ body }) => body.contents.length)).toEqual([1, 3, 5]);
});

test('a job whose session is in use is queued, and others pass it', async (t) => {
  const gemini = await fakeGemini(t, [silence('so far').scripted, echo]);
  const server = await serve(t, { gemini, flags: ['--max-running', '2'] });
  const submit = async (args: object) =>
    (await server.call('delegate', { prompt: 'x', mode: 'async', ...args })).structuredContent.job_id;
  const status = async (job_id: string, wait_ms = 0) =>
    (await server.call('delegate_status', { job_id, wait_ms })).structuredContent;
  const first = await submit({});
  await expect.poll(async () => (await status(first)).partial_output).toBe('so far');
  await expect.poll(async () => (await server.call('delegate_sessions')).structuredContent.total).toBe(1);
  const { session_id, model_used } = await status(first);
  expect(model_used).toBe('gemini-2.5-flash');
  const waiting = await submit({ session_id, timeout_ms: 1 });
  const other = await submit({ prompt: 'other' });
  expect((await status(other, 10_000)).output).toBe('echo: other');
  expect((await status(waiting)).status).toBe('queued');
});

test('a hundred calls at once each get their own answer', async (t) => {
  const gemini = await fakeGemini(t, Array(150).fill(echo));
  const server = await serve(t, { gemini });
  const names = [...Array(100).fill('generate_text'), ...Array(50).fill('delegate')];
  const results = await Promise.all(names.map((name, index) => server.call(name, { prompt: `${name} ${index}` })));
  expect(results.map(({ content }) => content[0].text)).toEqual(names.map((name, index) => `echo: ${name} ${index}`));
});

test('progress reports each phase, for any token, and only grows', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const server = await serve(t, { gemini });
  await server.call('delegate', { prompt: 'x' }, { progressToken: 0 });
  await server.call('generate_text', { prompt: 'x' });
  const told = server.lines.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
  expect(told.length).toBeGreaterThan(0);
  expect(told.map(({ progressToken }) => progressToken)).toEqual(told.map(() => 0));
  expect(told.map(({ progress }) => progress)).toEqual(told.map((_, index) => index + 1));
  expect(told.map(({ message }) => message).join('\n')).toContain('gemini-2.5-flash');
});

test.for(['legacy', 'auto'] as const)(
  'the SDK’s client accepts every result of the delegate tools in %s mode',
  async (mode, t) => {
    const gemini = await fakeGemini(t, [echo, echo]);
    const { client } = await sdkClient(t, { gemini, mode });
    await client.listTools();
    const call = async (name: string, args: Record<string, unknown> = {}) =>
      (await client.callTool({ name, arguments: args })).structuredContent as Record<string, string>;
    expect((await call('delegate', { prompt: 'x' })).status).toBe('completed');
    const { job_id } = await call('delegate', { prompt: 'y', mode: 'async' });
    expect(await call('delegate_status', { job_id, wait_ms: 10_000 })).toMatchObject({ output: 'echo: y' });
    expect((await call('delegate_jobs')).total).toBe(2);
    expect((await call('delegate_sessions')).total).toBe(2);
    expect((await call('delegate_cancel', { job_id })).status).toBe('completed');
    expect((await call('delegate', { prompt: 'x', working_directory: '/' })).code).toBe('INVALID_DIRECTORY');
  },
);

test('an argument may have the name that another tool gives it, and two names must agree', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, reply('more')]);
  const server = await serve(t, { gemini });
  const named = { prompt: 'x', cwd: server.cwd, working_directory: '', sessionId: 'mine', systemPrompt: 'Be brief.' };
  const first = await server.call('delegate', { ...named, timeoutMs: 60_000 });
  const { job_id, session_id } = first.structuredContent;
  const status = await server.call('delegate_status', { jobId: job_id });
  expect(status.structuredContent).toMatchObject({ working_directory: server.cwd, timeout_ms: 60_000 });
  expect(gemini.requests[0]?.body.systemInstruction.parts[0].text).toContain('Be brief.');
  const twice = { prompt: 'x', sessionId: session_id, session_id, working_directory: server.cwd };
  expect((await server.call('chat-reply', twice))._meta.sessionId).toBe(session_id);
  await server.call('generate_text', { prompt: 'x', system_prompt: 'Be long.', max_output_tokens: 9 });
  expect(gemini.requests[2]?.body).toMatchObject({
    systemInstruction: { parts: [{ text: 'Be long.' }] },
    generationConfig: { maxOutputTokens: 9 },
  });
  const differing = await server.call('chat', { prompt: 'x', cwd: '.', working_directory: '/' });
  expect(differing).toMatchObject({ isError: true });
  expect(differing.content[0].text).toContain('cwd and working_directory mean the same, and differ');
});
