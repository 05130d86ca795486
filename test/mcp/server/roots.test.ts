import { mkdirSync, renameSync, rmdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../../support/gemini.ts';
import { place } from '../../support/gmn.ts';
import { posixTest } from '../../support/posix.ts';
import { echo, serve, silence } from './support.ts';

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
    // On Windows the directory itself, by the name of a device.
    `//?/${at.cwd}`,
  ];
  for (const trick of tricks) {
    const { status, code, error } = await attempt(trick);
    expect([trick, status, code]).toEqual([trick, 'error', 'INVALID_DIRECTORY']);
    expect(error).not.toContain('work-evil/');
  }
  // A shell of POSIX needs quotes around a backslash.
  const { error: hint } = await attempt(join(at.root, 'work-evil'));
  expect(hint.replaceAll("'", '')).toContain(`--root ${join(at.root, 'work-evil')}`);
  expect((await attempt('a')).status).toBe('completed');
  expect((await attempt(join(at.cwd, 'a'))).status).toBe('completed');
});

test('a picture outside the roots is refused with the directory that would have to be one', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []) });
  const server = await serve(t, { at });
  const attempt = async (imagePath: string) =>
    JSON.stringify(await server.call('analyze_image', { prompt: 'x', imagePath }));
  expect(await attempt('/elsewhere/my pictures/fox.png')).toContain("gmn mcp serve --root '/elsewhere/my pictures'");
  expect(await attempt('../fox.png')).toContain('gmn mcp serve --root <dir>');
});

test('a directory that has become a link out of the roots while its job waited is refused', async (t) => {
  const held = silence();
  const gemini = await fakeGemini(t, [held.scripted]);
  const at = place(t, { gemini });
  mkdirSync(join(at.cwd, 'sub'));
  const server = await serve(t, { at, flags: ['--max-running', '1'] });
  const submit = async (args: object) =>
    (await server.call('delegate', { prompt: 'x', mode: 'async', ...args })).structuredContent.job_id;
  const first = await submit({});
  const waiting = await submit({ working_directory: 'sub' });
  const gone = await submit({ working_directory: 'sub' });
  await held.begun;
  rmdirSync(join(at.cwd, 'sub'));
  symlinkSync('/etc', join(at.cwd, 'sub'));
  await server.call('delegate_cancel', { job_id: first });
  for (const job_id of [waiting, gone]) {
    const { structuredContent } = await server.call('delegate_status', { job_id, wait_ms: 10_000 });
    expect(structuredContent).toMatchObject({ status: 'failed', code: 'INVALID_DIRECTORY' });
  }
});

posixTest('a root that has become a link is no longer one', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []) });
  const server = await serve(t, { at });
  renameSync(at.cwd, `${at.cwd}-before`);
  symlinkSync('/etc', at.cwd);
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent).toMatchObject({ status: 'error', code: 'INVALID_DIRECTORY' });
  expect((await server.call('chat', { prompt: 'x' })).isError).toBe(true);
});

test('--root is repeatable, and the first one is the default', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini, files: { 'one/x': '', 'two/x': '' } });
  const server = await serve(t, { at, flags: ['--root', 'one', '--root', 'two'] });
  const attempt = async (args: object) => (await server.call('delegate', { prompt: 'x', ...args })).structuredContent;
  const { job_id } = await attempt({});
  expect((await server.call('delegate_status', { job_id })).structuredContent.working_directory).toMatch(
    /work[\\/]one$/,
  );
  expect((await attempt({ working_directory: join(at.cwd, 'two') })).status).toBe('completed');
  expect((await attempt({ working_directory: at.cwd })).code).toBe('INVALID_DIRECTORY');
  expect((await attempt({ working_directory: 'nope' })).error).toContain('there is no directory "nope"');
});

test('started at home there is no root: the model has no tools, and no directory may be named', async (t) => {
  const wanting = reply(call('read_file', { file_path: 'notes.txt' }));
  const gemini = await fakeGemini(t, [echo, echo, wanting, wanting, wanting]);
  const at = place(t, { gemini, home: { 'notes.txt': 'x' } });
  const server = await serve(t, { at: { ...at, cwd: at.home } });
  const notice = 'Gemini sees no files here; whoever runs the server can change that: gmn mcp serve --root <dir>';
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent).toMatchObject({ status: 'completed', notices: [notice] });
  expect((await server.call('chat', { prompt: 'x' })).content[1].text).toBe(`Note:\n- ${notice}`);
  const failed = (await server.call('chat', { prompt: 'Read notes.txt' })).content[0].text;
  expect(failed).toContain(`but no tools were offered to it\n${notice}`);
  const { tools } = (await server.ask('tools/list')).result;
  const promising = tools.filter((tool: { description: string }) => /can read the files/.test(tool.description));
  expect(promising).toEqual([]);
  expect(JSON.stringify(server.lines[0])).toContain('Gemini sees no files here');
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

test('the jobs of another project are not for this caller', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini, files: { 'one/x': '', 'two/x': '' } });
  const one = await serve(t, { at: { ...at, cwd: join(at.cwd, 'one') } });
  const { job_id } = (await one.call('delegate', { prompt: 'private' })).structuredContent;
  expect((await one.call('delegate_jobs')).structuredContent.total).toBe(1);
  const two = await serve(t, { at: { ...at, cwd: join(at.cwd, 'two') } });
  expect((await two.call('delegate_jobs')).structuredContent).toEqual({ jobs: [], total: 0 });
  for (const [name, args] of [
    ['delegate_status', { job_id }],
    ['delegate_status', { job_id, wait_ms: 100 }],
    ['delegate_cancel', { job_id }],
  ] as const) {
    expect((await two.call(name, args)).structuredContent.code).toBe('JOB_NOT_FOUND');
  }
  expect((await two.ask('resources/read', { uri: `gmn://jobs/${job_id}` })).error.code).toBe(-32602);
  expect((await two.ask('resources/read', { uri: 'gmn://jobs' })).result.contents[0].text).not.toContain(job_id);
});

test('a session of the start directory is not for callers if that is no root', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini, files: { 'root/x': '' } });
  const before = await serve(t, { at });
  const { sessionId } = (await before.call('chat', { prompt: 'private' }))._meta;
  await before.end();
  const server = await serve(t, { at, flags: ['--root', 'root'] });
  expect((await server.call('delegate_sessions')).structuredContent).toEqual({ sessions: [], total: 0 });
  const { structuredContent } = await server.call('delegate', { prompt: 'x', session_id: sessionId });
  expect(structuredContent.code).toBe('SESSION_NOT_FOUND');
  const unknown = '00000000-0000-4000-8000-000000000000';
  const other = await server.call('delegate', { prompt: 'x', session_id: unknown });
  expect(structuredContent.error).toBe(other.structuredContent.error.replace(unknown, sessionId));
});

test('only a whole id leads into a session', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const server = await serve(t, { gemini });
  const { sessionId } = (await server.call('chat', { prompt: 'x' }))._meta;
  for (const session_id of ['1', 'latest', 'last', sessionId.slice(0, 8), sessionId.slice(0, -1)]) {
    const { structuredContent } = await server.call('delegate', { prompt: 'x', session_id });
    expect([session_id, structuredContent.code]).toEqual([session_id, 'SESSION_NOT_FOUND']);
    if (/^la(?:te)?st$/.test(session_id)) continue;
    expect((await server.call('chat-reply', { prompt: 'x', sessionId: session_id })).isError).toBe(true);
  }
  const reply = await server.call('chat-reply', { prompt: 'y', sessionId: ` ${sessionId.toUpperCase()}` });
  expect(reply._meta).toEqual({ sessionId });
});

test('a server without roots continues its own sessions and jobs', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini });
  const server = await serve(t, { at: { ...at, cwd: at.home } });
  const { session_id, job_id } = (await server.call('delegate', { prompt: 'x' })).structuredContent;
  expect((await server.call('delegate_status', { job_id })).structuredContent.status).toBe('completed');
  expect((await server.call('delegate', { prompt: 'y', session_id })).structuredContent.session_id).toBe(session_id);
});
