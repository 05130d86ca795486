import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { TOPICS, type Topic } from '../../src/cli/help.ts';
import type { Command } from '../../src/cli/table/command.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { topicPage } from '../../src/cli/topics.ts';
import { FAULTS } from '../../src/core/error.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { callGmn, runGmn } from '../support/gmn.ts';

const NAMES = Object.keys(TOPICS) as readonly Topic[];
const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

test.for(NAMES)('gmn help %s prints a page that fits a terminal', async (topic, t) => {
  const page = topicPage(topic, ROOT);
  expect(await runGmn(t, ['help', topic])).toMatchObject({ stdout: page, stderr: '', exitCode: 0 });
  const lines = page.split('\n');
  expect(lines.filter((line) => line.length > 84)).toEqual([]);
  expect(lines.length).toBeGreaterThanOrEqual(15);
  expect(page.startsWith(`${TOPICS[topic]}\n\n`)).toBe(true);
});

test.for([
  ['-h', 'tools'],
  ['tools', '-h'],
  ['--help', 'exit-codes'],
] as const)('gmn %s %s is the page of that topic', async (words, t) => {
  const topic = words.find((word) => !word.startsWith('-')) ?? '';
  expect(await callGmn(t, words)).toEqual(await callGmn(t, ['help', topic]));
});

test('gmn help lists every topic', async (t) => {
  const { stdout } = await runGmn(t, ['help']);
  for (const [name, summary] of Object.entries(TOPICS)) expect(stdout).toContain(`  ${name.padEnd(11)}  ${summary}\n`);
  expect((await runGmn(t, ['--help'])).stdout).toBe(stdout);
});

test.for<readonly [args: readonly string[], error: string]>([
  [['exit-code'], 'Error: there is no command or topic "exit-code"\nDid you mean: gmn help exit-codes\n'],
  [['mdoels'], 'Error: there is no command or topic "mdoels"\nDid you mean: gmn help models\n'],
  [['auth', 'statsu'], 'Error: there is no command "auth statsu"\nDid you mean: gmn help auth status\n'],
  [['login'], 'Error: there is no command or topic "login"\nTo sign in: gmn auth set-key, or: gmn help auth\n'],
  [['qqqqqqqq'], 'Error: there is no command or topic "qqqqqqqq"\nRun: gmn help\n'],
])('gmn help %j names the nearest', async ([args, error], t) => {
  expect(await runGmn(t, ['help', ...args])).toMatchObject({ stdout: '', stderr: error, exitCode: 1 });
});

test('the help of a command with the name of a topic is still there, and the topic lists its commands', async (t) => {
  expect((await runGmn(t, ['auth', '--help'])).stdout).toContain('Usage:\n');
  expect((await runGmn(t, ['help', 'auth', 'status'])).stdout).toContain('Usage:\n  gmn auth status');
  expect(topicPage('auth', ROOT)).toContain('  gmn auth set-key  Keep an API key');
});

/** What follows where gmn is a word of a sentence. */
const PROSE = ['reads', 'one', 'alone', 'as'];

test('every command and flag that a page names exists', () => {
  const everyCommand = (command: Command): readonly Command[] => [
    command,
    ...(command.subcommands ?? []).flatMap(everyCommand),
  ];
  const flags = new Set(
    everyCommand(ROOT).flatMap((command) => command.flags.flatMap(({ long, aliases = [] }) => [long, ...aliases])),
  );
  for (const topic of NAMES) {
    // Below that are the summaries of the table.
    const [page = ''] = topicPage(topic, ROOT).split('\nCommands (');
    for (const [, flag = ''] of page.matchAll(/(?<!\S)--([a-z-]+)/g))
      expect([...flags, 'help', 'version'], topic).toContain(flag);
    for (const [line, first, second = ''] of page.matchAll(/(?<![.\w~])gmn ([a-z]+)(?: ([a-z][a-z-]*))?/g)) {
      if (PROSE.includes(first ?? '')) continue;
      const command = ROOT.subcommands?.find(({ name }) => name === first);
      expect(command, `${topic}: ${line}`).toBeDefined();
      const below = command?.subcommands?.map(({ name }) => name) ?? [];
      if (below.length > 0 && second !== '') expect(below, `${topic}: ${line}`).toContain(second);
      if (first === 'help' && second !== '') expect(NAMES, `${topic}: ${line}`).toContain(second);
    }
  }
});

test('gmn names no page that is not in its package: topics, not docs/', () => {
  const named = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      readFileSync(join(SRC, name), 'utf8')
        .split('\n')
        .map((line) => `${name}: ${line.trim()}`),
    )
    .filter((line) => !/: (?:\/\/|\/?\*)/.test(line));
  expect(named.filter((line) => /\bdocs\/[\w-]+\.md/.test(line))).toEqual([]);
  const topics = named.flatMap((line) => [...line.matchAll(/gmn help ([a-z][a-z-]*)/g)].map(([, topic = '']) => topic));
  expect(topics.length).toBeGreaterThan(10);
  const known = [...NAMES, ...(ROOT.subcommands ?? []).map(({ name }) => name)];
  expect(topics.filter((topic) => !known.some((name) => name === topic))).toEqual([]);
});

test('every fault that the page about the offline model names can be played', () => {
  const [, rows = ''] = /misbehave.*\n((?: .*\n)+)/.exec(topicPage('demo', ROOT)) ?? [];
  const names = rows
    .replace('<url>', 'http://x.test')
    .split(/[,\s]+/)
    .filter(Boolean);
  expect(names.length).toBeGreaterThan(20);
  expect(parseFaults(names)).toHaveLength(names.length);
});

test('exit codes are those of the table', () => {
  const rows = [...topicPage('exit-codes', ROOT).matchAll(/^ +(\d+) {2}(\w+) {2,}/gm)];
  expect(rows.map(([, code, type]) => [Number(code), type])).toEqual(
    Object.values(FAULTS).map(({ exitCode, type }) => [exitCode, type]),
  );
});

/** Names in the source that look like variables of ours and are none, or are not for people to set. */
const NO_VARIABLES = [
  'GMN_MCP_DEPTH',
  'GMN_LEADER',
  'GMN_END',
  'GMN_FILE',
  'CLOUD_SCOPES',
  'CLOUD_VARIABLES',
  'CLOUD_RUN_JOB',
  'CODE_ASSIST_URL',
  'GEMINI_API_URL',
  'GMN_COMMAND',
  // What hooks get.
  'GEMINI_PROJECT_DIR',
  'GEMINI_CWD',
  'GEMINI_SESSION_ID',
  // Of scripts that gmn gives to PowerShell and cmd.
  'GMN_FILE',
  'GMN_LEADER',
  'GMN_END',
];

test('the page of variables has every one that the source reads, and no other', () => {
  const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('topics'))
    .map((name) => readFileSync(join(SRC, name), 'utf8'))
    .join('\n');
  const OURS = /\b(?:GMN|GEMINI|GOOGLE|CLOUD|CODE_ASSIST|GCE|METADATA)_[A-Z_]+\b/g;
  const read = new Set(
    [...sources.matchAll(OURS)].map(([name]) => name).filter((name) => !NO_VARIABLES.includes(name)),
  );
  const page = topicPage('env', ROOT);
  const listed = new Set([...page.matchAll(OURS)].map(([name]) => name));
  expect([...listed].sort()).toEqual([...read].sort());
  for (const [name] of page.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)) expect(sources).toContain(name);
});

test('the keys are those of the page about the chat, the tools those of the page about tools', () => {
  const chat = readFileSync(join(DOCS, 'chat.md'), 'utf8');
  for (const [key] of topicPage('keys', ROOT).matchAll(/\b(?:Ctrl|Alt|Shift)\+\S/g)) expect(chat).toContain(key);
  const tools = readFileSync(join(DOCS, 'tools.md'), 'utf8');
  for (const [name] of topicPage('tools', ROOT).matchAll(/\b[a-z]+_[a-z_]+\b/g)) expect(tools).toContain(name);
});
