import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPolicies } from '../../src/config/policies.ts';
import type { Settings } from '../../src/core/app.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { temporary } from '../support/temporary.ts';

function policyPlace(files: Readonly<Record<string, string>>, document: (root: string) => JsonObject = () => ({})) {
  const root = temporary(files);
  const settings = async (): Promise<Settings> => ({ env: {}, notices: [], document: document(root) });
  const homes = () => ({ gemini: join(root, 'gemini'), gmn: join(root, 'gmn'), isMissing: false });
  return { root, read: () => readPolicies({ env: { HOME: root }, homes: homes as never, settings }) };
}

const rule = (fields: string, decision = 'deny') =>
  `[[rule]]\ntoolName = "glob"\ndecision = "${decision}"\npriority = 1\n${fields}\n`;

test('the rules of all files come with the highest priority first', async () => {
  const { root, read } = policyPlace({
    'gemini/policies/a.toml': `${rule('')}[[rule]]\ntoolName = ["a", "b"]\ndecision = "ask_user"\npriority = 999\nmodes = ["autoEdit", "plan"]\ninteractive = true\nsubagent = "s"\ndenyMessage = "no"\ntoolAnnotations = { x = true }\n`,
    'gemini/policies/b.toml': '\uFEFF[[rule]]\r\ncommandPrefix = "git push"\r\ndecision = "deny"\r\npriority = 5\r\n',
    'gemini/policies/c.toml':
      '[[rule]]\nmcpName = "m"\ndecision = "allow"\npriority = 0\nfuture = 1\n[[safety_checker]]\n',
    'gemini/policies/d.md': 'no policy',
    'gemini/policies/e.toml/x': '',
  });
  const { files, rules, broken, ignored } = await read();
  expect({ broken, ignored }).toEqual({ broken: [], ignored: [] });
  expect(files).toEqual(['a', 'b', 'c'].map((name) => join(root, `gemini/policies/${name}.toml`)));
  expect(rules.map(({ priority, number, toolNames }) => [priority, number, toolNames])).toEqual([
    [4.999, 2, ['a', 'b']],
    [4.005, 1, ['run_shell_command']],
    [4.001, 1, ['glob']],
    [4, 1, ['*']],
  ]);
  expect(rules[0]).toMatchObject({
    modes: ['auto_edit', 'plan'],
    interactive: true,
    subagent: 's',
    message: 'no',
    toolAnnotations: { x: true },
  });
  expect(rules[1]).toMatchObject({ commandPrefixes: ['git push'] });
});

test.for([
  ['no TOML', 'rule = [', /^line 1: /],
  ['another rule', 'rule = 1', 'rules begin with [[rule]]'],
  ['no table', 'rule = [1]', 'rule 1: it is no table'],
  ['no decision', '[[rule]]\ntoolName = "*"\npriority = 1', /^rule 1: decision/],
  ['another decision', rule('', 'block'), /^rule 1: decision/],
  ['no priority', '[[rule]]\ntoolName = "*"\ndecision = "deny"', /^rule 1: priority/],
  ['a large priority', '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 1000', /^rule 1: priority/],
  [
    'a huge priority',
    '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 9223372036854775807',
    /^rule 1: priority/,
  ],
  ['a broken priority', '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 1.5', /^rule 1: priority/],
  ['no tool', '[[rule]]\ndecision = "deny"\npriority = 1', /^rule 1: toolName is missing/],
  ['an empty tool', '[[rule]]\ntoolName = ""\ndecision = "deny"\npriority = 1', /^rule 1: toolName/],
  ['a number for a tool', '[[rule]]\ntoolName = [1]\ndecision = "deny"\npriority = 1', /^rule 1: toolName/],
  ['a wrong server', rule('mcpName = 1'), /^rule 1: mcpName/],
  ['an empty sub-agent', rule('subagent = ""'), /^rule 1: subagent/],
  ['a wrong pattern', rule('argsPattern = "("'), /^rule 1: \( is no pattern/],
  ['a pattern that cannot be limited', rule("argsPattern = '(a)\\1'"), /is no pattern/],
  ['a mode that does not exist', rule('modes = ["x"]'), /^rule 1: there is no mode "x"/],
  ['wrong modes', rule('modes = 1'), /^rule 1: modes/],
  ['a wrong interactive', rule('interactive = "yes"'), /^rule 1: interactive/],
  ['wrong annotations', rule('toolAnnotations = 1'), /^rule 1: toolAnnotations/],
  ['a command of another tool', rule('commandPrefix = "x"'), /^rule 1: commands are/],
  [
    'two conditions',
    '[[rule]]\ncommandPrefix = "x"\ncommandRegex = "y"\ndecision = "deny"\npriority = 1',
    /exclude each other/,
  ],
] as const)('%s makes a file broken, and the other rules still count', async ([, text, why]) => {
  const { root, read } = policyPlace({ 'gemini/policies/a.toml': text, 'gemini/policies/b.toml': rule('') });
  const { broken, rules } = await read();
  expect(broken).toEqual([
    { file: join(root, 'gemini/policies/a.toml'), why: typeof why === 'string' ? why : expect.stringMatching(why) },
  ]);
  expect(rules).toHaveLength(1);
});

test('a file that cannot be read is broken', async () => {
  const { root, read } = policyPlace({ 'gemini/policies/a.toml': '' });
  symlinkSync(join(root, 'gemini'), join(root, 'gemini/policies/dir.toml'));
  expect((await read()).broken).toEqual([
    { file: join(root, 'gemini/policies/dir.toml'), why: expect.stringContaining('not a regular file') },
  ]);
});

test('the settings name other places, which must be absolute; those of the machine rank higher', async () => {
  const { root, read } = policyPlace(
    { 'gemini/policies/a.toml': rule(''), 'own/b.toml': rule(''), 'admin/c.toml': rule('') },
    (place) => ({
      policyPaths: ['~/own', 'relative', join(place, 'missing')],
      adminPolicyPaths: [join(place, 'admin/c.toml')],
    }),
  );
  const { rules, broken } = await read();
  expect(rules.map(({ file, priority }) => [file, priority])).toEqual([
    [join(root, 'admin/c.toml'), 5.001],
    [join(root, 'own/b.toml'), 4.001],
  ]);
  expect(broken).toEqual([{ file: 'relative', why: 'it must be an absolute path' }]);
});

test('whatever a file holds, it is read or broken', async () => {
  const words = fc.constantFrom(
    '[[rule]]',
    '\n',
    'toolName',
    'decision',
    'priority',
    '=',
    '"deny"',
    '1',
    '"*"',
    '[',
    ']',
    '{',
    '}',
    "'",
    'modes',
    ',',
    '.',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(words, { maxLength: 40 }), async (parts) => {
      const { read } = policyPlace({ 'gemini/policies/a.toml': parts.join(' ') });
      const { files } = await read();
      expect(files).toHaveLength(1);
    }),
    { numRuns: 100 },
  );
});
