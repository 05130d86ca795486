import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanEnv, runNode } from './processes.mjs';
import { ANSWER, GRANTED, MODEL, startRecorder } from './recorder.mjs';

const ACCESS = 'ya29.access-of-a-test';
const REFRESH = '1//refresh-of-a-test';
const KEY = 'AIza-stored-in-a-test-0123456789';
/** Both are needed for a file: the first alone means the system's keyring where there is one. */
const ENCRYPTED = { GEMINI_FORCE_ENCRYPTED_FILE_STORAGE: 'true', GEMINI_FORCE_FILE_STORAGE: 'true' };
/** Nothing listens there: whatever the official CLI wants of Google beyond `fetch` fails at once. */
const NOWHERE = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1', NO_BROWSER: 'true' };

/** gmn on files that the official CLI wrote, and with the OAuth client it carries. Gives rows for the report. */
export async function readOfficialState(peers) {
  const recorder = await startRecorder();
  try {
    const context = { ...peers, recorder };
    return [
      await clientPair(context),
      await accountAndSettings(context),
      await encryptedSignIn(context),
      await encryptedKey(context),
    ];
  } finally {
    recorder.close();
  }
}

/** An expired sign-in is refreshed with the client pair found in the real package; the pair itself is never printed. */
async function clientPair(context) {
  const { recorder, gemini, bin } = context;
  const home = makeHome(context, 'pair', 'oauth-personal');
  writeFileSync(join(home, '.gemini', 'oauth_creds.json'), signIn(Date.now() - 1000), { mode: 0o600 });
  recorder.seen.length = 0;
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}`, GMN_OAUTH_TOKEN_URL: `${recorder.url}/token` };
  const answer = await ask(context, home, env);
  const form = new URLSearchParams(recorder.seen.find(({ path }) => path === '/token')?.body ?? '');
  const bundle = bundleText(dirname(gemini));
  const isTheirs = (name) => (form.get(name) ?? '').length > 20 && bundle.includes(form.get(name));
  const carried = recorder.seen.at(-1)?.headers.authorization;
  return verdict('the OAuth client pair is found in the real package, and refreshes', answer, [
    ['the refresh token of the file was sent', form.get('refresh_token') === REFRESH],
    ['client_id occurs in the bundle', isTheirs('client_id')],
    ['client_secret occurs in the bundle', isTheirs('client_secret')],
    ['the prompt went out with the granted token', carried === `Bearer ${GRANTED}`],
  ]);
}

/** `mcp add` rewrites settings.json; a sign-in by token writes google_accounts.json. Both are read by `auth status`. */
async function accountAndSettings(context) {
  const { recorder, gmn } = context;
  const home = makeHome(context, 'account', 'oauth-personal');
  const added = await official(context, home, ['mcp', 'add', '-s', 'user', 'probe', 'node', 'server.js'], {});
  const signedIn = await official(context, home, ['-m', MODEL, '--skip-trust', '-p', 'Hello'], {
    GOOGLE_GENAI_USE_GCA: 'true',
    GOOGLE_CLOUD_ACCESS_TOKEN: ACCESS,
    GOOGLE_CLOUD_PROJECT: 'p',
    CODE_ASSIST_ENDPOINT: recorder.url,
  });
  writeFileSync(join(home, '.gemini', 'oauth_creds.json'), signIn(Date.now() + 3_600_000), { mode: 0o600 });
  const shown = await runNode([gmn, 'auth', 'status', '--json'], { cwd: home, env: cleanEnv(home) });
  const listed = await runNode([gmn, 'config', 'get', 'mcpServers'], { cwd: home, env: cleanEnv(home) });
  const status = parsed(shown.out);
  return verdict('settings.json and google_accounts.json, as it writes them', shown, [
    ['gemini mcp add ended with 0', added.exitCode === 0],
    ['gemini -p ended with 0', signedIn.exitCode === 0],
    ['it wrote google_accounts.json', existsSync(join(home, '.gemini', 'google_accounts.json'))],
    ['selectedType is the one in its settings', status?.credential?.type === 'oauth-personal'],
    ['the account is the one it noted', status?.credential?.email === 'ada@example.com'],
    ['the server it added is there', listed.out.includes('server.js')],
  ]);
}

/** The official CLI moves a plain sign-in into its encrypted file before it asks Google about the token. */
async function encryptedSignIn(context) {
  const { recorder } = context;
  const home = makeHome(context, 'sealed', 'oauth-personal');
  const plain = join(home, '.gemini', 'oauth_creds.json');
  const sealed = join(home, '.gemini', 'gemini-credentials.json');
  writeFileSync(plain, signIn(Date.now() + 3_600_000), { mode: 0o600 });
  await official(context, home, ['--skip-trust', '-p', 'Hello'], ENCRYPTED);
  const before = existsSync(sealed) ? readFileSync(sealed, 'utf8') : '';
  const answer = await ask(context, home, ENCRYPTED);
  return verdict('gemini-credentials.json with a sign-in, as it writes it', answer, [
    ['it wrote the file', /^[\da-f]+:[\da-f]+:[\da-f]+$/.test(before)],
    ['and deleted the plain one', !existsSync(plain)],
    ['the prompt went out with the token in it', recorder.seen.at(-1)?.headers.authorization === `Bearer ${ACCESS}`],
    ['gmn left it as it was', existsSync(sealed) && readFileSync(sealed, 'utf8') === before],
  ]);
}

/** Only its dialogs store a key, so the function they call is called: the real package's own `saveApiKey`. */
async function encryptedKey(context) {
  const { recorder, gemini, scratch } = context;
  const home = makeHome(context, 'key-store', 'gemini-api-key');
  const bundle = dirname(gemini);
  const core = readdirSync(bundle).find((name) => /^core-\w+\.js$/.test(name));
  const program = join(scratch, 'save-key.mjs');
  const source = JSON.stringify(pathToFileURL(join(bundle, core ?? 'core.js')).href);
  writeFileSync(program, `const { saveApiKey } = await import(${source});\nawait saveApiKey('${KEY}');\n`);
  const saved = await runNode([program], { cwd: home, env: cleanEnv(home, ENCRYPTED) });
  const answer = await ask(context, home, { ...ENCRYPTED, GOOGLE_GEMINI_BASE_URL: recorder.url });
  return verdict('gemini-credentials.json with an API key, by its own saveApiKey', answer, [
    ['saveApiKey ended well', saved.exitCode === 0],
    ['it wrote the file', existsSync(join(home, '.gemini', 'gemini-credentials.json'))],
    ['the prompt went out with the key in it', recorder.seen.at(-1)?.headers['x-goog-api-key'] === KEY],
  ]);
}

function makeHome({ scratch }, name, selectedType) {
  const home = join(scratch, `state-${name}`);
  mkdirSync(join(home, '.gemini'), { recursive: true });
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify({ security: { auth: { selectedType } } }));
  return home;
}

function signIn(expiry_date) {
  return JSON.stringify({
    access_token: ACCESS,
    refresh_token: REFRESH,
    token_type: 'Bearer',
    scope: 'a',
    expiry_date,
  });
}

function official({ gemini, preload }, home, args, more) {
  return runNode([gemini, ...args], { cwd: home, env: cleanEnv(home, { ...NOWHERE, NODE_OPTIONS: preload, ...more }) });
}

function ask({ gmn, recorder }, home, more) {
  const env = cleanEnv(home, { CODE_ASSIST_ENDPOINT: recorder.url, ...more });
  return runNode([gmn, '-m', MODEL, '--no-stdin', '-q', 'Hello'], { cwd: home, env });
}

function verdict(what, { exitCode, out, errors }, claims) {
  const isAnswer = out.trim() === ANSWER || what.startsWith('settings.json');
  const broken = claims.filter(([, holds]) => !holds).map(([claim]) => claim);
  const ok = exitCode === 0 && isAnswer && broken.length === 0;
  const detail = ok ? '' : [`exit ${exitCode}`, ...broken.map((claim) => `not so: ${claim}`), errors].join('\n').trim();
  return { client: 'gmn', mode: 'official files', what, ok, detail };
}

function bundleText(directory) {
  const files = readdirSync(directory, { recursive: true }).map((name) => join(directory, String(name)));
  const sources = files.filter((file) => file.endsWith('.js') && statSync(file).isFile());
  return sources.map((file) => readFileSync(file, 'utf8')).join('\n');
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
