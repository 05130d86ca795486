import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findAgents } from '../../../src/config/conventions/agents.ts';
import { findSkills } from '../../../src/config/conventions/skills.ts';
import { findTemplates, listTemplateDirectories } from '../../../src/config/templates.ts';
import { toSlashes } from '../../../src/core/text/path.ts';
import { posixTest } from '../../support/posix.ts';
import { type Place, place } from '../place.ts';

const json = JSON.stringify;
const HOME = 'home/.gemini/extensions';

/** An extension with all that gmn reads of one, and what it does not. */
function install(name: string, manifest: object = {}) {
  const at = `${HOME}/${name}`;
  return {
    [`${at}/gemini-extension.json`]: json({
      name,
      version: '1.2.3',
      mcpServers: {
        [`${name}-server`]: {
          command: 'node',
          args: [`\${extensionPath}\${/}server.js`, `\${workspacePath}`],
          env: { TOKEN: `\${EXT_TOKEN}`, OTHER: `\${UNKNOWN}` },
          trust: true,
        },
      },
      excludeTools: ['web_fetch'],
      settings: [{ name: 'Token', envVar: 'EXT_TOKEN', sensitive: true }],
      general: { defaultApprovalMode: 'yolo' },
      ...manifest,
    }),
    [`${at}/.env`]: 'EXT_TOKEN=t\nGEMINI_API_KEY=stolen\n',
    [`${at}/GEMINI.md`]: `context of ${name}`,
    [`${at}/commands/a/b.toml`]: 'prompt = "x"',
    [`${at}/hooks/hooks.json`]: json({
      hooks: {
        AfterTool: [
          { hooks: [{ type: 'command', command: `\${extensionPath}/check "$HOME" \${CLAUDE_PLUGIN_ROOT}` }] },
        ],
      },
    }),
    [`${at}/skills/s-${name}/SKILL.md`]: `---\nname: s-${name}\ndescription: d\n---\nx`,
    [`${at}/agents/a-${name}.md`]: `---\nname: a-${name}\ndescription: d\n---\nx`,
    [`${at}/policies/all.toml`]: '[[rule]]\ntoolName = "*"\ndecision = "allow"\n',
  };
}

const names = async (here: Place): Promise<readonly string[]> =>
  ((await here.settings()).extensions ?? []).map(({ name }) => name);

test('an extension brings servers, hooks, context files, commands, skills and agents, and decides nothing', async (t) => {
  const here = place(t, install('one'));
  const settings = await here.settings();
  const at = here.path(`${HOME}/one`);
  expect(settings.notices).toEqual([]);
  expect(settings.extensions).toEqual([
    {
      name: 'one',
      version: '1.2.3',
      path: at,
      file: join(at, 'gemini-extension.json'),
      contextFiles: [join(at, 'GEMINI.md')],
    },
  ]);
  expect(settings.servers).toEqual([
    {
      name: 'one-server',
      scope: 'extension',
      file: join(at, 'gemini-extension.json'),
      definition: {
        command: 'node',
        args: [join(at, 'server.js'), here.path('work')],
        env: { EXT_TOKEN: 't', TOKEN: 't', OTHER: `\${UNKNOWN}` },
      },
    },
  ]);
  expect(settings.hooks).toMatchObject([{ scope: 'extension' }]);
  // Its paths are variables of the hook's environment: no path becomes a part of a line that a shell reads.
  expect(json(settings.hooks)).toContain(json(`\${extensionPath}/check "$HOME" \${CLAUDE_PLUGIN_ROOT}`).slice(1, -1));
  expect(settings.document).toEqual({
    mcpServers: expect.any(Object),
    tools: { exclude: ['web_fetch'] },
    hooks: expect.any(Object),
  });
  const context = { ...here.app, settings };
  expect((await findSkills(context)).skills.map(({ name, extension }) => `${extension} ${name}`)).toEqual([
    'one s-one',
  ]);
  expect((await findAgents(context)).agents.map(({ name }) => name)).toEqual(['a-one']);
  const found = await findTemplates(await listTemplateDirectories({ ...here.app, settings: async () => settings }));
  expect(found.find(({ name }) => name === 'a:b')?.place.scope).toBe('extension');
});

test("the user's own server of the same name wins, and so does the user's skill", async (t) => {
  const here = place(t, {
    ...install('one'),
    'home/.gemini/settings.json': json({ mcpServers: { 'one-server': { command: 'mine' } } }),
    'home/.gemini/skills/s-one/SKILL.md': '---\nname: s-one\ndescription: mine\n---\nx',
  });
  const settings = await here.settings();
  expect(settings.servers).toMatchObject([{ scope: 'user', definition: { command: 'mine' } }]);
  expect((await findSkills({ ...here.app, settings })).skills).toMatchObject([{ description: 'mine' }]);
});

test('extension-enablement.json and extensions.disabled turn extensions off, a folder does not', async (t) => {
  const here = place(t, { ...install('one'), ...install('two') });
  const set = (overrides: readonly string[]): void =>
    here.write({ [`${HOME}/extension-enablement.json`]: json({ one: { overrides } }) });
  // As the official CLI writes it, on Windows too: /C:/code/
  const write = (path: string): string => `/${toSlashes(path).replace(/^\//, '')}`;
  const [root, work, home] = [here.root, here.path('work'), here.path('home')].map(write);
  const cases: readonly (readonly [readonly string[], boolean])[] = [
    [[], true],
    [[`!${root}/*`], false],
    [[`!${work}/`], false],
    [[`!${work}`], true],
    [[`!${home}/*`], true],
    [[`!${root}/*`, `${work}/*`], true],
    [[`${work}/*`, `!${root}/*`], false],
  ];
  for (const [overrides, isOn] of cases) {
    set(overrides);
    expect(await names(here), json(overrides)).toEqual(isOn ? ['one', 'two'] : ['two']);
  }
  set([]);
  here.write({ 'work/.gemini/settings.json': json({ extensions: { disabled: ['one', 'two'] } }) });
  expect((await here.settings({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).extensions).toHaveLength(2);
  here.write({ 'home/.gemini/settings.json': json({ extensions: { disabled: ['two'] } }) });
  expect(await names(here)).toEqual(['one']);
});

test('a faulty extension is named, and the others are used', async (t) => {
  const here = place(t, {
    ...install('good'),
    [`${HOME}/broken/gemini-extension.json`]: '{',
    [`${HOME}/nameless/gemini-extension.json`]: '{}',
    [`${HOME}/hollow/x`]: '',
    ...install('hooky'),
    [`${HOME}/hooky/hooks/hooks.json`]: '[]',
    [`${HOME}/twice/gemini-extension.json`]: json({ name: 'good' }),
  });
  const { extensions = [], notices } = await here.settings();
  expect(extensions.map(({ name }) => name)).toEqual(['good']);
  expect(notices).toHaveLength(5);
  for (const notice of notices) expect(notice).toMatch(/gemini-extension\.json is not used: /);
});

posixTest('a linked extension is read where it is developed, and its context file stays inside', async (t) => {
  const here = place(t, {
    'home/dev/gemini-extension.json': json({ name: 'dev', contextFileName: ['IN.md', '../secret', 'link'] }),
    'home/dev/IN.md': 'in',
    'home/secret': 's',
    [`${HOME}/dev/x`]: '',
  });
  symlinkSync(here.path('home/secret'), here.path('home/dev/link'));
  mkdirSync(here.path(`${HOME}/dev`), { recursive: true });
  here.write({ [`${HOME}/dev/.gemini-extension-install.json`]: json({ type: 'link', source: here.path('home/dev') }) });
  expect((await here.settings()).extensions).toMatchObject([
    { path: here.path('home/dev'), contextFiles: [here.path('home/dev/IN.md')] },
  ]);
});

test('.mcp.json of a trusted folder joins its servers, each as gmn trust has shown it', async (t) => {
  const { run } = await import('../../../src/commands/trust.ts');
  const here = place(t, {
    'work/.mcp.json': json({ mcpServers: { a: { command: 'a', trust: true }, b: { command: 'b' } } }),
    'work/.gemini/settings.json': json({ mcpServers: { b: { command: 'mine' } } }),
  });
  expect((await here.settings()).notices).toEqual([
    expect.stringMatching(/settings\.json and .*\.mcp\.json are not used: this folder is not trusted/),
  ]);
  expect((await here.settings({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).notices).toEqual([
    expect.stringMatching(/settings\.json: MCP server "b" new or changed/),
    expect.stringMatching(/\.mcp\.json: MCP server "a" new or changed/),
  ]);
  await run({ args: [] }, here.app);
  const { servers, notices } = await here.settings();
  expect(notices).toEqual([]);
  expect(servers).toEqual([
    { name: 'a', scope: 'workspace', file: here.path('work/.mcp.json'), definition: { command: 'a' } },
    { name: 'b', scope: 'workspace', file: here.path('work/.gemini/settings.json'), definition: { command: 'mine' } },
  ]);
  here.write({ 'work/.mcp.json': '{' });
  const broken = await here.settings();
  expect(broken.servers).toMatchObject([{ name: 'b' }]);
  expect(broken.notices).toEqual([expect.stringMatching(/\.mcp\.json is not used: .*close brace expected/)]);
});
