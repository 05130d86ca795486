import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext } from 'vitest';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

/** Each is read into an instruction, or run by git, gmn or another program, and no name of it tells so. */
const WATCHED = {
  'docs/rules.md': 'what a context file imports',
  'docs/later.md': 'what it would import',
  'docs/linked.md': 'where a context file leads',
  'scripts/git/pre-commit': 'a hook behind core.hooksPath',
  'scripts/git/post-commit': 'a new one beside it',
  'team.ini': 'what the configuration of git includes',
  'tools/clean.sh': 'a filter of git',
  'tools/diff': 'a program for differences, named by what is included',
  'env/bin/activate': 'a program of a virtual environment',
  'ext/hooks/hooks.json': 'its hooks',
  'ext/skills/s/SKILL.md': 'its skills',
  'skill/SKILL.md': 'a skill of the user that is a link',
  'skill/run.sh': 'its script',
  'agent.md': 'a sub-agent of the user that is a link',
  'deploy.toml': 'a command of the user that is a link',
  'tools/hook.sh': 'the script of a hook of the user',
} as const;

const CONFIG = `[core]
  hooksPath = scripts/git
[include]
  path = ../team.ini
[filter "f"]
  clean = "sh ./tools/clean.sh %f"
`;

const HOOKS = { AfterTool: [{ matcher: 'none', hooks: [{ type: 'command', command: 'sh "tools/hook.sh" --all' }] }] };

async function placeWithWatched(t: TestContext, script: Parameters<typeof fakeGemini>[1]) {
  const gemini = await fakeGemini(t, script);
  const missing = ['docs/later.md', 'scripts/git/post-commit'];
  const files: Record<string, string> = Object.fromEntries(
    Object.keys(WATCHED)
      .filter((name) => !missing.includes(name))
      .map((name) => [name, 'old\n']),
  );
  const at = place(t, {
    gemini,
    files: {
      ...files,
      ...{
        'AGENTS.md': '@docs/rules.md @docs/later.md',
        '.git/config': CONFIG,
        'env/pyvenv.cfg': '',
        'plain.txt': 'old\n',
      },
      ...{ 'team.ini': '[diff]\n external = tools/diff\n', 'ext/gemini-extension.json': '{"name":"e"}' },
      'ext/hooks/hooks.json': '{"hooks":{}}',
    },
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  });
  const home = (name: string): string => join(at.home, '.gemini', name);
  for (const name of ['skills', 'agents', 'commands', 'extensions/e']) mkdirSync(home(name), { recursive: true });
  const install = { type: 'link', source: join(at.cwd, 'ext') };
  writeFileSync(home('extensions/e/.gemini-extension-install.json'), JSON.stringify(install));
  writeFileSync(home('settings.json'), JSON.stringify({ hooks: HOOKS }));
  symlinkSync(join(at.cwd, 'skill'), home('skills/skill'));
  symlinkSync(join(at.cwd, 'agent.md'), home('agents/agent.md'));
  symlinkSync(join(at.cwd, 'deploy.toml'), home('commands/deploy.toml'));
  symlinkSync('docs/linked.md', join(at.cwd, 'GEMINI.md'));
  return { ...at, gemini };
}

const NAMES = Object.keys(WATCHED);

posixTest.for([
  ['auto_edit', ['--approval-mode', 'auto_edit']],
  ['yolo', ['--yolo']],
  ['--allowed-tools', ['--allowed-tools', 'write_file']],
] as const)('with %s what is watched is asked about, and so not written where nobody can be', async ([, flags], t) => {
  const reads = [...NAMES, 'plain.txt'].map((path) => call('read_file', { file_path: path }));
  const writes = [...NAMES, 'plain.txt'].map((path) => call('write_file', { file_path: path, content: 'planted\n' }));
  const at = await placeWithWatched(t, [reply(...reads), reply(...writes), reply('done')]);
  const gmn = await callGmnIn(t, at, ['--tools', 'edit', ...flags, 'go']);
  const results: { functionResponse: { response: { error?: string } } }[] =
    at.gemini.requests[2]?.body.contents.at(-1).parts;
  const told = results.map(({ functionResponse }) => functionResponse.response.error ?? 'written');
  expect(Object.fromEntries(NAMES.map((name, index) => [name, told[index]]))).toEqual(
    Object.fromEntries(NAMES.map((name) => [name, expect.stringContaining('so each change of it is asked about')])),
  );
  expect(told.at(-1)).toBe('written');
  for (const name of NAMES) {
    const path = join(at.cwd, name);
    expect(existsSync(path) && readFileSync(path, 'utf8').includes('planted'), name).toBe(false);
  }
  expect(readFileSync(join(at.cwd, 'plain.txt'), 'utf8')).toBe('planted\n');
  expect(gmn.stderr).toContain('write_file scripts/git/pre-commit was not run');
});

posixTest('a yes is for one change of what is watched, whatever the mode, and undo takes it back', async (t) => {
  const write = (content: string) => reply(call('write_file', { file_path: 'docs/rules.md', content }));
  const read = reply(call('read_file', { file_path: 'docs/rules.md' }));
  const at = await placeWithWatched(t, [read, write('one\n'), write('two\n'), reply('Done.')]);
  const rules = (): string => readFileSync(join(at.cwd, 'docs/rules.md'), 'utf8');
  const chat = chatInTerminal(t, ['--yolo', '--tools', 'edit'], { at });
  await chat.ready(1);
  chat.enter('go');
  await chat.shows(/write_file docs\/rules\.md[\s\S]*│ \+one\n╰ \[y\]es/);
  chat.type('y');
  await chat.shows(/│ \+two\n╰ \[y\]es/);
  expect(rules()).toBe('one\n');
  chat.type('n');
  await chat.shows(/Done\.\n\n❯/);
  expect(rules()).toBe('one\n');
  chat.enter('/undo');
  await chat.shows(/docs\/rules\.md\n❯/);
  expect(rules()).toBe('old\n');
  chat.type('\u0004');
  await chat.ended;
});
