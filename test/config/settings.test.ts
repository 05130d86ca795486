import { chmodSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listSettingKeys } from '../../src/config/keys.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { posixTest, toPattern } from '../support/posix.ts';
import { place } from './place.ts';

const json = JSON.stringify;
const TRUSTING = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };

test('without any file nothing is set and the environment is the real one', async (t) => {
  const { settings } = place(t);
  const { document, ownDocument, servers, notices, env, ...rest } = await settings({ A: 'b' });
  expect({ document, ownDocument, servers, notices, rest }).toEqual({
    document: {},
    ownDocument: {},
    servers: [],
    notices: [],
    rest: { extensions: [], hooks: [] },
  });
  expect(env.A).toBe('b');
});

test('every layer beats the ones below it, and an empty variable is none', async (t) => {
  const { write, settings } = place(t);
  const named = (name: string): string => json({ model: { name } });
  expect((await settings()).model).toBeUndefined();
  write({ 'etc/system-defaults.json': named('system-defaults') });
  expect((await settings()).model).toBe('system-defaults');
  write({ 'home/.gemini/settings.json': named('user') });
  expect((await settings()).model).toBe('user');
  write({ 'home/.gmn/config.json': named('gmn') });
  expect((await settings()).model).toBe('gmn');
  write({ 'work/.gemini/settings.json': named('workspace') });
  expect((await settings()).model).toBe('gmn');
  expect((await settings(TRUSTING)).model).toBe('workspace');
  write({ 'etc/settings.json': named('system') });
  expect((await settings(TRUSTING)).model).toBe('system');
  expect((await settings({ ...TRUSTING, GEMINI_MODEL: 'environment' })).model).toBe('environment');
  expect((await settings({ GEMINI_MODEL: 'environment', GMN_MODEL: 'ours' })).model).toBe('ours');
  expect((await settings({ GEMINI_MODEL: '', GMN_MODEL: '' })).model).toBe('system');
});

test('the settings are frozen through and through', async (t) => {
  const { settings } = place(t, { 'home/.gemini/settings.json': json({ model: { name: 'm' }, x: [{ y: 1 }] }) });
  const loaded = await settings();
  const parts: unknown[] = [loaded, loaded.document, loaded.document?.model, loaded.document?.x, loaded.notices];
  expect(parts.every(Object.isFrozen)).toBe(true);
});

test('variables are expanded, unknown ones stay', async (t) => {
  const { settings } = place(t, {
    'home/.gemini/settings.json': json({ a: ['$A', `${'$'}{A}b`], b: `${'$'}{NOT:-else} $NOT`, c: '\\u0024A' }),
    'home/.gmn/config.json': '{"escaped": "\\u0024A"}',
  });
  expect((await settings({ A: 'one' })).document).toEqual({
    a: ['one', 'oneb'],
    b: 'else $NOT',
    c: '\\u0024A',
    escaped: 'one',
  });
});

test("variables of the user's .env files are put in too", async (t) => {
  const { settings } = place(t, {
    'home/.gmn/.env': 'NAME=from-file',
    'home/.gmn/config.json': json({ model: { name: '$NAME' } }),
  });
  expect((await settings()).model).toBe('from-file');
  expect((await settings({ NAME: 'real' })).model).toBe('real');
});

test('flat keys of the first format are read, but the new ones win', async (t) => {
  const { write, settings } = place(t, {
    'home/.gemini/settings.json': json({
      model: 'old-model',
      selectedAuthType: 'gemini-api-key',
      enforcedAuthType: 'gemini-api-key',
      excludeTools: ['a'],
      theme: 'kept',
    }),
  });
  const loaded = await settings();
  expect(loaded).toMatchObject({ model: 'old-model', authType: 'gemini-api-key', enforcedAuthType: 'gemini-api-key' });
  expect(loaded.document).toEqual({
    model: { name: 'old-model' },
    security: { auth: { selectedType: 'gemini-api-key', enforcedType: 'gemini-api-key' } },
    tools: { exclude: ['a'] },
    theme: 'kept',
  });
  write({
    'home/.gemini/settings.json': json({
      selectedAuthType: 'old',
      security: { auth: { selectedType: 'new' } },
    }),
  });
  expect((await settings()).authType).toBe('new');
});

test('a key of the wrong type names file, key and position', async (t) => {
  const { write, settings, path } = place(t);
  const file = path('home/.gemini/settings.json');
  const cases: readonly (readonly [string, string])[] = [
    ['{\n  "model": { "name": 7 }\n}', '2:22: model.name must be a string'],
    ['{"model": 7}', '1:11: model must be an object'],
    ['{"security": {"auth": []}}', '1:23: security.auth must be an object'],
    ['{"selectedAuthType": true}', '1:22: security.auth.selectedType must be a string'],
    ['{"mcpServers": []}', '1:16: mcpServers must be an object'],
    ['// why\n{"folderTrust": "no"}', '2:17: security.folderTrust.enabled must be true or false'],
    ['[]', '1:1: the file must be an object'],
  ];
  for (const [text, message] of cases) {
    write({ 'home/.gemini/settings.json': text });
    await expect(settings(), text).rejects.toMatchObject({ fault: 'config', message: `${file}:${message}` });
  }
});

test('a file that does not parse names file and position', async (t) => {
  const { path, settings } = place(t, { 'home/.gmn/config.json': '{\n  "a": 1\n  "b": 2\n}' });
  await expect(settings()).rejects.toMatchObject({
    fault: 'config',
    message: `${path('home/.gmn/config.json')}:3:3: comma expected`,
  });
});

test('half an OAuth client is an error, a whole one is read', async (t) => {
  const { write, settings } = place(t, { 'home/.gmn/config.json': json({ oauth: { clientId: 'i' } }) });
  await expect(settings()).rejects.toMatchObject({
    fault: 'config',
    message: 'oauth.clientId is set, but oauth.clientSecret is not',
  });
  write({ 'home/.gmn/config.json': json({ oauth: { clientId: 'i', clientSecret: 's' } }) });
  expect((await settings()).oauthClient).toEqual({ id: 'i', secret: 's' });
});

test('servers are listed in the order of the files, each with the file it comes from', async (t) => {
  const { settings, path } = place(t, {
    'home/.gemini/settings.json': json({ mcpServers: { b: { command: 'b' }, a: { command: 'a', args: ['1'] } } }),
    'home/.gmn/config.json': '{"mcpServers": {"a": {"url": "https://a.test"}, "__proto__": {"command": "x"}}}',
    'etc/settings.json': json({ mcpServers: { c: { command: 'c' } } }),
  });
  expect((await settings()).servers).toEqual([
    { name: 'b', definition: { command: 'b' }, scope: 'user', file: path('home/.gemini/settings.json') },
    { name: 'a', definition: { url: 'https://a.test' }, scope: 'user', file: path('home/.gmn/config.json') },
    { name: 'c', definition: { command: 'c' }, scope: 'system', file: path('etc/settings.json') },
  ]);
});

posixTest('a system file that others can write is not used, with a notice', async (t) => {
  const { settings, path } = place(t, { 'etc/settings.json': json({ model: { name: 'evil' } }) });
  chmodSync(path('etc/settings.json'), 0o666);
  const file = path('etc/settings.json');
  expect(await settings()).toMatchObject({ notices: [`${file} is not used: ${file} can be written by others`] });
  expect((await settings()).model).toBeUndefined();
});

posixTest('a system file in a directory that others can write is not used either', async (t) => {
  const { settings, path } = place(t, { 'etc/system-defaults.json': json({ model: { name: 'evil' } }) });
  chmodSync(path('etc'), 0o777);
  expect((await settings()).notices).toEqual([
    `${path('etc/system-defaults.json')} is not used: ${path('etc')} can be written by others`,
  ]);
});

test('the home directory is no workspace, by whatever path it is reached', async (t) => {
  const { app, path } = place(t, { 'home/.gemini/settings.json': json({ model: { name: 'user' } }) });
  symlinkSync(path('home'), path('link'));
  for (const cwd of [path('home'), path('link')]) {
    expect(await loadSettings({ ...app, cwd })).toMatchObject({ model: 'user', notices: [] });
  }
});

test('every key gmn reads is checked, whatever else it holds instead', async (t) => {
  const { write, settings, path } = place(t);
  for (const key of listSettingKeys()) {
    for (const value of [2.5, null]) {
      write({
        'home/.gmn/config.json': json(key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value)),
      });
      await expect(settings(), key).rejects.toMatchObject({
        fault: 'config',
        message: expect.stringMatching(
          new RegExp(`^${toPattern(path('home/.gmn/config.json'))}:1:\\d+: ${key} must be `),
        ),
      });
    }
  }
});

test('a key gmn does not read may hold anything', async (t) => {
  const document = {
    tools: { callCommand: 7, shell: 7 },
    ui: { theme: 7 },
    context: { includeDirectories: null },
    privacy: 'x',
  };
  const { settings } = place(t, { 'home/.gemini/settings.json': json(document) });
  expect(await settings()).toMatchObject({ document, notices: [] });
});
