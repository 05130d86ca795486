import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run as explain } from '../../../src/commands/config/explain.ts';
import { run as get } from '../../../src/commands/config/get.ts';
import { run as list } from '../../../src/commands/config/list.ts';
import { run as path } from '../../../src/commands/config/path.ts';
import { run as set } from '../../../src/commands/config/set.ts';
import { run as models } from '../../../src/commands/models.ts';
import { formatKeyPath, listSettingKeys, tryParseKeyPath } from '../../../src/config/keys.ts';
import { hideSecrets } from '../../../src/config/secrets.ts';
import { mergeListed } from '../../../src/models/listing.ts';
import { MODELS } from '../../../src/models/table.ts';
import { place } from '../../config/place.ts';

const json = JSON.stringify;
const USER = 'home/.gemini/settings.json';
const OWN = 'home/.gmn/config.json';

test('explain shows the value and every layer that sets it, the winner first', async (t) => {
  const here = place(
    t,
    { [USER]: json({ model: { name: 'from-user' } }), [OWN]: json({ model: { name: 'from-gmn' } }) },
    { GEMINI_MODEL: 'from-environment', GMN_MODEL: '' },
  );
  expect(await explain({ args: ['model'] }, here.app)).toBe(0);
  const width = here.path(USER).length;
  const row = (mark: string, layer: string, source: string, value: string): string =>
    `${mark}  ${layer.padEnd(11)}  ${source.padEnd(width)}  "${value}"\n`;
  expect(here.output()).toEqual({
    out:
      'model.name = "from-environment"\n\n' +
      row('→', 'environment', 'GEMINI_MODEL', 'from-environment') +
      row(' ', 'gmn', here.path(OWN), 'from-gmn') +
      row(' ', 'user', here.path(USER), 'from-user') +
      row(' ', 'built-in', 'gmn', 'gemini-2.5-flash'),
    err: '',
  });
  await explain({ args: ['model.name'], json: true }, here.app);
  expect(JSON.parse(here.output().out)).toEqual({
    key: 'model.name',
    value: 'from-environment',
    isCombined: false,
    isRead: true,
    layers: [
      { layer: 'environment', source: 'GEMINI_MODEL', value: 'from-environment', wins: true },
      { layer: 'gmn', source: here.path(OWN), value: 'from-gmn', wins: false },
      { layer: 'user', source: here.path(USER), value: 'from-user', wins: false },
      { layer: 'built-in', source: 'gmn', value: 'gemini-2.5-flash', wins: false },
    ],
  });
});

test('explain says when several layers add up, and when nothing is set', async (t) => {
  const here = place(t, {
    [USER]: json({ tools: { exclude: ['a'] } }),
    [OWN]: json({ tools: { exclude: ['b'] } }),
  });
  await explain({ args: ['tools.exclude'], json: true }, here.app);
  expect(JSON.parse(here.output().out)).toMatchObject({ value: ['a', 'b'], isCombined: true });
  await explain({ args: ['oauth.clientId'] }, here.app);
  expect(here.output().out).toBe('oauth.clientId is not set\n');
});

test('a key nobody knows is refused with the nearest ones', async (t) => {
  const { app } = place(t);
  await expect(explain({ args: ['model.nmae'] }, app)).rejects.toMatchObject({
    fault: 'usage',
    hint: 'Did you mean model.name?',
  });
  await expect(get({ args: ['auth'] }, app)).rejects.toMatchObject({
    message: 'security.auth.selectedType is not set',
  });
  await expect(get({ args: [] }, app)).rejects.toMatchObject({ fault: 'usage' });
  await expect(get({ args: ['a..b'] }, app)).rejects.toMatchObject({ message: '"a..b" is not a key' });
});

test.for(['toString', 'constructor', '__proto__', 'valueOf.name'])(
  'what every object has is no key: %s',
  async (key, t) => {
    const { app } = place(t, {}, { GEMINI_MODEL: 'm' });
    for (const command of [get, explain]) {
      await expect(command({ args: [key] }, app)).rejects.toMatchObject({
        fault: 'usage',
        message: `nothing sets "${key}", and gmn does not read it`,
      });
    }
  },
);

test('get prints a string as it is, anything else as JSON', async (t) => {
  const here = place(t, { [USER]: json({ mcpServers: { 'a.b': { command: 'x' } } }) });
  await get({ args: ['model'] }, here.app);
  expect(here.output().out).toBe('gemini-2.5-flash\n');
  await get({ args: ['mcpServers."a.b"'] }, here.app);
  expect(here.output().out).toBe('{\n  "command": "x"\n}\n');
  await get({ args: ['mcpServers."a.b".command'], json: true }, here.app);
  expect(JSON.parse(here.output().out)).toEqual({
    key: 'mcpServers."a.b".command',
    value: 'x',
    source: here.path(USER),
  });
});

const SECRETS = {
  oauth: { clientId: 'client-canary', clientSecret: 'secret-canary' },
  apiKey: 'key-canary',
  signing: { passphrase: 'phrase-canary', pin: 'pin-canary', cardPin: 'camel-canary', SIM_PIN: 'sim-canary' },
  database: 'postgres://app:database-canary@db.test/x',
  nested: { authorization: ['list-canary'], tokens: { deep: 'deep-canary' }, password: 'password-canary' },
  mcpServers: {
    tokenizer: {
      command: 'run',
      args: ['--token', 'argument-canary', '--api-key=inline-canary', '--safe'],
      env: { PLAIN: 'env-canary' },
      headers: { 'X-Any': 'header-canary' },
      url: 'https://a.test/?key=url-canary&x=1',
    },
  },
};

test('no secret is shown by any of the commands', async (t) => {
  const here = place(t, { [OWN]: json(SECRETS) });
  for (const asJson of [true, false]) {
    await list({ args: [], json: asJson }, here.app);
    for (const key of [
      'oauth',
      'oauth.clientSecret',
      'mcpServers',
      'nested',
      'signing',
      'signing.pin',
      'database',
      'apiKey',
      'mcpServers.tokenizer.env.PLAIN',
    ]) {
      await get({ args: [key], json: asJson }, here.app);
      await explain({ args: [key], json: asJson }, here.app);
    }
    const { out } = here.output();
    expect(out.match(/\w+-canary/g)?.filter((found) => found !== 'client-canary')).toEqual([]);
    expect(out).toContain('‹hidden›');
    expect(out).toContain('--safe');
  }
});

test('values that are not secret are shown', () => {
  const harmless = {
    model: { name: 'm', maxTokens: 5 },
    mcpServers: { keys: { command: 'c' } },
    tools: { exclude: ['x'] },
    ui: { spinner: 'dots', mapping: 'm', pinned: 'yes', site: 'https://u@a.test:80/x' },
  };
  expect(hideSecrets(harmless)).toEqual(harmless);
});

test('list prints every key with its source, and notices apart from it', async (t) => {
  const here = place(t, {
    [USER]: json({ theme: 'x', model: { name: 'm' } }),
    'work/.gemini/settings.json': '{}',
  });
  expect(await list({ args: [] }, here.app)).toBe(0);
  const { out, err } = here.output();
  expect(out.split('\n').map((line) => line.replace(/ +# /, ' # '))).toEqual([
    `model.name = "m" # ${here.path(USER)}`,
    'security.folderTrust.enabled = true # gmn',
    `theme = "x" # ${here.path(USER)}`,
    '',
  ]);
  expect(err).toMatch(/^gmn: .*this folder is not trusted.*\n$/);
  await list({ args: [], json: true }, here.app);
  const shown = here.output();
  expect(shown.err).toBe('');
  expect(JSON.parse(shown.out)).toMatchObject({
    settings: { model: { name: 'm' }, theme: 'x' },
    sources: { theme: here.path(USER) },
    warnings: [expect.stringContaining('not trusted')],
  });
});

test('list --all prints every key that gmn reads, with its default', async (t) => {
  const here = place(t, { [USER]: json({ sessions: { retention: '7d' }, mcpServers: { a: { command: 'x' } } }) });
  await list({ args: [], all: true }, here.app);
  const { out } = here.output();
  const lines = out.split('\n').map((line) => line.replace(/ +#/, ' #'));
  expect(lines).toContain(`sessions.retention = "7d" # ${here.path(USER)}; default "30d"`);
  expect(lines).toContain('model.compressionThreshold = 0.7 # default');
  expect(lines).toContain('general.enableNotifications # not set');
  expect(listSettingKeys().filter((key) => !lines.some((line) => line.startsWith(key)))).toEqual([]);
  await list({ args: [], all: true, json: true }, here.app);
  const { settings, defaults } = JSON.parse(here.output().out);
  expect(settings).toMatchObject({ sessions: { retention: '7d' } });
  expect(defaults).toMatchObject({ 'sessions.retention': '30d', 'tools.core': null });
  expect(Object.keys(defaults)).toEqual(listSettingKeys());
});

test('a key of the official CLI that gmn does not read is called that', async (t) => {
  const here = place(t, {});
  const message = 'experimental.plan is a setting of the official CLI, which gmn does not read';
  await expect(explain({ args: ['experimental.plan'] }, here.app)).rejects.toThrow(message);
  await expect(set({ args: ['experimental.plan', '1'] }, here.app)).rejects.toThrow(message);
});

test('path prints the files, and whether they exist and are used', async (t) => {
  const here = place(t, { [USER]: '{}', 'work/.gemini/settings.json': '{}', 'home/.gmn/.env': '' });
  expect(await path({ args: [], json: true }, here.app)).toBe(0);
  const { files } = JSON.parse(here.output().out);
  expect(files).toEqual([
    { name: 'system-defaults', path: here.path('etc/system-defaults.json'), state: 'absent' },
    { name: 'user', path: here.path(USER), state: 'used' },
    { name: 'gmn', path: here.path(OWN), state: 'absent' },
    {
      name: 'workspace',
      path: here.path('work/.gemini/settings.json'),
      state: 'ignored',
      why: 'this folder is not trusted',
    },
    { name: 'system', path: here.path('etc/settings.json'), state: 'absent' },
    { name: '.env', path: here.path('home/.gemini/.env'), state: 'absent' },
    { name: '.env', path: here.path('home/.gmn/.env'), state: 'used' },
    { name: 'trust', path: here.path('home/.gemini/trustedFolders.json'), state: 'absent' },
    { name: 'trust', path: here.path('home/.gmn/trust.json'), state: 'absent' },
  ]);
  await path({ args: [] }, here.app);
  expect(here.output().out.split('\n')[1]).toBe(`user             used     ${here.path(USER)}`);
});

test('a key path reads back as it was written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (parts) => {
      expect(tryParseKeyPath(formatKeyPath(parts))).toEqual(parts);
    }),
  );
  expect(['', '.', 'a.', '.a', 'a..b', '"a', '"a"b'].map(tryParseKeyPath)).toEqual(Array(7).fill(undefined));
});

test('models prints the table and the aliases', async (t) => {
  const here = place(t);
  expect(await models({ args: [] }, here.app)).toBe(0);
  const lines = here.output().out.split('\n');
  expect(lines[0]).toMatch(/^MODEL +STATUS +THINKING +INPUT +OUTPUT +TIERS +BACKENDS +NOTE$/);
  expect(lines.find((line) => line.startsWith('gemini-2.5-flash-lite'))?.split(/ {2,}/)).toEqual([
    'gemini-2.5-flash-lite',
    'retiring',
    'budget 0, 512–24,576',
    '1,048,576',
    '65,536',
    'all',
  ]);
  expect(lines.find((line) => line.startsWith('pro '))?.split(/ {2,}/)).toEqual([
    'pro',
    'gemini-pro-latest',
    'gemini-3.1-pro-preview',
    'gemini-2.5-pro',
  ]);
  expect(lines.slice(-3)).toEqual([
    'Default: gemini-2.5-flash, being retired; where it is gone, flash answers',
    'All models, since there is no credential; see: gmn auth status',
    '',
  ]);
  await models({ args: [], json: true }, here.app);
  const { default: standard, models: listed, aliases } = JSON.parse(here.output().out);
  expect({ standard, count: listed.length, pro: aliases.pro.vertex }).toEqual({
    standard: 'gemini-2.5-flash',
    count: MODELS.length,
    pro: 'gemini-3.1-pro-preview',
  });
  expect(
    listed
      .filter(({ tiers }: { tiers?: string[] }) => tiers)
      .map((model: { id: string; tiers: string[] }) => [model.id, ...model.tiers]),
  ).toEqual([
    ['gemini-2.5-flash', 'free', 'standard'],
    ['gemini-2.5-pro', 'free', 'standard'],
    ['gemini-3-pro-preview', 'standard'],
    ['gemini-3-flash-preview', 'standard'],
  ]);
});

test('the list of the API wins over the table, and new models come last', () => {
  const merged = mergeListed(
    [{ id: 'gemini-9', inputLimit: 5 }, { id: 'gemini-2.5-pro', inputLimit: 7 }, { id: 'gemini-8' }],
    'gemini-api',
  );
  expect(merged).toHaveLength(MODELS.length + 2);
  expect(merged.find(({ id }) => id === 'gemini-2.5-pro')).toMatchObject({
    inputLimit: 7,
    outputLimit: 65_536,
    isListed: true,
  });
  expect(merged.find(({ id }) => id === 'gemini-2.5-flash')).toMatchObject({ inputLimit: 1_048_576, isListed: false });
  expect(merged.slice(-2)).toEqual([
    { id: 'gemini-8', status: 'unknown', backends: ['gemini-api'], thinks: true, isListed: true },
    { id: 'gemini-9', status: 'unknown', backends: ['gemini-api'], thinks: true, inputLimit: 5, isListed: true },
  ]);
});
