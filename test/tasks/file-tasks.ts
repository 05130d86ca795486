import { expect } from 'vitest';
import { call } from '../support/gemini.ts';
import { always, errorOf, foundIn, outputOf, pick, say, succeed, type Task, TRUSTED } from './task.ts';

export const renameAcrossFiles: Task = {
  name: 'rename-across-files',
  what: 'rename a function wherever it is used',
  files: {
    'src/a.ts': 'export function getUser(id: string) {\n  return id;\n}\n',
    'src/b.ts': "import { getUser } from './a';\ngetUser('1');\ngetUser('2');\n",
    'src/deep/c.ts': "import { getUser } from '../a';\nexport const user = getUser('3');\n",
    'docs/api.md': '# getUser\n\nCall `getUser`.\n',
    'src/other.ts': 'export const forgetUsers = 1;\n',
  },
  may: 'edit',
  prompts: ['Rename getUser to findUser everywhere.'],
  model: [
    always(call('search_file_content', { pattern: '\\bgetUser\\b', names_only: true })),
    (seen) =>
      outputOf(seen)
        .split(/["\n]/)
        .filter((name) => /\.(?:ts|md)$/.test(name))
        .map((path) => call('read_file', { file_path: path })),
    (seen) => {
      expect(seen.results).toHaveLength(4);
      return ['src/a.ts', 'src/b.ts', 'src/deep/c.ts', 'docs/api.md'].map((path) =>
        call('edit_file', { file_path: path, old_string: 'getUser', new_string: 'findUser', allow_multiple: true }),
      );
    },
    always(call('search_file_content', { pattern: '\\bgetUser\\b' })),
    (seen) => [say(foundIn(seen).length === 0 ? 'Renamed in 4 files, none is left.' : 'Some are left.')],
  ],
  check(end) {
    succeed(end);
    expect(end.file('src/b.ts')).toBe("import { findUser } from './a';\nfindUser('1');\nfindUser('2');\n");
    expect(end.file('src/deep/c.ts')).toContain("findUser('3')");
    expect(end.file('docs/api.md')).toBe('# findUser\n\nCall `findUser`.\n');
    expect(end.file('src/other.ts')).toContain('forgetUsers');
    expect(end.answer).toContain('none is left');
  },
};

const LOG = Array.from({ length: 5000 }, (_, index) =>
  index === 4321 ? '04322 ERROR disk full on /dev/sda1' : `${String(index + 1).padStart(5, '0')} INFO request served`,
);

export const readALargeLog: Task = {
  name: 'read-a-large-log',
  what: 'find what matters in a log that does not fit one read',
  files: { 'server.log': `${LOG.join('\n')}\n` },
  may: 'read',
  prompts: ['What went wrong in server.log, and what happened just before?'],
  model: [
    always(call('read_file', { file_path: 'server.log', end_line: 20 })),
    (seen) => {
      pick(outputOf(seen), /\[lines 1 to 20 of (\d+|more); to continue/);
      return [call('search_file_content', { pattern: 'ERROR', include_pattern: '*.log', case_sensitive: true })];
    },
    (seen) => {
      const line = Number(pick(outputOf(seen), /(\d+): \d+ ERROR/));
      return [call('read_file', { file_path: 'server.log', start_line: line - 2, end_line: line + 1 })];
    },
    (seen) => [say(`The disk was full: ${pick(outputOf(seen), /(\d+ ERROR .*)/)}; before it, requests were served.`)],
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('04322 ERROR disk full on /dev/sda1;');
  },
};

export const followNestedAgents: Task = {
  name: 'follow-a-nested-agents-md',
  what: 'follow the AGENTS.md of the directory at hand',
  files: {
    'AGENTS.md': 'Answer in one sentence.\n',
    'api/AGENTS.md': 'Every file of this directory begins with `// api: public`.\n',
    'api/users.js': '// api: public\nexport const users = [];\n',
  },
  env: TRUSTED,
  may: 'edit',
  prompts: ['Add api/teams.js, like users.js.'],
  model: [
    (seen) => {
      expect(seen.system).toContain('Answer in one sentence.');
      expect(seen.system).not.toContain('// api: public');
      return [call('read_file', { file_path: 'api/users.js' })];
    },
    ({ results: [result] }) => {
      const rule = pick(JSON.stringify(result?.context_files), /begins with `(.*?)`/);
      return [
        call('write_file', { file_path: 'api/teams.js', content: `${rule}\nexport const teams = [];\n` }),
        call('list_directory', { dir_path: 'api' }),
      ];
    },
    (seen) => {
      // They come once.
      expect(JSON.stringify(seen.results)).not.toContain('context_files');
      return [say('api/teams.js is there, with the line that api/AGENTS.md asks for.')];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.file('api/teams.js')).toBe('// api: public\nexport const teams = [];\n');
  },
};

export const recoverFromAFailedEdit: Task = {
  name: 'recover-from-a-failed-edit',
  what: 'correct an edit whose text was not found',
  files: { 'config.yml': 'server:\n  port: 8080\n  host: localhost\nadmin:\n  port: 8080\n' },
  may: 'edit',
  prompts: ['The server should listen on port 9090; leave the admin port alone.'],
  model: [
    always(call('read_file', { file_path: 'config.yml' })),
    always(call('edit_file', { file_path: 'config.yml', old_string: 'port = 8080', new_string: 'port = 9090' })),
    (seen) => {
      pick(errorOf(seen), /(not found)/);
      return [call('edit_file', { file_path: 'config.yml', old_string: 'port: 8080', new_string: 'port: 9090' })];
    },
    (seen) => {
      pick(errorOf(seen), /(2 (?:places|times)|twice|more than once)/);
      return [
        call('edit_file', {
          file_path: 'config.yml',
          old_string: 'server:\n  port: 8080',
          new_string: 'server:\n  port: 9090',
        }),
      ];
    },
    (seen) => {
      outputOf(seen);
      return [say('The server listens on 9090 now.')];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.file('config.yml')).toBe('server:\n  port: 9090\n  host: localhost\nadmin:\n  port: 8080\n');
  },
};

export const severalEditsAtOnce: Task = {
  name: 'several-edits-in-one-call',
  what: 'make several changes to one file, all or none',
  files: { 'app.py': 'import os\n\nDEBUG = True\nRETRIES = 1\n\ndef run():\n    print("run")\n' },
  may: 'edit',
  prompts: ['Turn DEBUG off, retry 3 times, and drop the unused import.'],
  model: [
    always(call('read_file', { file_path: 'app.py' })),
    // The last of them cannot be made, so none is.
    always(
      call('edit_file', {
        file_path: 'app.py',
        edits: [
          { old_string: 'DEBUG = True', new_string: 'DEBUG = False' },
          { old_string: 'import sys\n', new_string: '' },
        ],
      }),
      call('read_file', { file_path: 'app.py' }),
    ),
    (seen) => {
      pick(errorOf(seen), /(edit 2 of 2)/);
      expect(outputOf(seen, 1)).toContain('DEBUG = True');
      return [
        call('edit_file', {
          file_path: 'app.py',
          edits: [
            { old_string: 'DEBUG = True', new_string: 'DEBUG = False' },
            { old_string: 'RETRIES = 1', new_string: 'RETRIES = 3' },
            { old_string: 'import os\n\n', new_string: '' },
          ],
        }),
      ];
    },
    always(say('Three changes in app.py.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('app.py')).toBe('DEBUG = False\nRETRIES = 3\n\ndef run():\n    print("run")\n');
  },
};

export const parallelReads: Task = {
  name: 'parallel-reads',
  what: 'read several files in one turn, and answer from all of them',
  files: Object.fromEntries([3, 5, 7, 11].map((count, index) => [`part${index + 1}.txt`, `count: ${count}\n`])),
  may: 'read',
  prompts: ['What do the counts in the part files add up to?'],
  model: [
    always(call('glob', { pattern: 'part*.txt' })),
    (seen) => (outputOf(seen).match(/part\d\.txt/g) ?? []).map((path) => call('read_file', { file_path: path })),
    (seen) => {
      const counts = seen.results.map((_, index) => Number(pick(outputOf(seen, index), /count: (\d+)/)));
      return [say(`${counts.join(' + ')} = ${counts.reduce((sum, count) => sum + count, 0)}`)];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.answer.trim()).toBe('3 + 5 + 7 + 11 = 26');
  },
};

export const deniedCall: Task = {
  name: 'denied-call',
  what: 'respect a refusal: nobody is there to approve a change',
  files: { 'notes.txt': 'old\n' },
  may: 'read',
  prompts: ['Replace old by new in notes.txt.'],
  model: [
    always(call('read_file', { file_path: 'notes.txt' })),
    always(call('edit_file', { file_path: 'notes.txt', old_string: 'old', new_string: 'new' })),
    (seen) => {
      errorOf(seen);
      return [say('I was not allowed to change notes.txt: line 1 should say new.')];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.file('notes.txt')).toBe('old\n');
    expect(end.notices).toMatch(/edit_file/);
  },
};

function todos(...statuses: readonly string[]) {
  const steps = ['read the page', 'correct the year', 'correct the name'];
  return call('write_todos', {
    todos: steps.map((description, index) => ({ description, status: statuses[index] ?? 'pending' })),
  });
}

export const todoList: Task = {
  name: 'todo-list',
  what: 'keep a list of steps',
  files: { 'page.md': '# Hanako\n\n2019, Osaka\n' },
  may: 'edit',
  prompts: ['In page.md the year is 2020 and the name is Haruka.'],
  model: [
    always(todos('in_progress'), call('read_file', { file_path: 'page.md' })),
    (seen) => {
      pick(outputOf(seen), /(0 of 3 done)/);
      return [
        todos('completed', 'in_progress'),
        call('edit_file', { file_path: 'page.md', old_string: '2019', new_string: '2020' }),
      ];
    },
    always(
      todos('completed', 'completed', 'in_progress'),
      call('edit_file', { file_path: 'page.md', old_string: 'Hanako', new_string: 'Haruka' }),
    ),
    always(todos('completed', 'completed', 'completed')),
    (seen) => [say(`Done: ${pick(outputOf(seen), /(3 of 3) done/)}.`)],
  ],
  check(end) {
    succeed(end);
    expect(end.file('page.md')).toBe('# Haruka\n\n2020, Osaka\n');
    expect(end.answer).toContain('3 of 3');
  },
};

export const searchThenEdit: Task = {
  name: 'search-then-edit',
  what: 'find the one place among many files, and change it',
  files: {
    ...Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`modules/m${index}/settings.ini`, `[m${index}]\ntimeout = ${index}\n`]),
    ),
    'modules/m23/settings.ini': '[m23]\ntimeout = 23\nretry_limit = 5\n',
    'node_modules/x/settings.ini': 'retry_limit = 5\n',
  },
  may: 'edit',
  prompts: ['Set the retry limit to 9.'],
  model: [
    always(call('search_file_content', { pattern: 'retry.?limit', context: 2 })),
    (seen) => {
      expect(foundIn(seen)).toHaveLength(1);
      return foundIn(seen).map((path) => call('read_file', { file_path: path }));
    },
    (seen) => [
      call('edit_file', {
        file_path: 'modules/m23/settings.ini',
        old_string: pick(outputOf(seen), /(retry_limit = \d+)/),
        new_string: 'retry_limit = 9',
      }),
    ],
    always(say('modules/m23/settings.ini:3 says 9 now.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('modules/m23/settings.ini')).toBe('[m23]\ntimeout = 23\nretry_limit = 9\n');
    expect(end.file('node_modules/x/settings.ini')).toBe('retry_limit = 5\n');
  },
};

export const outsideTheFence: Task = {
  name: 'outside-the-fence',
  what: 'be refused a file outside of the workspace, and go on without it',
  files: { 'inside.txt': 'inside\n', '.git/config': '[core]\n' },
  home: { 'private.txt': 'canary-of-the-home\n' },
  may: 'edit',
  prompts: ['Compare inside.txt with ../home/private.txt.'],
  model: [
    always(
      call('read_file', { file_path: '../home/private.txt' }),
      call('read_file', { file_path: 'inside.txt' }),
      call('write_file', { file_path: '../stolen.txt', content: 'x' }),
      call('write_file', { file_path: '.git/hooks/pre-commit', content: 'x' }),
    ),
    (seen) => {
      expect(JSON.stringify(seen.results)).not.toContain('canary');
      expect([errorOf(seen, 0), errorOf(seen, 2), errorOf(seen, 3)]).toHaveLength(3);
      return [say(`I can see only inside.txt, which says: ${outputOf(seen, 1).trim()}.`)];
    },
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('which says: inside.');
    expect(end.file('../stolen.txt')).toBeUndefined();
    expect(end.file('.git/hooks/pre-commit')).toBeUndefined();
  },
};

export const japaneseText: Task = {
  name: 'japanese-text',
  what: 'work in Japanese: names, contents and answer',
  files: { '文書/挨拶.txt': 'こんにちは、世界。\n今日は良い天気です。\n', '文書/別れ.txt': 'さようなら。\n' },
  may: 'edit',
  prompts: ['「世界」を「みなさん」に変えてください。'],
  model: [
    always(call('search_file_content', { pattern: '世界' })),
    (seen) => foundIn(seen).map((path) => call('read_file', { file_path: path })),
    always(call('edit_file', { file_path: '文書/挨拶.txt', old_string: '世界', new_string: 'みなさん👩‍👩‍👧' })),
    always(say('文書/挨拶.txt の「世界」を「みなさん」に変えました。')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('文書/挨拶.txt')).toBe('こんにちは、みなさん👩‍👩‍👧。\n今日は良い天気です。\n');
    expect(end.answer).toContain('変えました。');
  },
};

export const retryAfter503: Task = {
  name: 'retry-after-503',
  what: 'go on when the service is overloaded for a moment',
  files: { 'a.txt': 'one\n' },
  may: 'edit',
  prompts: ['Make a.txt say two.'],
  model: [
    always(call('read_file', { file_path: 'a.txt' })),
    () => ({ status: 503 }),
    always(call('edit_file', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })),
    () => ({ status: 503 }),
    () => ({ status: 503 }),
    always(say('It says two.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('a.txt')).toBe('two\n');
    expect(end.answer.trim()).toBe('It says two.');
  },
};

export const resumed: Task = {
  name: 'resume',
  what: 'continue a task in another process, with all that was said and read',
  files: { 'todo.txt': '1. buy milk\n2. buy bread\n', '.git/HEAD': 'ref: refs/heads/main\n' },
  may: 'edit',
  prompts: ['What is on my list?', 'I have the milk: strike it out.'],
  model: [
    always(call('read_file', { file_path: 'todo.txt' })),
    (seen) => [say(`Milk and bread (${outputOf(seen).length} characters).`)],
    // It was read by another process, whose session this is; but that was then.
    always(call('edit_file', { file_path: 'todo.txt', old_string: '1. buy milk', new_string: '1. ~~buy milk~~' })),
    (seen) => (seen.results[0]?.error === undefined ? [say('Done.')] : [call('read_file', { file_path: 'todo.txt' })]),
    (seen) => {
      outputOf(seen);
      return [call('edit_file', { file_path: 'todo.txt', old_string: '1. buy milk', new_string: '1. ~~buy milk~~' })];
    },
    always(say('Struck out.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('todo.txt')).toBe('1. ~~buy milk~~\n2. buy bread\n');
  },
};

export const scaffold: Task = {
  name: 'make-a-module',
  what: 'make several new files and directories in one turn',
  files: { 'README.md': '# Tools\n' },
  may: 'edit',
  prompts: ['Make a package "clock" in packages/ with an index and a README, and name it in the main README.'],
  model: [
    always(call('list_directory', { dir_path: '.' }), call('read_file', { file_path: 'README.md' })),
    always(
      call('write_file', { file_path: 'packages/clock/index.js', content: 'export const now = () => Date.now();\n' }),
      call('write_file', { file_path: 'packages/clock/README.md', content: '# clock\n' }),
      call('edit_file', { file_path: 'README.md', old_string: '# Tools\n', new_string: '# Tools\n\n- clock\n' }),
    ),
    always(call('glob', { pattern: 'packages/**/*' })),
    (seen) => [say(`${(outputOf(seen).match(/packages\/clock\/\w+\.\w+/g) ?? []).join(', ')}`)],
  ],
  check(end) {
    succeed(end);
    expect(end.answer).toContain('packages/clock/README.md, packages/clock/index.js');
    expect(end.file('README.md')).toBe('# Tools\n\n- clock\n');
  },
};

export const overwrite: Task = {
  name: 'overwrite-what-was-not-read',
  what: 'be told to read a file before it is overwritten, and do so',
  files: { 'data.csv': 'name,age\nAda,36\n' },
  may: 'edit',
  prompts: ['Sort data.csv and add Bob, 41.'],
  model: [
    always(call('write_file', { file_path: 'data.csv', content: 'name,age\nBob,41\n' })),
    (seen) => {
      pick(errorOf(seen), /(read)/);
      return [call('read_file', { file_path: 'data.csv' })];
    },
    (seen) => [call('write_file', { file_path: 'data.csv', content: `${outputOf(seen).trimEnd()}\nBob,41\n` })],
    always(say('Bob is in.')),
  ],
  check(end) {
    succeed(end);
    expect(end.file('data.csv')).toBe('name,age\nAda,36\nBob,41\n');
  },
};
