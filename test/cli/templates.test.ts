import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const REVIEW = `---
description: Review a change
focus: correctness
---
Review this with an eye on {{focus}}, in {{ language }}:

{{stdin}}
`;
const HOME = { '.gmn/templates/review.md': REVIEW };
const NAMES = ['commit', 'explain', 'fix', 'review', 'summarise'];

/** What reached the model as the prompt. */
async function promptOf(
  t: Parameters<typeof callGmn>[0],
  args: readonly string[],
  options: Parameters<typeof callGmn>[2] = {},
): Promise<unknown> {
  const gmn = await callGmn(t, args, { ...options, script: [reply('ok')] });
  expect(gmn).toMatchObject({ stdout: 'ok\n', stderr: '', exitCode: 0 });
  return gmn.requests[0]?.body.contents[0].parts[0].text;
}

async function refusal(
  t: Parameters<typeof callGmn>[0],
  args: readonly string[],
  options: Parameters<typeof callGmn>[2] = {},
): Promise<string> {
  const gmn = await callGmn(t, args, { ...options, gemini: await fakeGemini(t, []) });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  return gmn.stderr;
}

describe('a template', () => {
  test('is filled with parameters, its own defaults and stdin, each once', async (t) => {
    const args = ['--template', 'review', '--param', 'language={{focus}} @a.txt'];
    const options = { home: HOME, files: { 'a.txt': 'secret' }, stdin: 'the {{diff}}\n' };
    expect(await promptOf(t, args, options)).toBe(
      'Review this with an eye on correctness, in {{focus}} @a.txt:\n\nthe {{diff}}\n',
    );
  });

  test('with a place for stdin is refused if that is empty', async (t) => {
    expect(await refusal(t, ['--template', 'review', '--param', 'language=x'], { home: HOME, stdin: '' })).toBe(
      'Error: the template review needs stdin, which was empty\nPipe something in: … | gmn --template <name>\n',
    );
  });

  test('that needs input has no value for {{needs}}; any other value of that name is one', async (t) => {
    const home = {
      '.gmn/templates/a.md': '---\nneeds: input\n---\n{{needs}}',
      '.gmn/templates/b.md': '---\nneeds: sugar\n---\nTea needs {{needs}}.',
    };
    const missing = 'Error: the template a needs "needs"\nAdd it: --param needs=…\n';
    expect(await refusal(t, ['--template', 'a', 'tea'], { home })).toBe(missing);
    expect(await promptOf(t, ['--template', 'b'], { home })).toBe('Tea needs sugar.');
  });

  test('gets the words in their place, or at its end', async (t) => {
    const home = { '.gmn/templates/a.md': 'Explain {{prompt}} simply.', '.gmn/templates/b.md': 'Be brief.' };
    expect(await promptOf(t, ['--template', 'a', 'what', 'DNS', 'is'], { home })).toBe('Explain what DNS is simply.');
    expect(await promptOf(t, ['--template', 'b', '-p', 'Why?'], { home })).toBe('Be brief.\n\nWhy?');
  });

  test('without a place for stdin has it in front, as every prompt', async (t) => {
    const home = { '.gmn/templates/b.md': 'Be brief.' };
    expect(await promptOf(t, ['--template', 'b'], { home, stdin: 'log' })).toBe('log\n\nBe brief.');
  });

  test('may be a file, in a namespace, or a command of the official CLI', async (t) => {
    expect(await promptOf(t, ['--template', './x.md'], { files: { 'x.md': 'From a file.\n' } })).toBe('From a file.');
    const home = { '.gmn/templates/git/log.md': 'Log.', '.gemini/commands/git/fix.toml': 'prompt = "Fix {{args}}."' };
    expect(await promptOf(t, ['--template', 'git:log'], { home })).toBe('Log.');
    expect(await promptOf(t, ['--template', 'git/fix', 'it'], { home })).toBe('Fix it.');
  });

  test('of the folder counts once the folder is trusted, before the user’s own', async (t) => {
    const options = {
      home: HOME,
      files: { '.gmn/templates/review.md': "The folder's.", '.gmn/templates/own.md': 'O' },
    };
    const args = ['--template', 'review', '--param', 'language=English', '-o', 'json'];
    const at = place(t, { ...options, gemini: await fakeGemini(t, [reply('a'), reply('b')]) });
    expect((await callGmnIn(t, at, args, 'x')).exitCode).toBe(0);
    const refused = await callGmnIn(t, at, ['--template', 'own']);
    expect(refused.stderr).toBe(`Error: ${join(at.cwd, '.gmn/templates/own.md')} is not used: this folder is not trusted
To trust the folder, run: gmn trust
`);
    await callGmnIn(t, at, ['trust']);
    expect((await callGmnIn(t, at, ['--template', 'own'])).exitCode).toBe(0);
  });
});

describe('a mistake is reported before anything is sent:', () => {
  test.for([
    [['--template', 'reviw'], 'Error: there is no template "reviw"\nDid you mean review?\n'],
    [
      ['--template', 'review', '--param', 'speed=1'],
      'Error: the template review has no parameter "speed"\nIt has: focus, language\n',
    ],
    [['--template', 'review'], 'Error: the template review needs "language"\nAdd it: --param language=…\n'],
    [['--param', 'a=b', 'x'], 'Error: --param needs --template\nExample: --template review --param focus=speed\n'],
    [
      ['--template', 'review', '--param', 'x'],
      'Error: --param: "x" is not name=value\nExample: --param language=Japanese\n',
    ],
    [['--template', 'cmd', '--param', 'x=1'], 'Error: the template cmd has no parameter "x"\nIt has none.\n'],
  ] as const)('%j', async ([args, words], t) => {
    const home = { ...HOME, '.gemini/commands/cmd.toml': 'prompt = "p"' };
    expect(await refusal(t, args, { home, stdin: 'x' })).toBe(words);
  });

  test('no stdin', async (t) => {
    expect(await refusal(t, ['--template', 'review', '--param', 'language=x'], { home: HOME })).toBe(
      'Error: the template review needs stdin\nPipe something in: … | gmn --template <name>\n',
    );
  });

  test('a file that is no template is exit 4', async (t) => {
    const home = { '.gemini/commands/bad.toml': 'description = "x"\nprompt = "open' };
    const gmn = await callGmn(t, ['--template', 'bad', '-o', 'json'], { home, script: [] });
    expect(gmn.exitCode).toBe(4);
    expect(JSON.parse(gmn.stdout).error.message).toMatch(/bad\.toml:2: unfinished string$/);
  });
});

describe('a command of the official CLI', () => {
  const COMMAND = {
    '.gemini/commands/c.toml': 'prompt = """Style: @{STYLE.md}\nSays: !{echo "{braces}" {{args}}}\n{{args}}"""',
  };
  const files = { 'STYLE.md': 'Use {{args}} !{never} const.' };

  posixTest('puts in files, and the output of commands that were approved', async (t) => {
    const args = ['--template', 'c', '--allowed-tools', 'run_shell_command', "it's $(id) @{x}"];
    expect(await promptOf(t, args, { home: COMMAND, files })).toBe(
      "Style: Use {{args}} !{never} const.\nSays: {braces} it's $(id) @{x}\nit's $(id) @{x}",
    );
  });

  posixTest.for([
    `$'"; echo INJECTED #`,
    "$& $` $' $$ $1",
    "'; echo INJECTED; '",
    'a\\nb # c',
    '`echo INJECTED` $(echo INJECTED) \\\\',
  ])('hands a command the words as one word, whatever they are: %j', async (words, t) => {
    const home = { '.gemini/commands/w.toml': `prompt = '''!{printf %s "<" {{args}} ">"}'''` };
    const args = ['--template', 'w', '--allowed-tools', 'run_shell_command', words];
    expect(await promptOf(t, args, { home })).toBe(`<${words}>`);
  });

  posixTest.for([
    `echo "{{args}}"`,
    `echo '{{args}}'`,
    `echo "$(grep {{args}} a)"`,
    `echo "$(grep "{{args}}" a)"`,
    'echo `grep {{args}} a`',
    'echo \\{{args}}',
    `echo \${{args}}`,
    'echo $(({{args}}))',
    'true # {{args}}',
    'cat <<END\n{{args}}\nEND',
    `echo "a\\" {{args}}"`,
  ])('refuses words where quoting them would not hold: %j', async (command, t) => {
    const home = { '.gemini/commands/w.toml': `prompt = '''!{${command}}'''` };
    expect(await refusal(t, ['--template', 'w', '--yolo', 'x'], { home })).toBe(
      `Error: the template w puts {{args}} inside quotes, a comment or similar in a command, where they could end it
gmn quotes the words by itself. Write {{args}} as a word of its own in !{…}, for example: !{grep -n {{args}} notes.txt}
`,
    );
  });

  posixTest('takes words beside quotes that are closed, and marks that begin no comment', async (t) => {
    const command = `x='a "b'; printf '%s|' "it's $x" {{args}} \\# a#{{args}} $(printf %s {{args}}) "#"`;
    const home = { '.gemini/commands/w.toml': `prompt = '''!{${command}}'''` };
    const args = ['--template', 'w', '--yolo', "o'k"];
    expect(await promptOf(t, args, { home })).toBe(`it's a "b|o'k|#|a#o'k|o'k|#|`);
  });

  posixTest('tells how a command failed', async (t) => {
    const home = { '.gemini/commands/f.toml': "prompt = '!{echo no; exit 3}'" };
    expect(await promptOf(t, ['--template', 'f', '--yolo'], { home })).toBe('no\n[exit code 3]');
  });

  test('runs no command that nobody approved, in any shell', async (t) => {
    const home = { '.gemini/commands/c.toml': "prompt = '!{echo x>hacked}'" };
    expect(await refusal(t, ['--template', 'c'], { home })).toContain('which nobody approved: echo x>hacked\n');
  });

  posixTest('runs nothing with words in it that nobody approved', async (t) => {
    expect(await refusal(t, ['--template', 'c', 'x'], { home: COMMAND, files })).toBe(
      `Error: the template wants to run a command, which nobody approved: echo "{braces}" 'x'
If you want it to run, add: --allowed-tools run_shell_command
`,
    );
  });

  posixTest('asks on a terminal, showing what would run', async (t) => {
    const home = { '.gemini/commands/q.toml': "prompt = 'Got !{echo 1}'" };
    const gemini = await fakeGemini(t, [reply('ok')]);
    const terminal = runInTerminal(t, ['--template', 'q'], { home, gemini });
    await terminal.until(/The template wants to run this in [^╰]+\r\n│ echo 1\r\n╰ \[y\]es \[N\]o › $/);
    terminal.type('y');
    expect((await terminal.ended).exitCode).toBe(0);
    expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: 'Got 1' }]);
    const denied = runInTerminal(t, ['--template', 'q'], { home, gemini: await fakeGemini(t, []) });
    await denied.until(/╰ \[y\]es \[N\]o › $/);
    denied.type('n');
    expect((await denied.ended).exitCode).toBe(1);
  });

  posixTest('counts the blanks of a padded command, which needs all of it seen', async (t) => {
    const command = `echo 1${' '.repeat(3000)}; echo 2\n${':\n'.repeat(40)}echo 3`;
    const home = { '.gemini/commands/q.toml': `prompt = '''Got !{${command}}'''` };
    const gemini = await fakeGemini(t, [reply('ok')]);
    const terminal = runInTerminal(t, ['--template', 'q'], { home, gemini });
    await terminal.until(
      /│ echo 1⟨3000 spaces⟩; echo 2\r\n(?:│ :\r\n)+┆ \d+ more lines\r\n[\s\S]*│ echo 3\r\n╰ \[d\] all of it \[N\]o › $/,
    );
    terminal.type('y');
    await terminal.until(/This is not all of it\. See the rest first: d\r\n╰ \[d\] all of it \[N\]o › $/);
    terminal.type('d');
    await terminal.until(/(?:│ :\r\n){40}│ echo 3\r\n╰ \[y\]es \[N\]o › $/);
    terminal.type('y');
    expect((await terminal.ended).exitCode).toBe(0);
    expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: 'Got 1\n2\n3' }]);
  });

  test('the refusal of a padded command is short, and says how much it leaves out', async (t) => {
    const home = { '.gemini/commands/q.toml': `prompt = '''!{true${' '.repeat(3000)}; ${'x'.repeat(1000)}}'''` };
    expect(await refusal(t, ['--template', 'q'], { home })).toMatch(
      /nobody approved: true⟨3000 spaces⟩; x{181}… \(819 more characters\)\nIf you want it to run/,
    );
  });

  test.for([
    ['.env', 'may hold secrets'],
    ['.aws/config', 'may hold secrets'],
    ['private.txt', 'is left out by an ignore file'],
  ])('reads nothing that @path would not attach: %s', async ([path, why], t) => {
    const home = { '.gemini/commands/s.toml': `prompt = '@{${path}}'` };
    const files = { '.env': 'x', '.aws/config': 'x', 'private.txt': 'x', '.geminiignore': 'private.txt\n' };
    expect(await refusal(t, ['--template', 's'], { home, files })).toBe(
      `Error: the template wants ${path}, which ${why}\nIf you want it to be sent, add it yourself: -f <path>\n`,
    );
  });

  test('reads no file outside the working directory', async (t) => {
    const home = { '.gemini/commands/o.toml': "prompt = '@{../home/key}'", key: 'secret' };
    expect(await refusal(t, ['--template', 'o'], { home })).toBe(
      `Error: the template wants ../home/key, which is outside the working directory
If you want it to be sent, add it yourself: -f <path>
`,
    );
  });
});

describe('gmn templates', () => {
  const home = { ...HOME, '.gemini/commands/fix.toml': 'description = "直す"\nprompt = "Fix {{args}}"' };

  test('list names them, with what they are for', async (t) => {
    const at = place(t, { home });
    expect(await callGmnIn(t, at, ['templates', 'list'])).toMatchObject({
      stdout: `commit     Write a commit message for a diff        built-in
explain    Explain code, an error, a log or a word  built-in
fix        直す                                     ${join(at.home, '.gemini/commands/fix.toml')}
review     Review a change                          ${join(at.home, '.gmn/templates/review.md')}
summarise  Summarise a text, a log or a thread      built-in
`,
      stderr: '',
      exitCode: 0,
    });
    const json = await callGmnIn(t, at, ['templates', 'list', '--json']);
    const { templates } = JSON.parse(json.stdout);
    expect(templates.map(({ name }: { name: string }) => name)).toEqual(NAMES);
    expect(templates.slice(1, 4)).toEqual([
      {
        name: 'explain',
        description: 'Explain code, an error, a log or a word',
        kind: 'markdown',
        file: 'built-in',
        source: 'built-in',
      },
      {
        name: 'fix',
        description: '直す',
        kind: 'command',
        file: join(at.home, '.gemini/commands/fix.toml'),
        source: 'user',
      },
      {
        name: 'review',
        description: 'Review a change',
        kind: 'markdown',
        file: join(at.home, '.gmn/templates/review.md'),
        source: 'user',
      },
    ]);
  });

  test('list says which folder is not trusted, and has none of its templates', async (t) => {
    const at = place(t, { files: { '.gmn/templates/a.md': 'a' } });
    expect(await callGmnIn(t, at, ['templates', 'list'])).toMatchObject({
      stdout: expect.not.stringContaining(at.cwd),
      stderr: `gmn: ${join(at.cwd, '.gmn/templates')} is not used: this folder is not trusted. To trust the folder, run: gmn trust\n`,
      exitCode: 0,
    });
  });

  test('show prints one as it is written', async (t) => {
    expect(await callGmn(t, ['templates', 'show', 'review'], { home })).toMatchObject({
      stdout: 'Review this with an eye on {{focus}}, in {{ language }}:\n\n{{stdin}}\n',
      exitCode: 0,
    });
    const json = await callGmn(t, ['templates', 'show', 'review', '--json'], { home });
    expect(JSON.parse(json.stdout)).toMatchObject({ name: 'review', defaults: { focus: 'correctness' } });
  });

  test('path names the places, the first that has one counting', async (t) => {
    const at = place(t, { files: { '.gemini/commands/a.toml': 'prompt = "a"' } });
    expect((await callGmnIn(t, at, ['templates', 'path'])).stdout).toBe(
      `${join(at.cwd, '.gemini/commands')} (this folder is not trusted)
${join(at.home, '.gmn/templates')}
${join(at.home, '.gemini/commands')}
`,
    );
  });
});

describe('a template that gmn comes with', () => {
  test.for(NAMES)('%s without anything to work on is refused before it costs', async (name, t) => {
    const error = `Error: the template ${name} needs input, and there is none\n`;
    expect(await refusal(t, ['--template', name])).toContain(error);
    expect(await refusal(t, [`/${name}`], { stdin: '' })).toContain(error);
    expect(await refusal(t, ['--template', name, ''], { stdin: '' })).toContain(error);
    const at = place(t, { gemini: await fakeGemini(t, [reply('a'), reply('b')]), files: { 'a.txt': 'x' } });
    for (const args of [
      ['-f', 'a.txt'],
      ['--tools', 'read'],
    ]) {
      expect(await callGmnIn(t, at, ['--template', name, ...args])).toMatchObject({ exitCode: 0 });
    }
  });

  test.for(NAMES)('%s takes a pipe, and words in their place', async (name, t) => {
    const prompt = String(await promptOf(t, ['--template', name, 'the', 'words'], { stdin: 'piped text' }));
    expect(prompt.startsWith('piped text\n\n')).toBe(true);
    expect(prompt).toContain('the words');
    expect(prompt).not.toMatch(/\{\{|\n\n\n/);
  });

  test('answers with the offline model, and gives way to one of yours', async (t) => {
    for (const name of NAMES) {
      const { stdout, stderr, exitCode } = await callGmn(t, ['--demo', '--template', name], { stdin: 'a diff' });
      expect([stderr, exitCode]).toEqual(['', 0]);
      expect(stdout).not.toMatch(/^demo: /);
    }
    const home = { '.gmn/templates/review.md': 'My own way.' };
    expect((await callGmn(t, ['--demo', '--template', 'review'], { home })).stdout).toBe('demo: My own way.\n');
  });

  test('has values that can be changed', async (t) => {
    const args = ['--template', 'review', '--param', 'language=Japanese', '--param', 'focus=speed'];
    expect(await promptOf(t, args, { stdin: 'x' })).toMatch(/most: speed\.[\s\S]*Write in Japanese\./);
  });
});

const editor = (script: string) => ({ VISUAL: `sh -c '${script}' edit`, NO_COLOR: '1' });

describe('gmn templates new', () => {
  posixTest('opens the editor on a skeleton, and saves what becomes of it', async (t) => {
    const options = { env: editor('sed -i "s/^Write.*/Say {{prompt}} twice./" "$1"') };
    const at = place(t, options);
    const { output, exitCode } = await runInTerminal(t, ['templates', 'new', 'say:it'], { ...options, at }).ended;
    const file = join(at.home, '.gmn/templates/say/it.md');
    expect([output.replaceAll('\r', ''), exitCode]).toEqual([`Saved ${file}\nTo use it: gmn --template say:it\n`, 0]);
    expect(readFileSync(file, 'utf8')).toMatch(/^---\n# A template[\s\S]*\n---\nSay \{\{prompt\}\} twice\.\n$/);
    const used = await callGmnIn(t, at, ['--demo', '--template', 'say:it', 'hi']);
    expect(used.stdout).toBe('demo: Say hi twice.\n');
    const again = await callGmnIn(t, at, ['templates', 'new', 'say/it']);
    expect(again.stderr).toBe(
      `Error: you have a template "say:it" already: ${file}\nEdit that file, or choose another name.\n`,
    );
  });

  posixTest('begins with the built-in one of that name, and saves nothing that is left as it was', async (t) => {
    const options = { env: editor('cp "$1" seen') };
    const at = place(t, options);
    const { output, exitCode } = await runInTerminal(t, ['templates', 'new', 'review'], { ...options, at }).ended;
    expect([output.replaceAll('\r', ''), exitCode]).toEqual([
      'The template was left as it was: nothing is saved.\n',
      130,
    ]);
    expect(readFileSync(join(at.cwd, 'seen'), 'utf8')).toMatch(/^---\ndescription: Review a change\n/);
  });

  test('without a terminal saves the skeleton; a name that leads elsewhere is refused', async (t) => {
    const at = place(t);
    const { stdout } = await callGmnIn(t, at, ['templates', 'new', 'notes', '--json']);
    expect(JSON.parse(stdout)).toEqual({ name: 'notes', file: join(at.home, '.gmn/templates/notes.md') });
    const again = await callGmnIn(t, at, ['templates', 'new', 'notes.md']);
    expect(again.stderr).toMatch(/^Error: you have a template "notes" already/);
    for (const name of ['../x', '/etc/x', 'a//b', '.x', 'a:b:c:d:e']) {
      expect((await callGmnIn(t, at, ['templates', 'new', name])).stderr).toMatch(/templates new takes one name/);
    }
  });
});

describe('--editor', () => {
  posixTest('sends what the person makes of the words', async (t) => {
    const gemini = await fakeGemini(t, [reply('ok')]);
    const env = editor('echo "and more" >> "$1"');
    const { exitCode } = await runInTerminal(t, ['-q', '--editor', 'Words'], { gemini, env }).ended;
    expect(exitCode).toBe(0);
    expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: 'Wordsand more' }]);
  });

  posixTest('opens a filled template', async (t) => {
    const gemini = await fakeGemini(t, [reply('ok')]);
    const home = { '.gmn/templates/a.md': 'Explain {{prompt}}' };
    const env = editor('sed -i s/Explain/Describe/ "$1"');
    await runInTerminal(t, ['--template', 'a', '--editor', 'DNS'], { gemini, env, home }).ended;
    expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: 'Describe DNS' }]);
  });

  posixTest('left empty cancels the run, left with an error is reported', async (t) => {
    const empty = await runInTerminal(t, ['--demo', '--editor'], { env: editor('true') }).ended;
    expect({ ...empty, output: empty.output.replaceAll('\r', '') }).toEqual({
      exitCode: 130,
      output: 'The prompt was left empty: nothing was sent.\n',
    });
    const failed = await runInTerminal(t, ['--demo', '--editor'], { env: editor('exit 1') }).ended;
    expect(failed.exitCode).toBe(1);
    expect(failed.output).toContain('Error: the editor could not be started, or failed');
  });
});
