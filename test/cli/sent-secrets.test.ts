import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, type GmnOptions, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

/** Files as other programs leave them, each with a secret; beside them one that is meant to be sent. */
const SECRETS: Readonly<Record<string, string>> = {
  '.ssh/config': 'CANARY-ssh-config',
  'sub/.aws/config': 'CANARY-aws-config',
  '.kube/config': 'CANARY-kube-config',
  '.docker/config.json': '{"auths":{"x":{"auth":"CANARY-docker"}}}',
  '.config/gh/hosts.yml': 'oauth_token: CANARY-gh',
  '.gmn/key.json': '{"version":1,"place":"file","key":"CANARY-key-json"}',
  '.gemini/x.json': '{"x":"CANARY-settings"}',
  '.env': 'CANARY-env',
};

/** What left for the model, and what was kept of it. */
async function runIn(t: TestContext, args: readonly string[], options: GmnOptions) {
  const gemini = await fakeGemini(t, options.script ?? [reply('ok')]);
  const at = place(t, { ...options, gemini });
  const run = await callGmnIn(t, at, args, options.stdin);
  const sessions = join(at.home, '.gmn/sessions');
  const kept = existsSync(sessions) ? readdirSync(sessions).filter((name) => name.endsWith('.jsonl')) : [];
  return {
    ...run,
    sent: gemini.requests.map(({ body }) => JSON.stringify(body)).join('\n'),
    saved: kept.map((name) => readFileSync(join(sessions, name), 'utf8')).join('\n'),
  };
}

test.for<readonly [readonly string[]]>([
  [['-f', '.', 'x']],
  [['-f', './', '-f', 'sub', 'x']],
  [['x @.']],
  [['x @sub @.ssh @.config']],
  [['x @.ssh/config @.kube/config @sub/.aws/config @.gmn/key.json @.docker/config.json']],
  [['-f', '{.ssh,.kube,.gmn,.docker,sub,sub/.aws}/*', 'x']],
])('what the tools would ask about does not go along unless it is named: %j', async ([args], t) => {
  const files = { ...SECRETS, 'ok.txt': 'FINE', 'sub/ok.txt': 'FINE' };
  const { sent, saved, stderr } = await runIn(t, args, { files });
  expect(sent + saved + stderr).not.toContain('CANARY');
});

test('a notice says what was skipped, and how it can be sent', async (t) => {
  const files = { ...SECRETS, 'ok.txt': 'FINE' };
  const all = await runIn(t, ['-f', '.', 'x'], { files });
  expect(all.sent).toContain('FINE');
  expect(all.stderr).toBe(
    'gmn: left out 1 file and 7 directories (may hold secrets; to send one, name it with -f): .config/gh/, .docker/, .env, …\n',
  );
  const named = await runIn(t, ['-f', '.ssh/config', '-f', '.env', 'x'], { files });
  expect(named.sent).toContain('CANARY-ssh-config');
  expect(named.sent).toContain('CANARY-env');
  const directory = await runIn(t, ['-f', '.ssh', 'x'], { files, script: [] });
  expect(directory).toMatchObject({ exitCode: 1, sent: '' });
  expect(directory.stderr).toBe(
    'Error: .ssh may hold secrets\nName the files you want to send one by one: -f <path>\n',
  );
});

test('the state of gmn stays out wherever it is kept', async (t) => {
  const files = { 'state/key.json': '{"version":1,"place":"file","key":"CANARY-1"}', 'state/x.txt': 'CANARY-2' };
  const at = place(t, { files, gemini: await fakeGemini(t, []) });
  for (const args of [
    ['--dry-run', '-f', '.', 'x'],
    ['--dry-run', 'x @state @state/x.txt'],
  ]) {
    const run = await callGmnIn(t, { ...at, env: { ...at.env, GMN_HOME: join(at.cwd, 'state') } }, args);
    expect(run.stdout + run.stderr).not.toContain('CANARY');
  }
});

const KEY = 'AIzaCANARY-own-key_0123456789abcdef';
const OWN: Readonly<Record<string, string>> = {
  '.gmn/key.json': `{"version":1,"place":"file","key":"${KEY}"}\n`,
  '.gmn/oauth-client.json': '{"version":1,"client_id":"public-id-0123456789","client_secret":"GOCSPX-CANARY-client"}',
  '.gmn/tokens/0123456789abcdef.json':
    '{"version":1,"access_token":"ya29.CANARY-access-token","expiry_date":1,"refresh_token":"1//CANARY-refresh-token"}',
  '.gemini/oauth_creds.json':
    '{"access_token":"ya29.CANARY-official-a","refresh_token":"1//CANARY-official-r","token_type":"Bearer","scope":"https://www.googleapis.com/auth/cloud-platform"}',
  '.gemini/mcp-oauth-tokens.json': '[{"serverName":"s","token":{"accessToken":"CANARY-mcp-access-token"}}]',
};
const NOTICE = "gmn's own credentials were in it; ‹redacted› is sent instead";

/** With what is in its attachments. */
function unpacked(text: string): string {
  const data = [...text.matchAll(/"data":"([^"]+)"/g)].map(([, base64 = '']) => Buffer.from(base64, 'base64'));
  return text + data.join('\n');
}

posixTest.for<readonly [args: readonly string[], stdin?: string]>([
  ...Object.entries(OWN).flatMap(
    ([name, text]) =>
      [
        [['-f', `../home/${name}`, 'x']],
        [['-a', `../home/${name}`, '--mime-type', 'application/pdf', 'x']],
        [['x'], text],
      ] as const,
  ),
  [['-a', '../home/.gmn/key.json', 'x']],
  [['--system', '@../home/.gmn/key.json', 'x']],
  [[OWN['.gmn/key.json'] ?? '']],
  [['--template', './t.toml', '--yolo']],
  [['-p', `what is ${KEY}?`]],
])("gmn's own credentials are replaced in what is sent and in what is saved: %j", async ([args, stdin], t) => {
  const files = { 't.toml': "prompt = 'Is !{cat ../home/.gmn/key.json} a key?'" };
  const options = { home: OWN, files, stdin };
  const { sent, saved, stderr, exitCode } = await runIn(t, args, options);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: `gmn: ${NOTICE}\n` });
  expect(unpacked(sent + saved)).not.toContain('CANARY');
  expect(unpacked(sent)).toContain('‹redacted›');
  if (!args.includes('--system')) expect(unpacked(saved)).toContain('‹redacted›');
});

const PEM = `-----BEGIN PRIVATE KEY-----\n${'MIICANARY0+/abc='.repeat(4)}\n${'CANARYq9Zx'.repeat(6)}\n-----END PRIVATE KEY-----\n`;
const SERVICE_ACCOUNT = JSON.stringify({
  ...{ type: 'service_account', project_id: 'public-project-1', private_key_id: 'public-id-0123456789' },
  ...{ private_key: PEM, client_email: 'a@public-project-1.iam.gserviceaccount.com' },
});
const GCLOUD_FILE = '.config/gcloud/application_default_credentials.json';
const GCLOUD = JSON.stringify({
  ...{ type: 'authorized_user', client_id: 'public-id-0123456789', client_secret: 'd-CANARY-gcloud-secret-1' },
  ...{ refresh_token: '1//CANARY-gcloud-refresh', universe_domain: 'googleapis.com' },
});

posixTest.for<readonly [args: readonly string[], stdin?: string]>([
  [['-f', '../home/sa.json', 'x']],
  [['-a', '../home/sa.json', '--mime-type', 'application/pdf', 'x']],
  [['-f', 'key.txt', 'x']],
  [['x'], PEM.trim()],
  [['-f', `../home/${GCLOUD_FILE}`, 'x']],
  [['-a', `../home/${GCLOUD_FILE}`, '--mime-type', 'application/pdf', 'x']],
])("the secrets of Google's key files that gmn would use are replaced: %j", async ([args, stdin], t) => {
  const gemini = await fakeGemini(t, [reply('ok')]);
  const home = { 'sa.json': SERVICE_ACCOUNT, [GCLOUD_FILE]: GCLOUD };
  const at = place(t, { gemini, home, files: { 'key.txt': `the key is\n${PEM}` } });
  const env = { ...at.env, GOOGLE_APPLICATION_CREDENTIALS: join(at.home, 'sa.json') };
  const run = await callGmnIn(t, { ...at, env }, args, stdin);
  const sent = unpacked(JSON.stringify(gemini.requests[0]?.body));
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: `gmn: ${NOTICE}\n` });
  expect(sent).not.toContain('CANARY');
  expect(sent).toContain('‹redacted›');
  if (args.some((word) => word.endsWith('.json'))) expect(sent).toContain('public-id-0123456789');
});

test('a key file that gmn would not use is sent as it is, if it is named', async (t) => {
  const { sent } = await runIn(t, ['-f', 'sa.json', 'x'], { files: { 'sa.json': SERVICE_ACCOUNT } });
  expect(sent).toContain('CANARY');
});

posixTest('a tool that comes upon them tells neither the model nor the reader', async (t) => {
  const made = call('run_shell_command', { command: 'cat ../home/.gmn/key.json' });
  const args = ['--tools', 'all', '--yolo', '-o', 'stream-json', 'x'];
  const { sent, saved, stdout, exitCode } = await runIn(t, args, { home: OWN, script: [reply(made), reply('done')] });
  expect(exitCode).toBe(0);
  for (const text of [sent, saved, stdout]) {
    expect(text).not.toContain('CANARY');
    expect(text).toContain('‹redacted›');
  }
});

posixTest('what a tool read with a mark in it is not written back with the mark', async (t) => {
  const text = 'GEMINI_API_KEY=test-key-0123456789\nMODE=old\n';
  const calls = [
    { name: 'read_file', args: { file_path: 'notes.txt' } },
    { name: 'write_file', args: { file_path: 'notes.txt', content: 'GEMINI_API_KEY=‹redacted›\nMODE=new\n' } },
    { name: 'edit_file', args: { file_path: 'notes.txt', old_string: 'MODE=old', new_string: 'MODE=new' } },
  ];
  const answers = [...calls.map((functionCall) => reply({ functionCall })), reply('done')];
  const gemini = await fakeGemini(t, answers);
  const at = place(t, { files: { 'notes.txt': text }, gemini });
  expect((await callGmnIn(t, at, ['--tools', 'edit', '--yolo', 'x'])).exitCode).toBe(0);
  expect(readFileSync(join(at.cwd, 'notes.txt'), 'utf8')).toBe('GEMINI_API_KEY=test-key-0123456789\nMODE=new\n');
  expect(JSON.stringify(gemini.requests[2]?.body)).toContain('stands for a credential that you were not shown');
});

test('the key in the environment is one of them', async (t) => {
  const { sent, saved, stderr } = await runIn(t, ['-f', '.env', 'x'], {
    files: { '.env': 'GEMINI_API_KEY=test-key-0123456789\nOTHER=stays-as-it-is-1234567\n' },
  });
  expect(stderr).toBe(`gmn: ${NOTICE}\n`);
  for (const text of [sent, saved]) expect(text).not.toContain('test-key-0123456789');
  expect(sent).toContain('GEMINI_API_KEY=‹redacted›\\nOTHER=stays-as-it-is-1234567');
});

test('a preview shows what would be sent', async (t) => {
  const run = await runIn(t, ['--dry-run', '-f', '../home/.gmn/key.json', 'x'], { home: OWN, script: [] });
  expect(run.stdout).toContain('‹redacted›');
  expect(run.stdout).not.toContain('CANARY');
});

test('a chat replaces them as well, in files and in what is typed', async (t) => {
  const { sent, saved } = await runIn(t, ['chat', '-f', '../home/.gmn/key.json'], {
    home: OWN,
    stdin: `what is this?\nand ${KEY}?\n`,
    script: [reply('a'), reply('b')],
  });
  for (const text of [sent, saved]) expect(text).not.toContain('CANARY');
  expect(sent.match(/‹redacted›/g)?.length).toBeGreaterThanOrEqual(3);
});

const ENV_KEY = 'test-key-0123456789';

test.for([
  { type: 'string', description: `like ${ENV_KEY}` },
  { type: 'string', enum: [ENV_KEY, 'other'] },
  { type: 'object', properties: { [ENV_KEY]: { type: 'string' } } },
])('a schema and its field names go out without them: %j', async (schema, t) => {
  const script = [reply(schema.type === 'object' ? '{}' : '"other"')];
  const { sent, saved, stderr } = await runIn(t, ['--output-schema', JSON.stringify(schema), 'x'], { script });
  expect(sent + saved).not.toContain(ENV_KEY);
  expect(sent).toContain('‹redacted›');
  expect(stderr).toContain(NOTICE);
  const preview = await runIn(t, ['--dry-run', '--output-schema', JSON.stringify(schema), 'x'], { script: [] });
  expect(preview.stdout).toContain('‹redacted›');
  expect(preview.stdout).not.toContain(ENV_KEY);
});

test('the system instruction and the name of a session are saved as they are sent', async (t) => {
  const { sent, saved } = await runIn(t, ['chat', '--session-name', `about ${ENV_KEY}`], {
    stdin: `/system Never say ${ENV_KEY}\nhello\n/save again ${ENV_KEY}\n`,
  });
  expect(sent + saved).not.toContain(ENV_KEY);
  expect(sent).toContain('Never say ‹redacted›');
  expect(saved).toContain('Never say ‹redacted›');
  expect(saved).toContain('about ‹redacted›');
  expect(saved).toContain('again ‹redacted›');
  const once = await runIn(t, ['--session-name', `about ${ENV_KEY}`, 'x'], {});
  expect(once.saved).toContain('about ‹redacted›');
  expect(once.saved).not.toContain(ENV_KEY);
});

test('renaming a session does not save them', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, [reply('ok')]) });
  await callGmnIn(t, at, ['x']);
  const { stdout } = await callGmnIn(t, at, ['sessions', 'rename', 'last', `my ${ENV_KEY}`]);
  expect(stdout).toContain('is now my ‹redacted›');
});

test('what was said before a value became the key is sent without it', async (t) => {
  const later = 'later-key-9876543210';
  const gemini = await fakeGemini(t, [reply(`yes, ${later}`), reply('ok')]);
  const at = place(t, { gemini });
  await callGmnIn(t, at, [`is ${later} good?`]);
  const now = { ...at, env: { ...at.env, GEMINI_API_KEY: later } };
  const preview = await callGmnIn(t, now, ['--dry-run', '--continue', 'and now?']);
  const { stderr } = await callGmnIn(t, now, ['--continue', 'and now?']);
  const sent = JSON.stringify(gemini.requests[1]?.body);
  for (const text of [sent, preview.stdout]) {
    expect(text).toContain('is ‹redacted› good?');
    expect(text).toContain('yes, ‹redacted›');
    expect(text).not.toContain(later);
  }
  expect(stderr).toContain(NOTICE);
});

test.for(['.gemini/.env', '.gmn/.env'])('the key in %s is one of them, also if not used', async (file, t) => {
  const home = { [file]: 'GEMINI_API_KEY=shadowed-key-123\n' };
  const { sent, saved } = await runIn(t, ['is shadowed-key-123 good?'], { home });
  for (const text of [sent, saved]) {
    expect(text).toContain('is ‹redacted› good?');
    expect(text).not.toContain('shadowed-key-123');
  }
});

test.for([
  ['short-key1', '‹redacted›'],
  ['placeholder', 'placeholder'],
  ['your-api-key-goes-here', 'your-api-key-goes-here'],
] as const)('a short key counts, a word in its place does not: %s', async ([key, sent], t) => {
  const gemini = await fakeGemini(t, [reply('ok')]);
  const at = place(t, { gemini });
  await callGmnIn(t, { ...at, env: { ...at.env, GEMINI_API_KEY: key } }, [`Is ${key} it?`]);
  expect(JSON.stringify(gemini.requests[0]?.body)).toContain(`Is ${sent} it?`);
});

posixTest('the templates of a trusted folder do not lead to a secret file either', async (t) => {
  const gemini = await fakeGemini(t, []);
  const env = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const at = place(t, { gemini, env, files: { '.gmn/a': '', '.password-store/x.md': 'CANARY' } });
  symlinkSync('../.password-store', join(at.cwd, '.gmn/templates'));
  for (const words of [['--template', 'x', 'go'], ['/x go'], ['templates', 'show', 'x']]) {
    const { stdout, stderr, exitCode } = await callGmnIn(t, at, words);
    expect({ words, exitCode, out: stdout + stderr }).toEqual({
      words,
      exitCode: 1,
      out: expect.stringMatching(/which may hold secrets\n/),
    });
  }
});

/** Every way in which a path on the command line is read to be sent. */
const READERS: readonly (readonly [what: string, words: (path: string) => readonly string[]])[] = [
  ['-f', (path) => ['-f', path, 'x']],
  ['-a', (path) => ['-a', path, '--mime-type', 'text/plain', 'x']],
  ['--system', (path) => ['--system', `@${path}`, 'x']],
  ['--append-system-prompt', (path) => ['--append-system-prompt', `@${path}`, 'x']],
  ['--template', (path) => ['--template', path, 'x']],
  ['--output-schema', (path) => ['--output-schema', path, 'x']],
  ['embed', (path) => ['embed', path]],
  ['batch', (path) => ['batch', path, '--lines', '--output-file', 'out.jsonl']],
  ['chat -f', (path) => ['chat', '-f', path]],
];

test.skipIf(process.platform !== 'linux')('a link does not send the variables of a process', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []), env: { OTHER_TOKEN: 'CANARY' } });
  symlinkSync('/proc/self/environ', join(at.cwd, 'review.md'));
  for (const words of [
    ['--template', 'review.md', 'x'],
    ['-a', 'review.md', '--mime-type', 'text/plain', 'x'],
    ['batch', 'review.md', '--output-file', 'out.jsonl'],
  ]) {
    const { stderr, exitCode } = await callGmnIn(t, at, words);
    expect({ words, exitCode, stderr }).toMatchObject({ words, exitCode: 1 });
    expect(stderr).toMatch(/review\.md leads to \/proc\/\d+\/environ, which may hold secrets/);
  }
  expect(readdirSync(at.cwd)).toEqual(['review.md']);
});

posixTest.for(READERS)('a link does not send a secret file that was not named: %s', async ([what, words], t) => {
  const gemini = await fakeGemini(t, what === '-f' ? [reply('ok')] : []);
  const at = place(t, {
    gemini,
    home: { '.aws/config': '{"description":"CANARY"}', '.ssh/id_x': '{"description":"CANARY"}' },
    files: { 'a.txt': 'fine' },
  });
  symlinkSync('../home/.ssh/id_x', join(at.cwd, 'README.md'));
  symlinkSync('../home/.aws', join(at.cwd, 'docs'));
  const stdin = what === 'chat -f' ? 'hello\n' : undefined;
  for (const path of what === '-f' ? ['README.md', 'docs/config', join(at.cwd, 'README.md')] : ['README.md']) {
    const { stderr, exitCode } = await callGmnIn(t, at, words(path), stdin);
    expect({ path, exitCode, stderr }).toMatchObject({ path, exitCode: 1 });
    expect(stderr).toMatch(
      / leads to \S+home\/\.(ssh\/id_x|aws\/config), which may hold secrets\n.*name (that file )?itself/,
    );
  }
  expect(JSON.stringify(gemini.requests)).not.toContain('CANARY');
  if (what !== '-f') return;
  await callGmnIn(t, at, words('../home/.ssh/id_x'));
  expect(JSON.stringify(gemini.requests)).toContain('CANARY');
});
