import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { accountResponse, codeAssistResponse, signedIn } from '../support/account.ts';
import { failure, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { callGmnIn, type GmnResult, parseLines, place } from '../support/gmn.ts';

const PRO = 'gemini-2.5-pro';
const LITE = 'gemini-2.5-flash-lite';
const DEFAULT = 'gemini-2.5-flash';

/** Runs in one home, and whom each request asked, with which instruction. */
async function runs(t: TestContext, script: number | readonly Scripted[], files: Record<string, string> = {}) {
  const replies = typeof script === 'number' ? Array.from({ length: script }, () => reply('yes')) : script;
  const gemini = await fakeGemini(t, replies);
  const at = place(t, { gemini, files });
  return {
    ...at,
    gmn: (args: readonly string[], env: Record<string, string> = {}, stdin?: string): Promise<GmnResult> =>
      callGmnIn(t, { ...at, env: { ...at.env, ...env } }, args, stdin),
    asked: () =>
      gemini.requests.map(({ path, body }) => [
        /models\/([^:]+)/.exec(path)?.[1],
        body.systemInstruction?.parts[0].text as string | undefined,
      ]),
    gemini,
    /** The lines of the only session. */
    lines: (): readonly Record<string, unknown>[] => {
      const directory = join(at.home, '.gmn', 'sessions');
      const [name = ''] = readdirSync(directory).filter((each) => each.endsWith('.jsonl'));
      return parseLines(readFileSync(join(directory, name), 'utf8'));
    },
  };
}

const asBefore = (model: string): string => `gmn: asking ${model}, as before in this session; -m asks another\n`;

test('a one-shot that is continued keeps the model and the instruction, and says which model it asks', async (t) => {
  const { gmn, asked } = await runs(t, 5, { 'role.md': 'Be brief.' });
  await gmn(['one', '-m', PRO, '--system', '@role.md', '--append-system-prompt', 'In French.']);
  expect((await gmn(['-c', 'two'])).stderr).toBe(asBefore(PRO));
  expect(JSON.parse((await gmn(['-r', 'last', 'three', '-o', 'json'])).stdout)).toMatchObject({
    warnings: [asBefore(PRO).slice('gmn: '.length, -1)],
  });
  expect((await gmn(['-c', 'four', '-q'], { GMN_MODEL: LITE })).stderr).toBe('');
  await gmn(['-c', '--fork', 'five', '--tools', 'read']);
  expect(asked()).toEqual(Array.from({ length: 5 }, () => [PRO, 'Be brief.\n\nIn French.']));
});

test('what a continued one-shot names holds for this turn', async (t) => {
  const { gmn, asked } = await runs(t, 4);
  await gmn(['one', '-m', PRO, '--system', 'Be brief.']);
  const named = await gmn(['-c', 'two', '-m', LITE, '--system', 'Be long.'], { GMN_MODEL: LITE });
  expect(named.stderr).toBe(`gmn: asking ${LITE} this time; the session keeps ${PRO}\n`);
  await gmn(['-c', 'three', '--append-system-prompt', 'In French.']);
  await gmn(['-c', 'four']);
  expect(asked()).toEqual([
    [PRO, 'Be brief.'],
    [LITE, 'Be long.'],
    [PRO, 'Be brief.\n\nIn French.'],
    [PRO, 'Be brief.'],
  ]);
});

test('a session in which nothing was answered yet begins with what is named then', async (t) => {
  const { gmn, asked } = await runs(t, [failure(404, 'NOT_FOUND'), reply('yes'), reply('yes')]);
  await gmn(['one', '-m', 'gemini-9', '--tools', 'read']);
  await gmn(['-c', 'one', '-m', PRO, '--tools', 'read']);
  await gmn(['-c', 'two']);
  expect(asked().map(([model]) => model)).toEqual(['gemini-9', PRO, PRO]);
});

test("gmn's own model is kept, too, and the one that the settings named", async (t) => {
  const { gmn, asked, home } = await runs(t, 5);
  await gmn(['one']);
  expect((await gmn(['-c', 'two'])).stderr).toBe('');
  mkdirSync(join(home, '.gmn'), { recursive: true });
  writeFileSync(join(home, '.gmn', 'config.json'), JSON.stringify({ model: { name: PRO } }));
  expect((await gmn(['-c', 'three'])).stderr).toBe(asBefore(DEFAULT));
  await gmn(['another']);
  writeFileSync(join(home, '.gmn', 'config.json'), '{}');
  expect((await gmn(['-c', 'five'])).stderr).toBe(asBefore(PRO));
  expect(asked().map(([model]) => model)).toEqual([DEFAULT, DEFAULT, DEFAULT, PRO, PRO]);
});

test('a kept default that is retired is replaced as in a new session; a model that was chosen is not', async (t) => {
  const gone = failure(404, 'NOT_FOUND', 'models/x is no longer available.');
  const { gmn, asked } = await runs(t, [reply('yes'), gone, reply('yes'), reply('yes'), gone]);
  await gmn(['one']);
  expect((await gmn(['-c', 'two'])).stderr).toContain('using gemini-flash-latest (');
  await gmn(['one', '-m', PRO]);
  expect(await gmn(['-c', 'two'])).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(/^gmn: asking gemini-2\.5-pro, as before in this session; -m asks another\nError: /),
  });
  expect(asked().map(([model]) => model)).toEqual([DEFAULT, DEFAULT, 'gemini-flash-latest', PRO, PRO]);
});

test('a model that the backend now in use is not known to have is asked, and that is said', async (t) => {
  const gemini = await fakeGemini(t, [reply('yes'), accountResponse('p'), codeAssistResponse('yes')]);
  const me = signedIn(t, gemini);
  const key = { GEMINI_API_KEY: 'a-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url, GMN_AUTH: 'gemini-api-key' };
  await me.run(['one', '-m', 'gemma-4-31b-it'], key);
  expect((await me.run(['-c', 'two'])).stderr).toContain(
    'asking gemma-4-31b-it, as before in this session, which the backend code-assist may not have; -m asks another',
  );
});

test('a chat keeps what a one-shot chose, and a one-shot what a chat chose last', async (t) => {
  const { gmn, asked, cwd } = await runs(t, 5, { 'role.md': 'Be brief.' });
  const named = ['--session-name', 'trip'];
  await gmn(['one', '-m', PRO, '--append-system-prompt', 'In French.', ...named]);
  const said = await gmn(['chat', '-r', 'trip'], {}, `two\n/model ${LITE}\n/system @role.md\nthree\n`);
  expect(said.stderr).toContain(`As before in this session: the model ${PRO} and its system instruction`);
  writeFileSync(join(cwd, 'role.md'), 'Be long.');
  await gmn(['-r', 'trip', 'four']);
  await gmn(['chat', '-r', 'trip', '-m', 'default'], { GMN_MODEL: PRO }, '/system -\nfive\n');
  expect(asked()).toEqual([
    [PRO, 'In French.'],
    [PRO, expect.stringMatching(/^You are gmn.*\n\nIn French\.$/s)],
    [LITE, 'Be brief.\n\nIn French.'],
    [LITE, 'Be brief.\n\nIn French.'],
    [DEFAULT, expect.stringMatching(/^You are gmn.*\n\nIn French\.$/s)],
  ]);
});

test('a session of an older version goes on as before: with what the settings say', async (t) => {
  const { gmn, asked, home, cwd } = await runs(t, 2);
  const record = (fields: object): string => JSON.stringify({ t: '2026-11-16T09:00:00.000Z', turn: 1, ...fields });
  mkdirSync(join(home, '.gmn', 'sessions'), { recursive: true });
  const id = '7c1e90aa-0000-4000-8000-000000000000';
  writeFileSync(
    join(home, '.gmn', 'sessions', `20261116T090000Z-${id}.jsonl`),
    `${[
      JSON.stringify({
        v: 1,
        type: 'session',
        id,
        t: '2026-11-16T09:00:00.000Z',
        cwd,
        by: 'prompt',
        gmn: '0',
        title: 'a',
      }),
      record({ seq: 1, type: 'prompt', content: { role: 'user', parts: [{ text: 'a' }] } }),
      record({ seq: 2, type: 'reply', model: PRO, content: { role: 'model', parts: [{ text: 'b' }] }, usage: {} }),
    ].join('\n')}\n`,
  );
  expect((await gmn(['-r', id, 'two'])).stderr).toBe('');
  await gmn(['-r', id, 'three'], { GMN_MODEL: LITE });
  expect(asked().map(([model]) => model)).toEqual([DEFAULT, LITE]);
});

test('tools and approvals are not kept', async (t) => {
  const { gmn, gemini } = await runs(t, 2);
  await gmn(['one', '--tools', 'all', '--approval-mode', 'yolo']);
  await gmn(['-c', 'two']);
  expect(gemini.requests.map(({ body }) => body.tools === undefined)).toEqual([false, true]);
});

test('a credential in an instruction is not in the session', async (t) => {
  const { gmn, lines } = await runs(t, 1);
  await gmn(['one', '--system', 'My key is test-key-0123456789.']);
  expect(JSON.stringify(lines())).not.toContain('test-key-0123456789');
  expect(lines()[1]).toMatchObject({
    type: 'setup',
    chosen: { model: 'default', systemText: 'My key is ‹redacted›.' },
  });
});

test.for<readonly [title: string, args: readonly string[], stdin?: string]>([
  ['what is it?', ['what is it?'], 'a line\nand another\n'],
  ['what is it?', ['what is it?', '-f', 'a.txt']],
  ['on speed', ['--template', 'look', '--param', 'focus=', 'on speed'], 'let a;'],
  ['look focus=speed', ['--template', 'look', '--param', 'focus=speed']],
  ['/look focus= on speed', ['/look focus= on speed']],
  ['/look focus= on speed', ['chat'], '/look focus= on speed\n'],
  ['a line', [], 'a line'],
])('a session is named %j, by the question', async ([title, args, stdin], t) => {
  const { gmn, lines, gemini, home } = await runs(t, 1, { 'a.txt': 'some text' });
  mkdirSync(join(home, '.gmn', 'templates'), { recursive: true });
  writeFileSync(
    join(home, '.gmn', 'templates', 'look.md'),
    'Look at this {{focus}}closely.\n\nPay attention to everything.',
  );
  const { stderr } = await gmn(args, {}, stdin);
  expect(stderr).not.toContain('Error');
  expect(lines()[0]).toMatchObject({ title });
  expect(Object.keys(gemini.requests[0]?.body.contents[0])).toEqual(['role', 'parts']);
});
