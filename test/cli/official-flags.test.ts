import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { REFUSED_FLAGS } from '../../src/cli/table/refused.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { OUTPUT_FORMATS } from '../../src/core/app.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place } from '../support/gmn.ts';
import { runInTerminal } from '../support/pty.ts';

/** The flags that `gemini --help` of 0.61 lists, and those it hides. */
const OFFICIAL = (
  'prompt prompt-interactive model output-format yolo approval-mode resume session-id session-file list-sessions ' +
  'delete-session include-directories skip-trust policy admin-policy allowed-mcp-server-names allowed-tools extensions ' +
  'list-extensions sandbox worktree debug screen-reader raw-output accept-raw-output-risk acp experimental-acp ' +
  'fake-responses fake-responses-non-strict record-responses ignore-env'
).split(' ');

const refused = REFUSED_FLAGS.filter(({ of }) => of === undefined).map(({ long }) => long);

test('every flag of the official CLI is either honoured or refused with a reason', () => {
  const honoured = ROOT.flags.map(({ long }) => long);
  expect(OFFICIAL.filter((name) => !honoured.includes(name))).toEqual(expect.arrayContaining(refused));
  expect(OFFICIAL.filter((name) => !honoured.includes(name) && !refused.includes(name))).toEqual([]);
});

test('what is only a notice where it has no effect is a flag of the official CLI', () => {
  const marked = ROOT.flags.filter(({ isOfficial }) => isOfficial).map(({ long }) => long);
  expect(marked.length).toBeGreaterThan(8);
  expect(marked.filter((name) => !OFFICIAL.includes(name))).toEqual([]);
});

test.for([
  [['--yolo', '--include-directories', '..'], ['--yolo', '--include-directories'], 'without tools'],
  [['--approval-mode', 'auto_edit', '--allowed-tools', 'x'], ['--allowed-tools', '--approval-mode'], 'without tools'],
  [['--raw-output', '-o', 'json'], ['--raw-output'], 'with -o json'],
] as const)('%j of a wrapper is a notice, and the prompt is asked', async ([args, flags, when], t) => {
  const gmn = await callGmn(t, [...args, 'hello'], { gemini: await fakeGemini(t, [reply('hi')]) });
  const words = flags.map((flag) => `${flag} has no effect ${when}`);
  if (gmn.stderr === '') expect(JSON.parse(gmn.stdout)).toMatchObject({ response: 'hi', warnings: words });
  else expect(gmn).toMatchObject({ stdout: 'hi\n', stderr: words.map((text) => `gmn: ${text}\n`).join('') });
  expect(gmn.exitCode).toBe(0);
});

test.for(['text', 'json'])('flags of a prompt beside --list-sessions are reported in %s', async (format, t) => {
  const gmn = await callGmn(t, ['--list-sessions', '--yolo', '-m', 'x', '-o', format]);
  const words = ['--model', '--yolo'].map((flag) => `${flag} has no effect with --list-sessions`);
  const told = format === 'json' ? JSON.parse(gmn.stdout).warnings : gmn.stderr.replaceAll('gmn: ', '').split('\n');
  expect(told).toEqual(expect.arrayContaining(words));
  expect(gmn.exitCode).toBe(0);
  expect(await callGmn(t, ['--list-sessions', '--temperature', '1'])).toMatchObject({ exitCode: 1, stdout: '' });
});

test.for([
  [['-o', 'json', '-u'], '--usage cannot be combined with -o json'],
  [['-o', 'json', '--render', 'always'], '--render always cannot be combined with -o json'],
  [['-o', 'json', '--show-thoughts'], '--show-thoughts cannot be combined with -o json'],
  [['--count-tokens', '--output-schema', '{}'], '--output-schema cannot be combined with --count-tokens'],
  [['--max-turns', '3'], '--max-turns means nothing without tools'],
  [['-qu'], '--usage cannot be combined with --quiet'],
  [['-m', 'gemini-2.0-flash', '--show-thoughts'], 'gemini-2.0-flash does not think, as far as gmn knows'],
] as const)('%j of gmn alone is refused, and nothing is sent or written', async ([args, message], t) => {
  const here = place(t, { gemini: await fakeGemini(t, []) });
  const file = args.includes('--count-tokens' as never) ? [] : ['--output-file', 'out.txt'];
  const gmn = await callGmnIn(t, here, [...args, ...file, 'hello']);
  expect(gmn.exitCode).toBe(1);
  expect(gmn.stdout === '' ? gmn.stderr : gmn.stdout).toContain(message);
  expect(existsSync(join(here.cwd, 'out.txt'))).toBe(false);
});

test('docs/compat.md lists those that are refused', () => {
  const page = readFileSync(new URL('../../docs/compat.md', import.meta.url), 'utf8');
  const section = /## Flags that are refused\n([\s\S]*?)\n## /.exec(page)?.[1] ?? '';
  const listed = [...section.matchAll(/^\| (.*?) \|/gm)].flatMap(([, names = '']) => [
    ...names.matchAll(/`--([\w-]+)`/g),
  ]);
  expect(listed.map(([, name]) => name).sort()).toEqual([...refused].sort());
});

describe('a flag that cannot be honoured', () => {
  test.for(
    REFUSED_FLAGS.flatMap(({ long, short, ...row }) => [
      [`--${long}`, row] as const,
      ...(short === undefined ? [] : [[`-${short}`, row] as const]),
    ]),
  )('%s is refused', ([name, { value, why, hint }]) => {
    const parse = () => parseCommandLine(ROOT, [name, ...(value === undefined ? [] : ['v']), 'hello'], {});
    const refused = { fault: 'usage', message: expect.stringMatching(/^--[a-z-]+: /), hint };
    expect(parse).toThrow(expect.objectContaining(refused));
    expect(parse).toThrow(`: ${why}`);
  });

  test.for(['json', 'stream-json'])('is an error object in %s', async (format, t) => {
    const gmn = await callGmn(t, ['-o', format, '--skip-trust', 'hello']);
    const error = {
      code: 1,
      type: 'UsageError',
      message: '--skip-trust: gmn trusts no folder for one run only',
      suggestion: 'To trust this folder: gmn trust',
    };
    expect(gmn).toMatchObject({ stderr: '', exitCode: 1 });
    expect(JSON.parse(gmn.stdout)).toEqual(format === 'json' ? { error } : { type: 'error', error });
  });

  test('is refused by a chat as well, and is suggested to nobody', async (t) => {
    expect((await callGmn(t, ['chat', '--demo', '-l'])).stderr).toMatch(/^Error: --list-extensions: gmn uses all /);
    expect((await callGmn(t, ['--skip-trus', 'x'])).stderr).toBe(
      "Error: unknown option '--skip-trus'\nRun: gmn --help\n",
    );
  });
});

test.for([['--sandbox=false'], ['--no-sandbox'], ['--debug=false']])(
  '%j asks for what gmn does anyway',
  async (args, t) => {
    const gmn = await callGmn(t, [...args, 'hello'], { gemini: await fakeGemini(t, [reply('hi')]) });
    expect(gmn).toMatchObject({ stdout: 'hi\n', stderr: '', exitCode: 0 });
  },
);

test('--screen-reader lays nothing out, and draws no spinner', async (t) => {
  const gemini = await fakeGemini(t, [reply('# Title\n**bold**\n')]);
  const { exitCode, output } = await runInTerminal(t, ['--screen-reader', '--no-color', 'x'], { gemini }).ended;
  expect({ exitCode, output: output.replaceAll('\r', '') }).toEqual({ exitCode: 0, output: '# Title\n**bold**\n' });
});

test.for([
  ['extensions', 'list'],
  ['gemma', 'setup'],
])('gemini %j is refused with the reason, and not sent as a prompt', async (words, t) => {
  const gmn = await callGmn(t, words, { gemini: await fakeGemini(t, []) });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toMatch(
    new RegExp(`^Error: "gemini ${words.slice(0, 2).join(' ')}" is a command of the official CLI\ngmn .*\nTo send it`),
  );
});

test('words that only begin like one are a prompt, and -p always is', async (t) => {
  const gemini = await fakeGemini(t, [reply('many'), reply('none')]);
  expect(await callGmn(t, ['extensions', 'of', 'python', 'files?'], { gemini })).toMatchObject({ stdout: 'many\n' });
  expect(await callGmn(t, ['-p', 'extensions list'], { gemini })).toMatchObject({ stdout: 'none\n', exitCode: 0 });
});

test.for([[['chat', '-v']], [['mcp', '-v']], [['mcp', 'call', '--version']]] as const)(
  '%j prints the version',
  async ([args], t) => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await callGmn(t, args)).toMatchObject({ stdout: `${version}\n`, stderr: '', exitCode: 0 });
  },
);

test('a common flag without effect on a command is accepted, with a notice', async (t) => {
  const words = '--model has no effect on "gmn mcp list"';
  const text = await callGmn(t, ['mcp', 'list', '-m', 'x']);
  expect([text.stderr.split('\n')[0], text.exitCode]).toEqual([`gmn: ${words}`, 0]);
  const json = await callGmn(t, ['-m', 'x', 'mcp', 'list', '--json']);
  expect([json.stderr, json.exitCode]).toEqual(['', 0]);
  expect(JSON.parse(json.stdout).warnings).toContain(words);
  expect((await callGmn(t, ['mcp', 'list', '-q', '-m', 'x'])).stderr).toBe('');
});

describe('in the place of the official CLI, with --output-dialect gemini', () => {
  const DIALECT = ['--output-dialect', 'gemini'];
  const namesIn = (body: { tools?: { functionDeclarations: { name: string }[] }[] }): readonly string[] =>
    (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name));

  test.for([[['--yolo']], [['--approval-mode', 'yolo']]] as const)('%j offers all tools', async ([flags], t) => {
    const gmn = await callGmn(t, [...flags, ...DIALECT, '-o', 'json', 'hello'], { script: [reply('hi')] });
    expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
    expect(JSON.parse(gmn.stdout)).not.toHaveProperty('warnings');
    expect(namesIn(gmn.requests[0]?.body)).toEqual(expect.arrayContaining(['write_file', 'run_shell_command']));
  });

  test('--tools still says which, and the variable changes names only', async (t) => {
    const gemini = await fakeGemini(t, [reply('hi'), reply('hi')]);
    await callGmn(t, ['--yolo', '--tools', 'read', ...DIALECT, 'hello'], { gemini });
    expect(namesIn(gemini.requests[0]?.body)).not.toContain('write_file');
    const env = { GMN_OUTPUT_DIALECT: 'gemini' };
    const gmn = await callGmn(t, ['--yolo', '-o', 'json', 'hello'], { gemini, env });
    expect(JSON.parse(gmn.stdout).warnings).toEqual(['--yolo has no effect without tools']);
    expect(namesIn(gemini.requests[1]?.body)).toEqual([]);
  });

  test('@file of a prompt that is piped in is attached, which is a warning of the result and no error', async (t) => {
    const files = { 'a.txt': 'AAA' };
    const stdin = 'explain @a.txt, but not \\@b.txt\n';
    const gmn = await callGmn(t, [...DIALECT, '-o', 'stream-json'], { script: [reply('A!')], files, stdin });
    expect(gmn.requests[0]?.body.contents[0].parts).toEqual([
      { text: '=== a.txt ===\nAAA\n\nexplain @a.txt, but not @b.txt\n' },
    ]);
    const events = parseLines(gmn.stdout);
    expect(events.map(({ type }) => type)).toEqual(['init', 'message', 'message', 'result']);
    expect(events.at(-1)).toMatchObject({ status: 'success', warnings: ['+ a.txt (3 B)'] });
    expect(gmn.stderr).toBe('');
  });

  test.for([
    { args: ['-p', 'review'], env: undefined, why: 'beside a prompt it is data' },
    { args: ['--no-at'], env: undefined, why: '--no-at forbids it' },
    { args: [], env: { GMN_OUTPUT_DIALECT: 'gemini' }, why: 'a variable changes names only' },
  ])('@file on stdin stays text where $why', async ({ args, env, why }, t) => {
    const gemini = await fakeGemini(t, [reply('A!')]);
    const flags = why.startsWith('a variable') ? [] : DIALECT;
    const gmn = await callGmn(t, [...flags, ...args], { gemini, env, files: { 'a.txt': 'AAA' }, stdin: '@a.txt' });
    expect(gmn).toMatchObject({ stdout: 'A!\n', stderr: '', exitCode: 0 });
    expect(JSON.stringify(gemini.requests[0]?.body)).not.toContain('AAA');
  });
});

describe('settings of the official CLI', () => {
  const settings = (value: object) => ({ '.gemini/settings.json': JSON.stringify(value) });

  test('output.format is the format unless a flag or a variable says otherwise', async (t) => {
    const gemini = await fakeGemini(t, [reply('hi'), reply('hi'), reply('hi'), reply('hi')]);
    const home = settings({ output: { format: 'json' } });
    expect(JSON.parse((await callGmn(t, ['hello'], { gemini, home })).stdout)).toMatchObject({ response: 'hi' });
    expect((await callGmn(t, ['-o', 'text', 'hello'], { gemini, home })).stdout).toBe('hi\n');
    expect((await callGmn(t, ['hello'], { gemini, home, env: { GMN_OUTPUT_FORMAT: 'text' } })).stdout).toBe('hi\n');
    expect(await callGmn(t, ['hello'], { gemini, home: settings({ output: { format: 'xml' } }) })).toMatchObject({
      stdout: 'hi\n',
      stderr: `gmn: output.format cannot be "xml": it is ${OUTPUT_FORMATS.join(', ')}\n`,
      exitCode: 0,
    });
  });

  test('output.format is also that of a failure, and broken settings fail as ever', async (t) => {
    const gemini = await fakeGemini(t, []);
    const failed = await callGmn(t, ['-u', 'hello'], { gemini, home: settings({ output: { format: 'json' } }) });
    expect(JSON.parse(failed.stdout).error.message).toBe('--usage cannot be combined with -o json');
    const broken = await callGmn(t, ['hello'], { gemini, home: { '.gemini/settings.json': '{"output":' } });
    expect([broken.stdout, broken.exitCode]).toEqual(['', 4]);
  });

  test('modelConfigs: an alias is asked for by its model, and overrides set how it samples', async (t) => {
    const home = settings({
      modelConfigs: {
        customAliases: { brief: { modelConfig: { model: 'gemini-2.5-pro', generateContentConfig: { topK: 3 } } } },
        customOverrides: [{ match: { model: 'gemini-2.5-pro' }, modelConfig: { generateContentConfig: { seed: 9 } } }],
      },
    });
    const gemini = await fakeGemini(t, [reply('hi'), reply('hi')]);
    const gmn = await callGmn(t, ['-m', 'brief', '--top-p', '0.5', 'hello'], { gemini, home });
    expect(gmn).toMatchObject({ stdout: 'hi\n', stderr: '', exitCode: 0 });
    expect(gemini.requests[0]?.path).toContain('/models/gemini-2.5-pro:');
    expect(gemini.requests[0]?.body.generationConfig).toMatchObject({ topK: 3, seed: 9, topP: 0.5 });
    await callGmn(t, ['-m', 'gemini-2.5-flash', 'hello'], { gemini, home });
    expect(gemini.requests[1]?.body.generationConfig).not.toHaveProperty('seed');
    const lost = await callGmn(t, ['hello'], {
      home: settings({ model: { name: 'a' }, modelConfigs: { customAliases: { a: { extends: 'b' } } } }),
      gemini: await fakeGemini(t, []),
    });
    expect(lost.exitCode).toBe(4);
    expect(lost.stderr).toMatch(/^Error: modelConfigs: the alias "a" extends "b", which does not exist\n/);
  });

  test('doctor and config explain report what gmn does not read', async (t) => {
    const home = settings({ security: { disableAlwaysAllow: true }, ui: { theme: 'x' } });
    const doctor = await callGmn(t, ['doctor'], { home, env: { GEMINI_API_KEY: 'test-key-0123456789' } });
    expect(doctor.stdout).toMatch(/settings\.json; not read by gmn: security\.disableAlwaysAllow\n/);
    const explained = await callGmn(t, ['config', 'explain', 'security.disableAlwaysAllow'], { home });
    expect(explained.stdout).toMatch(
      /^security\.disableAlwaysAllow = true\ngmn does not read this key; the official CLI may\.\n/,
    );
    const read = await callGmn(t, ['config', 'explain', 'output.format'], { home });
    expect(read.stdout).toBe('output.format is not set\n');
  });
});
