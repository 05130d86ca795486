import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SELF_SIGNED } from '../api/certificates.ts';
import { IDS } from '../faults/matrix.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { GMN, isStandalone, place, runGmn, runGmnIn } from '../support/gmn.ts';
import { SKIPPED, SKIPPED_FAULTS } from './skips.ts';

test('it is the executable that is tested, and every test that it is spared is one that there is', () => {
  expect(isStandalone).toBe(true);
  const gone = Object.entries(SKIPPED).flatMap(([file, names]) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    return Object.keys(names).filter((name) => !text.includes(`'${name}'`));
  });
  expect([...gone, ...Object.keys(SKIPPED_FAULTS).filter((id) => !IDS.includes(id))]).toEqual([]);
});

test('what lies in a folder to set up the runtime is not read, nor run', async (t) => {
  const gemini = await fakeGemini(t, [reply('hello')]);
  const script = 'require("node:fs").writeFileSync("was-run", "")';
  const here = place(t, {
    gemini,
    files: {
      '.env': 'GEMINI_API_KEY=of-the-folder\nGMN_MODEL=of-the-folder\n',
      'bunfig.toml': 'preload = ["./setup.js"]\n[run]\nbun = true\n',
      'setup.js': script,
      'package.json': '{"type":"module","main":"setup.js","imports":{"#x":"./setup.js"}}',
      'tsconfig.json': '{"compilerOptions":{"paths":{"*":["./setup.js"]}}}',
      'node_modules/commander/index.js': script,
    },
  });
  expect(await runGmnIn(t, here, ['-m', 'flash', 'hi'])).toMatchObject({ stdout: 'hello\n', stderr: '', exitCode: 0 });
  expect(gemini.requests[0]?.headers['x-goog-api-key']).toBe('test-key-0123456789');
  expect(existsSync(join(here.cwd, 'was-run'))).toBe(false);
  const { GEMINI_API_KEY: _, ...env } = here.env;
  expect(await runGmnIn(t, { ...here, env }, ['hi'])).toMatchObject({ stdout: '', exitCode: 2 });
});

test('it is known by its own name, and keeps no code cache', async (t) => {
  const here = place(t, { gemini: await fakeGemini(t, [reply('hello')]) });
  expect((await runGmnIn(t, here, ['hi'])).exitCode).toBe(0);
  expect(existsSync(join(here.home, '.gmn', 'sessions'))).toBe(true);
  expect(existsSync(join(here.home, '.gmn', 'cache'))).toBe(false);
  const { stdout } = await runGmnIn(t, here, ['doctor', '--json']);
  const texts = JSON.parse(stdout).checks.map(({ check, text }: Record<string, string>) => `${check}: ${text}`);
  expect(texts).toContain('code-cache: not needed: gmn is compiled already');
  expect(texts).toContainEqual(expect.stringMatching(/^node: not needed: Bun \d+\.\d+\.\d+ is built in, on \w+ \w+$/));
  expect(texts).toContainEqual(expect.stringMatching(/^gmn: \d+\.\d+\.\d+ in .+, not on PATH$/));
  expect(texts.join('\n')).toContain(` in ${GMN}`);
});

test('a server whose issuer is named in NODE_EXTRA_CA_CERTS is spoken to, others are not', async (t) => {
  const gemini = await fakeGemini(t, [reply('hello')], { tls: SELF_SIGNED });
  const home = { 'ca.pem': SELF_SIGNED.cert };
  const here = place(t, { gemini, home });
  expect(await runGmnIn(t, here, ['hi'])).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(/^Error: certificate of localhost:\d+ refused: it is self-signed\n\S/),
    exitCode: 3,
  });
  const env = { ...here.env, NODE_EXTRA_CA_CERTS: join(here.home, 'ca.pem') };
  expect(await runGmnIn(t, { ...here, env }, ['hi'])).toMatchObject({ stdout: 'hello\n', stderr: '', exitCode: 0 });
});

test('a key is kept in a file, since the keyring needs a library that npm installs', async (t) => {
  const here = place(t);
  const gmn = await runGmnIn(t, here, ['auth', 'set-key', '--stdin'], 'AIzaSyStandaloneKey0123456789abcdefghij');
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  expect(existsSync(join(here.home, '.gmn', 'key.json'))).toBe(true);
});

test('a pattern that never ends holds up neither the answer nor the end', async (t) => {
  const made = call('search_file_content', { pattern: '(a+)+$' });
  const gemini = await fakeGemini(t, [reply(made), reply('done')]);
  const files = { 'a.txt': `${'a'.repeat(60)}!\n` };
  const gmn = await runGmn(t, ['--tools', 'read', '-q', 'look'], { gemini, files });
  expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  // The runtime gives up by itself after so many steps, and says that nothing matches; a slow machine does not get that far.
  const answer = JSON.stringify(gemini.requests[1]?.body.contents.at(-1));
  expect(answer).toMatch(/the pattern takes too long on a\.txt|"matches":\[\]/);
});
