import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  foldName,
  isSamePath,
  isSecretName,
  isSensitiveEntry,
  isSensitivePath,
  isState,
  isStatePath,
  listStateDirectories,
  splitAtRoot,
} from '../../../src/core/text/secrets.ts';

test('keys and passwords are known by their names', () => {
  const secret = [
    '.env',
    '.ENV.local',
    '%2eenv',
    '.env::$DATA',
    'id_rsa.BAK. ',
    'a:server.pem',
    'A:server.PEM.old',
    'id_rsa',
    'id_rsa.bak',
    'id_work',
    'x.pem',
    'x.key',
    '.npmrc',
    '.netrc',
    'oauth_creds.json',
    'gemini-credentials.json',
    'application_default_credentials.json',
    'gha-creds-0123456789abcdef.json',
    'GHA-Creds-1.JSON',
    'id_map.ts',
    '.vault-token',
    '.htpasswd',
    '.my.cnf',
    '.dockercfg',
    'credentials',
    'prod.env',
    'x.pem~',
    '.npmrc.bak',
    'store.jks',
    '.bash_history',
    '.psql_history',
    'prod.env.bak',
    'server.key.old',
  ];
  const plain = [
    'env.ts',
    'identity',
    'pem.go',
    'key.ts',
    'npmrc',
    'README.md',
    'gha-creds.md',
    'credentials.ts',
    'environment',
    'notes.bak',
    'history.ts',
    'a.env.ts',
    'a.environment',
    'x.envrc.md',
    'grid_id_map.ts',
    'my.npmrc',
    '.npmrc.md',
    '.bash_history.md',
    'a.bash_history',
    'mycredentials',
    'not_oauth_creds.json',
    'oauth_creds.json.md',
    'x.pem.md',
    'x.pem.bakery',
    '~x.pem.md',
    '.net~rc',
    'a%2e.txt',
  ];
  expect(secret.filter((name) => !isSecretName(name))).toEqual([]);
  expect(plain.filter(isSecretName)).toEqual([]);
});

test.for([
  ['ID_Rsa-2.PEM', 'id_rsa-2.pem'],
  ['%2Eenv', '.env'],
  ['%2eENV', '.env'],
  ['%69d_rsa', 'id_rsa'],
  ['a%80%8f', 'a%80%8f'],
  ['a%7', 'a%7'],
  ['\uff0eENV', '.env'],
  ['\uff0e\uff25\uff2e\uff36', '.env'],
  ['.e\u200dn\u00adv\u0001', '.env'],
  ['.env. . ', '.env'],
  ['.env:stream', '.env'],
  ['..a..b', '..a..b'],
  ['Ärger 1.TXT', 'ärger 1.txt'],
] as const)('%j is folded to %j', ([name, folded]) => {
  expect(foldName(name)).toBe(folded);
});

test('a path is sensitive by its name, by a directory, and by steps that follow each other', () => {
  const sensitive = [
    'a/.env',
    '.ssh/config',
    'a/.AWS/b/c',
    '.config/gh/hosts.yml',
    'a\\.ssh\\b',
    'a\\.config\\gh\\b',
    '.config%2Fgh/b',
  ];
  const plain = [
    'src/a.ts',
    'ssh/config',
    '.sshx/config',
    '.config/ghx/b',
    'x.config/gh/b',
    '.config/a/gh/b',
    'aconfig/gh/b',
  ];
  expect(sensitive.filter((path) => !isSensitivePath(path))).toEqual([]);
  expect(plain.filter((path) => isSensitivePath(path))).toEqual([]);
  expect(isSensitivePath('b', '/home/me/.ssh')).toBe(true);
  expect(isSensitivePath('gh/b', '/home/me/.config')).toBe(true);
  expect(isSensitivePath('b', '/home/me/src')).toBe(false);
});

test.for([
  ['/a/b.txt', '/a/b.txt', true],
  ['/a/Rules.md', '/A/rules.MD. ', true],
  ['C:\\a\\b', 'c:/a/b', true],
  ['/a/b', '/a/c', false],
  ['/a/bc', '/ab/c', false],
  ['/a/b', '/a/b/c', false],
] as const)('%s and %s are one file to a lenient file system: %s', ([one, other, isSame]) => {
  expect([isSamePath(one, other), isSamePath(other, one)]).toEqual([isSame, isSame]);
});

test('an entry of a walk is judged by its last three steps', () => {
  const sensitive = ['/w/a/.env', '/w/.config/gh/hosts.yml', '/w/a/b/.aws/c', 'w\\a\\.ssh\\b'];
  expect(sensitive.filter((path) => !isSensitiveEntry(path))).toEqual([]);
  expect(['/w/a/b.ts', '/home/me/.ssh/a/b/c.ts'].filter(isSensitiveEntry)).toEqual([]);
});

test('a work tree of another agent is as if it were outside of that agent’s directory', () => {
  const split = (root: string) => splitAtRoot(root, join(root, 'src', 'a.ts'));
  const tail = join('w', 'src', 'a.ts');
  expect(split('/me/.codex/worktrees/w')).toEqual({ tail, above: '/me/worktrees' });
  expect(split('/me/.Claude/worktrees/x/.gemini/worktrees/w')).toEqual({ tail, above: '/me/worktrees/x/worktrees' });
  for (const above of ['/me/.codex/worktrees2', '/me/.codex', '/me/a.codex/worktrees', '/me/.other/worktrees']) {
    expect(split(`${above}/w`)).toEqual({ tail, above });
  }
});

test('credentials and sessions are known in any home', () => {
  const state = [
    ...['key.json', 'key.json.bak', 'oauth-client.json', 'oauth-client.json~', 'code-assist.json'],
    ...['tokens', 'mcp/a', 'sessions/a.jsonl', 'undo/a', 'locks/a', 'Sessions/A'],
  ].map((path) => `/home/me/.gmn/${path}`);
  const official = [
    ...['.env', 'oauth_creds.json', 'gemini-credentials.json', 'google_accounts.json', 'mcp-oauth-tokens.json'],
    ...['mcp-oauth-tokens', 'mcp-oauth-tokens-v2.json', 'tmp/a', 'history/a/b'],
  ].map((path) => `/home/me/.GEMINI/${path}`);
  const plain = [
    '.gmn/config.json',
    '.gmn/mykey.json',
    '.gmn/tokens2/a',
    '.gmn/a/tokens',
    'a.gmn/tokens',
    'gmn/tokens',
  ];
  const others = ['.gemini/settings.json', '.gemini/commands/tmp', '.gemini/tmp2', '.gmn', '.gemini', '.gmn/key.jso'];
  expect(
    [...state, ...official, 'C:\\me\\.gmn\\tokens\\a', '.gmn/tokens'].filter((path) => !isStatePath(path)),
  ).toEqual([]);
  expect([...plain, ...others].map((path) => `/home/me/${path}`).filter(isStatePath)).toEqual([]);
});

test('state lies where the settings say and at the default places of every home', () => {
  const homes = { gmn: '/state/gmn', gemini: '/state/gemini' };
  expect(listStateDirectories(homes, ['/a', '/b'])).toEqual([
    ...['/state/gmn', '/state/gemini', '/a/.gmn', '/a/.gemini', '/b/.gmn', '/b/.gemini'],
  ]);
  expect(listStateDirectories(undefined, ['/a'])).toEqual(['/a/.gmn', '/a/.gemini']);
  const directories = ['/state/gmn', '/state/gemini'];
  expect(['/state/gmn/x', '/state/gemini', '/c/.gmn/tokens'].map((path) => isState(path, directories))).toEqual([
    ...[true, true, true],
  ]);
  expect(['/state/x', '/state/gmn2'].map((path) => isState(path, directories))).toEqual([false, false]);
});
