import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findSettingRow, listSettingKeys, type SettingKind, tryParseKeyPath } from '../../src/config/keys.ts';
import { parseSettingWords } from '../../src/config/setting-text.ts';
import { OUTPUT_FORMATS } from '../../src/core/app.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { systemMode } from '../support/posix.ts';

const COMMENTED = '{\n  // mine\n  "model": { "name": "pro" }, // keep\n}\n';

test('a key is set, used, overridden and removed, and the comments stay', async (t) => {
  const here = place(t, { home: { '.gmn/config.json': COMMENTED } });
  const file = join(here.home, '.gmn/config.json');
  const run = (...words: readonly string[]) => callGmnIn(t, here, ['config', ...words]);
  expect(await run('set', 'model', 'flash')).toMatchObject({
    stdout: `model.name = "flash" in ${file}\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(readFileSync(file, 'utf8')).toBe(COMMENTED.replace('"pro"', '"flash"'));
  const overridden = await callGmnIn(t, { ...here, env: { ...here.env, GMN_MODEL: 'other' } }, [
    'config',
    'set',
    'model.name',
    'pro',
  ]);
  expect(overridden).toMatchObject({
    stdout: `model.name = "pro" in ${file}\n`,
    stderr: 'gmn: overridden by GMN_MODEL: here model.name is "other"\n',
  });
  expect((await run('set', 'model.name', 'pro')).stdout).toBe(`model.name was already "pro" in ${file}\n`);
  expect((await run('unset', 'model')).stdout).toBe(
    `model.name removed from ${file}; it is "gemini-2.5-flash" now, from gmn\n`,
  );
  expect(readFileSync(file, 'utf8')).toBe('{\n  // mine\n  "model": {}, // keep\n}\n');
  expect(await run('unset', 'model')).toMatchObject({
    stderr: `Error: ${file} does not set model.name\nTo see what does: gmn config explain model.name\n`,
    exitCode: 1,
  });
});

test('the file is made, private, where there was none; lists add up with those of other files', async (t) => {
  const here = place(t, { home: { '.gemini/settings.json': '{"tools":{"exclude":["glob"]}}' } });
  const file = join(here.home, '.gmn/config.json');
  const { stdout } = await callGmnIn(t, here, ['config', 'set', 'tools.exclude', 'web_fetch', 'read_file', '--json']);
  const user = join(here.home, '.gemini/settings.json');
  expect(JSON.parse(stdout)).toEqual({
    key: 'tools.exclude',
    value: ['web_fetch', 'read_file'],
    file,
    changed: true,
    wins: false,
    warnings: [`combined with ${user}: here tools.exclude is ["glob","web_fetch","read_file"]`],
  });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ tools: { exclude: ['web_fetch', 'read_file'] } });
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(systemMode(0o600));
});

test('keys of the first format and keys that gmn does not read can be removed', async (t) => {
  const here = place(t, { home: { '.gmn/config.json': '{"model":"pro","ui":{"theme":"x"}}' } });
  await callGmnIn(t, here, ['config', 'unset', 'model']);
  expect((await callGmnIn(t, here, ['config', 'unset', 'ui.theme'])).stdout).toContain('; nothing sets it now\n');
  expect(JSON.parse(readFileSync(join(here.home, '.gmn/config.json'), 'utf8'))).toEqual({ ui: {} });
});

test('nothing is written while a settings file is broken', async (t) => {
  const here = place(t, { home: { '.gmn/config.json': '{"model":{"name":"a"}', '.gemini/settings.json': '{}' } });
  expect(await callGmnIn(t, here, ['config', 'set', 'model', 'b'])).toMatchObject({ stdout: '', exitCode: 4 });
  expect(readFileSync(join(here.home, '.gmn/config.json'), 'utf8')).toBe('{"model":{"name":"a"}');
});

test.each([
  ['security.folderTrust.enabled', ['false'], false],
  ['sessions.retention', ['2w'], '2w'],
  ['context.fileName', ['AGENTS.md'], 'AGENTS.md'],
  ['context.fileName', ['AGENTS.md,NOTES.md'], ['AGENTS.md', 'NOTES.md']],
  ['mcp.allowed', ['["a","b"]'], ['a', 'b']],
  ['modelConfigs.customOverrides', ['[]'], []],
  ['mcpServers.files.timeout', ['5000'], 5000],
  ['mcpServers.files.env.TOKEN', ['$FILES_TOKEN'], '$FILES_TOKEN'],
  ['output.format', ['json'], 'json'],
  ['general.maxAttempts', ['5'], 5],
  ['model.compressionThreshold', ['0.5'], 0.5],
  ['tools.sandbox', ['true'], true],
  ['tools.sandbox', ['bwrap'], 'bwrap'],
] as const)('%s takes %j', (key, words, value) => {
  expect(parseSettingWords(tryParseKeyPath(key) ?? [], words)).toEqual(value);
});

test('there is a word for every key but the secret one', () => {
  const words: Readonly<Record<SettingKind, string>> = {
    string: 'text',
    boolean: 'true',
    object: '{"a":{}}',
    strings: 'a,b',
    list: '[1]',
    oneOrMore: 'a',
    age: '30d',
    count: '7',
    prices: '{"a":{"input":1}}',
    share: '0.5',
    sandbox: 'true',
  };
  const refused = listSettingKeys().filter((key) => {
    try {
      parseSettingWords(key.split('.'), [words[findSettingRow(key)?.kind ?? 'string']]);
      return false;
    } catch (thrown) {
      // Such as `output.format`: the words it takes are in the message.
      return !/cannot be "text": it is /.test(String(thrown));
    }
  });
  expect(refused).toEqual(['oauth.clientSecret']);
});

test('what a server cannot use is said at once', async (t) => {
  const here = place(t);
  const { stderr } = await callGmnIn(t, here, ['config', 'set', 'mcpServers.files.command', '5']);
  expect(stderr).toBe('gmn: the MCP server files cannot be used: command must be a string\n');
});

test.each([
  ['security.folderTrust.enabled', 'no', 'security.folderTrust.enabled must be true or false', /enabled true$/],
  ['sessions.retention', 'long', 'sessions.retention must be a duration like "30d" or "12h", or "never"', / 30d$/],
  ['mcpServers', 'x', 'mcpServers must be an object', /gmn mcp add/],
  ['output.format', 'jsn', `output.format cannot be "jsn": it is ${OUTPUT_FORMATS.join(', ')}`, /output.format json$/],
  ['general.defaultApprovalMode', 'yolo', /cannot be "yolo": it is default, auto_edit, plan$/, /Try/],
  ['model.nmae', 'x', 'gmn reads no key "model.nmae"', /^Did you mean model.name\?$/],
  ['modle', 'x', 'gmn reads no key "modle"', /^Did you mean model\?$/],
  ['retention', 'x', 'gmn reads no key "retention"', /^Did you mean sessions.retention\?$/],
  ['security', 'x', 'gmn reads no key "security"', /security.auth.selectedType or/],
  ['general.maxAttempts', '0', 'general.maxAttempts must be a whole number from 1', / 3$/],
  ['model.compressionThreshold', '70', 'model.compressionThreshold must be a number from 0 to 1', / 0\.5$/],
  ['general.maxAttempts', '1e3', 'general.maxAttempts must be a whole number from 1', / 3$/],
  ['model.name', '', 'model.name cannot be empty', /gmn config unset model.name$/],
  ['mcpServers.__proto__.command', 'x', '"__proto__" cannot be part of a key', /another name/],
  ['zzzzzzzz', 'x', 'gmn reads no key "zzzzzzzz"', /gmn config list --all$/],
  ['oauth.clientSecret', 'x', /takes no secrets/, /GMN_OAUTH_CLIENT_SECRET/],
  ['GEMINI_API_KEY', 'x', /takes no secrets/, /gmn auth set-key$/],
  ['model.name', `AIza${'Sy'.repeat(18)}x`.slice(0, 39), /takes no secrets/, /gmn auth set-key$/],
  ['mcpServers.files.env.TOKEN', 'abc', /takes no secrets/, /\$FILES_TOKEN/],
] as const)('%s does not take %s', (key, word, message, hint) => {
  expect(() => parseSettingWords(tryParseKeyPath(key) ?? [], [word])).toThrow(
    expect.objectContaining({
      fault: 'usage',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    }),
  );
});

test.for([
  [['tools.sandbox', 'foo'], 'Error: tools.sandbox: gmn has no sandbox foo\nChoose one of: auto, '],
  [['model.name', 'not a model'], 'Error: "not a model" cannot be the name of a model (model.name)\n'],
  [
    ['mcpServers.x', 'foo'],
    'Error: mcpServers.x is not an MCP server: it must be an object\nTo add a server: gmn mcp add',
  ],
] as const)('a value that no run could use is refused: %j', async ([words, error], t) => {
  const here = place(t);
  const { stderr, exitCode } = await callGmnIn(t, here, ['config', 'set', ...words]);
  expect(stderr.startsWith(error)).toBe(true);
  expect(exitCode).not.toBe(0);
  expect(existsSync(join(here.home, '.gmn/config.json'))).toBe(false);
});

test.for([
  [['model.name', 'gemini-2.5-prro'], /unknown model "gemini-2\.5-prro".*Did you mean gemini-2\.5-pro/],
  [['tools.allowed', 'nonsense'], /gmn has no tool "nonsense"/],
] as const)('a value that is most likely a slip is written, with a notice: %j', async ([words, notice], t) => {
  expect(await callGmnIn(t, place(t), ['config', 'set', ...words])).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(notice),
  });
});
