import { expect } from 'vitest';
import { call } from '../support/gemini.ts';
import { fixtureServer } from '../support/mcp-place.ts';
import { always, foundIn, outputOf, pick, say, succeed, type Task, TRUSTED } from './task.ts';

export const fixABug: Task = {
  name: 'fix-a-bug',
  what: 'find a bug by its symptom, fix it, run the tests',
  files: {
    'package.json': '{"name":"sums","type":"module"}\n',
    'src/list.js': 'export const first = (list) => list[0];\n',
    'src/sum.js':
      'export function sum(list) {\n  let total = 1;\n  for (const each of list) total += each;\n  return total;\n}\n',
    'test.js':
      "import { sum } from './src/sum.js';\nif (sum([1, 2]) !== 3) throw new Error('sum is wrong');\nconsole.log('all good');\n",
  },
  may: 'shell',
  prompts: ['sum([1, 2]) is 4. Find out why, and fix it.'],
  model: [
    always(call('search_file_content', { pattern: 'function sum' }), call('glob', { pattern: '**/test*' })),
    (seen) => foundIn(seen).map((path) => call('read_file', { file_path: path })),
    (seen) => {
      const line = pick(outputOf(seen), /(.*total = 1;)/);
      return [
        call('edit_file', { file_path: 'src/sum.js', old_string: line, new_string: line.replace('1', '0') }),
        call('run_shell_command', { command: 'node test.js' }),
      ];
    },
    (seen) => [say(`Fixed in src/sum.js:2; the test says: ${outputOf(seen, 1).trim()}.`)],
  ],
  check(end) {
    succeed(end);
    expect(end.file('src/sum.js')).toContain('let total = 0;');
    expect(end.answer).toContain('the test says: all good.');
  },
};

export const writeATest: Task = {
  name: 'write-a-test',
  what: 'write a test for a function, and run it',
  files: { 'slug.mjs': "export const slug = (text) => text.toLowerCase().replaceAll(' ', '-');\n" },
  may: 'shell',
  prompts: ['Write a test for slug.mjs.'],
  model: [
    always(call('read_file', { file_path: 'slug.mjs' })),
    (seen) => {
      const name = pick(outputOf(seen), /export const (\w+)/);
      const content = `import assert from 'node:assert';\nimport { ${name} } from './slug.mjs';\nassert.equal(${name}('Hello World'), 'hello-world');\nconsole.log('1 passed');\n`;
      return [call('write_file', { file_path: 'slug.test.mjs', content })];
    },
    always(call('run_shell_command', { command: 'node slug.test.mjs', description: 'Run the new test' })),
    (seen) => [say(`slug.test.mjs is new. ${outputOf(seen).trim()}.`)],
  ],
  check(end) {
    succeed(end);
    expect(end.file('slug.test.mjs')).toContain("assert.equal(slug('Hello World')");
    expect(end.answer).toContain('1 passed.');
  },
};

export const backgroundCommand: Task = {
  name: 'background-command',
  what: 'start a watcher, give it work, read its output, stop it',
  files: {
    'watch.sh': 'while [ ! -e work ]; do sleep 0.02; done\necho "worked on $(cat work)"\nexec sleep 600\n',
  },
  may: 'shell',
  prompts: ['Start watch.sh, check that it works on the file work, and stop it again.'],
  model: [
    always(call('run_shell_command', { command: 'exec sh watch.sh', is_background: true })),
    (seen) => {
      expect(seen.results).toEqual([{ id: 1, output: '', running: true }]);
      return [call('write_file', { file_path: 'work', content: 'this' }), call('read_output', { id: 1 })];
    },
    (seen) => {
      expect(seen.results[1]).toEqual({ output: 'worked on this\n', running: true });
      return [call('stop_command', { id: 1 })];
    },
    ({ results: [result] }) => [say(`It works, and is ${result?.running ? 'still running' : 'stopped'}.`)],
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('It works, and is stopped.');
  },
};

export const verifyFailsThenPasses: Task = {
  name: 'verify-fails-then-passes',
  what: 'repair what the command of --verify complains about',
  files: { 'answer.txt': '41\n', 'check.sh': 'grep -qx 42 answer.txt || { echo "answer.txt must be 42"; exit 1; }\n' },
  may: 'shell',
  verify: 'sh check.sh',
  prompts: ['Correct the answer.'],
  model: [
    always(call('read_file', { file_path: 'answer.txt' })),
    always(call('edit_file', { file_path: 'answer.txt', old_string: '41', new_string: '43' })),
    always(say('It is 43 now.')),
    ({ text }) => {
      const wanted = pick(text, /answer\.txt must be (\d+)/);
      return [call('edit_file', { file_path: 'answer.txt', old_string: '43', new_string: wanted })];
    },
    always(say('It is 42 now.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('answer.txt')).toBe('42\n');
    expect(end.answer).toContain('It is 43 now.\nIt is 42 now.');
  },
};

export const hugeOutput: Task = {
  name: 'huge-output',
  what: 'use an output that is cut to its head and tail, and read the rest',
  files: {
    'build.mjs': `
      for (let line = 1; line <= 4000; line += 1) {
        console.log('line ' + line + (line === 2000 ? ': the cause is here' : ': compiling something'));
      }
      process.exitCode = 2;
    `,
  },
  may: 'shell',
  prompts: ['Run build.mjs and tell me why it fails.'],
  model: [
    always(call('run_shell_command', { command: 'node build.mjs' })),
    (seen) => {
      const output = outputOf(seen);
      expect(output).toMatch(/^line 1: /);
      expect(output).toMatch(/line 4000: compiling something\n$/);
      expect(output).not.toContain('the cause');
      const kept = pick(output, /read_file (\S+) shows them/);
      return [call('read_file', { file_path: kept, start_line: 1990, end_line: 2010 })];
    },
    (seen) => [say(pick(outputOf(seen), /(line 2000: .*)/))],
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('line 2000: the cause is here');
  },
};

export const mcpTool: Task = {
  name: 'mcp-tool',
  what: 'use the tool of an MCP server, whose result is marked as data',
  files: { 'numbers.txt': '19 23\n' },
  home: {
    '.gemini/settings.json': JSON.stringify({
      mcpServers: { memo: { ...fixtureServer('mcp-server.mjs'), trust: true, includeTools: ['add'] } },
    }),
  },
  may: 'read',
  flags: ['--allowed-mcp-server-names', 'memo'],
  // What `gmn mcp serve` offers is decided by its flags; it does not pass on the servers of the user.
  ways: ['one-shot', 'chat'],
  prompts: ['Add the numbers in numbers.txt with the memo server.'],
  model: [
    always(call('read_file', { file_path: 'numbers.txt' })),
    (seen) => {
      const [a, b] = outputOf(seen).trim().split(' ').map(Number);
      return [call(seen.tools.find((name) => name.endsWith('add')) ?? '', { a: a ?? 0, b: b ?? 0 })];
    },
    (seen) => {
      expect(Object.keys(seen.results[0] ?? {}).length).toBeGreaterThan(1);
      return [say(`Together: ${pick(JSON.stringify(seen.results[0]), /(\d+)/)}`)];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('Together: 42');
  },
};

export const customCommand: Task = {
  name: 'custom-command',
  what: 'do what a custom command of the project asks for',
  files: {
    '.gemini/commands/doc/header.toml':
      'description = "Add a header"\nprompt = """Put the line `%% {{args}}` on top of every file below.\n@{src}"""\n',
    'src/a.tex': 'Hello\n',
    'src/old/.gitignore': '*\n',
    'src/old/a.tex': 'Goodbye\n',
  },
  env: TRUSTED,
  may: 'edit',
  // A caller's prompt is text: no command is looked for in it.
  ways: ['one-shot', 'chat'],
  prompts: ['/doc:header Draft of May'],
  model: [
    ({ text }) => {
      expect(text).toContain('Put the line `%% Draft of May` on top');
      expect(text).toContain('=== src/a.tex ===\nHello');
      expect(text).not.toContain('Goodbye');
      return [call('read_file', { file_path: 'src/a.tex' })];
    },
    (seen) => [
      call('edit_file', { file_path: 'src/a.tex', old_string: outputOf(seen), new_string: '%% Draft of May\nHello' }),
    ],
    always(say('One file has it now.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('src/a.tex')).toBe('%% Draft of May\nHello\n');
  },
};
