import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { CANARIES, plantedHome, signIn } from '../support/canaries.ts';
import { COMMAND, type Expected, PLAIN_PIPE, type Variant } from './fault.ts';
import { answer, reply } from './wire-answers.ts';

/** One way to spoil a file; with `make`, after `text` was written, if there is one. */
export interface Mutation {
  readonly name: string;
  readonly text?: (good: string) => string | Uint8Array;
  readonly make?: (path: string) => void;
}

/** J1 to J19, in this order. */
export const MUTATIONS: readonly Mutation[] = [
  { name: 'empty', text: () => '' },
  { name: 'an open brace alone', text: () => '{' },
  { name: 'the first half', text: (good) => good.slice(0, good.length / 2) },
  { name: 'null', text: () => 'null' },
  { name: '[]', text: () => '[]' },
  { name: 'a string', text: () => '"x"' },
  { name: 'a number', text: () => '7' },
  { name: 'keys of the wrong type', text: wrongTypes },
  { name: 'duplicate keys', text: (good) => good.replace(/("\w+"):([^,{}[\]]+)([,}])/, '$1:$2,$1:$2$3') },
  { name: 'a BOM', text: (good) => `\ufeff${good}` },
  { name: 'CRLF', text: (good) => good.replace(/\n?$/, '\n').replaceAll('\n', '\r\n') },
  { name: 'comments and a trailing comma', text: (good) => `/* a */ ${good.replace(/\}(\s*)$/, ', } // b$1')}` },
  { name: 'NUL bytes', text: (good) => good.replace(/^./, '$&\0') },
  { name: 'invalid UTF-8', text: (good) => Buffer.concat([Buffer.from([0xff]), Buffer.from(good)]) },
  { name: '100 MB', text: () => '{', make: (path) => truncateSync(path, 100_000_000) },
  { name: 'a directory in its place', make: (path) => mkdirSync(path) },
  { name: 'a FIFO in its place', make: (path) => void execFileSync('mkfifo', [path]) },
  { name: 'a dangling link', make: (path) => symlinkSync(`${path}.gone`, path) },
  { name: '__proto__ keys', text: (good) => good.replace('{', '{"__proto__":{"polluted":true},') },
];

function wrongTypes(good: string): string {
  try {
    return JSON.stringify(Object.fromEntries(Object.keys(JSON.parse(good)).map((key) => [key, [7]])));
  } catch {
    return good.replace(/=.*/g, '=[7]');
  }
}

/** A file that gmn reads, and what comes of a run when it is spoilt. */
export interface StateFile {
  readonly name: string;
  /** Below the root of the scene. */
  readonly path: string;
  readonly good: string;
  readonly variant: Omit<Variant, 'name' | 'expect'>;
  readonly expected: (mutation: string) => Expected;
}

const HELLO = { model: [reply('Hello.')], isEndless: true, ways: PLAIN_PIPE } as const satisfies Partial<Variant>;
const ANSWERED: Expected = { code: 0, text: 'Hello.' };
const LENIENT = ['duplicate keys', 'a BOM', 'CRLF', '__proto__ keys'];
const granted = answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }));
const SETTINGS = '{"model":{"name":"gemini-2.5-flash"},"unknown":{"kept":[1]}}';

/** Settings of the user: what cannot be understood stops the run, for it might have forbidden something. */
function userSettings(name: string): (mutation: string) => Expected {
  const fine = [...LENIENT, 'empty', 'comments and a trailing comma', 'a dangling link'];
  return (mutation) =>
    fine.includes(mutation) ? ANSWERED : { code: 4, says: new RegExp(name.replace('.', '\\.')), text: '' };
}

const UNTRUSTED = { 'work/.gemini/settings.json': '{"model":{"name":"gemini-2.5-pro"}}' } as const;

/** With nothing trusted, the folder's settings are passed over, and that is said. */
const PASSED_OVER: Expected = { ...ANSWERED, says: /is not used|nothing is trusted|trust/ };

const TOKEN_FILE = `home/.gmn/tokens/${createHash('sha256').update(CANARIES.refresh).digest('hex').slice(0, 16)}.json`;
const SESSION_ID = 'aaaaaaaa-1111-4111-8111-111111111111';
const SESSION = [
  { v: 1, type: 'session', id: SESSION_ID, t: '2026-05-01T12:00:00.000Z', cwd: '/', by: 'chat', gmn: '1', title: 'x' },
  { seq: 1, t: '2026-05-01T12:00:00.000Z', type: 'prompt', turn: 1, content: { role: 'user', parts: [{ text: 'x' }] } },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');
const JOB = {
  job_id: SESSION_ID,
  status: 'completed',
  created_at: '2026-05-01T12:00:00.000Z',
  prompt_sha256: 'x',
  timeout_ms: 1,
};
const ask = (id: number, method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

/** The twelve. */
export const STATE_FILES: readonly StateFile[] = [
  {
    name: 'the user’s settings',
    path: 'home/.gemini/settings.json',
    good: SETTINGS,
    variant: HELLO,
    expected: userSettings('settings.json'),
  },
  {
    name: 'the sign-in',
    path: 'home/.gemini/oauth_creds.json',
    good: signIn(),
    variant: { ...HELLO, signIn: 'fresh' },
    expected: (mutation) => (LENIENT.includes(mutation) ? ANSWERED : { code: 2, text: '' }),
  },
  {
    name: 'the list of accounts',
    path: 'home/.gemini/google_accounts.json',
    good: '{"active":"me@example.com","old":[]}',
    variant: { ...HELLO, signIn: 'fresh' },
    expected: () => ANSWERED,
  },
  {
    name: 'the official list of trust',
    path: 'home/.gemini/trustedFolders.json',
    good: '{"/elsewhere":"TRUST_FOLDER"}',
    variant: { ...HELLO, files: { '.gemini/settings.json': UNTRUSTED['work/.gemini/settings.json'] } },
    expected: () => PASSED_OVER,
  },
  {
    name: 'the encrypted sign-in',
    path: 'home/.gemini/gemini-credentials.json',
    good: plantedHome()['.gemini/gemini-credentials.json'] ?? '',
    variant: { ...HELLO, signIn: 'fresh', env: { GEMINI_FORCE_ENCRYPTED_FILE_STORAGE: 'true' } },
    expected: (mutation) => {
      // It holds no keys: what is about keys leaves it as it is. Where there is none, the plain one counts.
      if ([...LENIENT, 'keys of the wrong type', 'a dangling link'].includes(mutation)) return ANSWERED;
      return { code: 2, text: '' };
    },
  },
  {
    name: 'the user’s variables',
    path: 'home/.gemini/.env',
    good: 'GMN_NOTHING=1\n',
    variant: HELLO,
    expected: (mutation) =>
      ['100 MB', 'a directory in its place', 'a FIFO in its place'].includes(mutation)
        ? { code: 4, says: /\.env/, text: '' }
        : ANSWERED,
  },
  {
    name: 'the settings of a folder',
    path: 'work/.gemini/settings.json',
    good: SETTINGS,
    variant: HELLO,
    expected: (mutation) => (mutation === 'a dangling link' ? ANSWERED : PASSED_OVER),
  },
  {
    name: 'gmn’s settings',
    path: 'home/.gmn/config.json',
    good: SETTINGS,
    variant: HELLO,
    expected: userSettings('config.json'),
  },
  {
    name: 'gmn’s list of trust',
    path: 'home/.gmn/trust.json',
    good: '{"version":1,"folders":{}}',
    variant: { ...HELLO, files: { '.gemini/settings.json': UNTRUSTED['work/.gemini/settings.json'] } },
    expected: () => PASSED_OVER,
  },
  {
    name: 'a granted token',
    path: TOKEN_FILE,
    good: JSON.stringify({
      version: 1,
      access_token: 'ya29.cached',
      refresh_token: CANARIES.refresh,
      expiry_date: 9_000_000_000_000,
    }),
    variant: { ...HELLO, signIn: 'stale', token: [granted] },
    expected: () => ANSWERED,
  },
  {
    name: 'a session',
    path: `home/.gmn/sessions/20260501T120000Z-${SESSION_ID}.jsonl`,
    good: SESSION,
    variant: { ways: COMMAND, args: ['sessions', 'list', '--all'] },
    expected: () => ({ code: 0 }),
  },
  {
    name: 'a job',
    path: `home/.gmn/jobs/${SESSION_ID}.jsonl`,
    good: JSON.stringify(JOB),
    variant: {
      ways: COMMAND,
      args: ['mcp', 'serve'],
      stdin: ask(1, 'initialize') + ask(2, 'tools/call', { name: 'delegate_jobs', arguments: {} }),
    },
    expected: () => ({ code: 0 }),
  },
];
