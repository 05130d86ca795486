import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { call, failure, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, gmnCommand, place } from '../support/gmn.ts';
import { posixTest, systemMode } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const NO_SESSION = { GMN_NO_SESSION: '1' };
const TWO = reply('First:\n```sh\necho 1\n```\n', 'then:\n```js\nlog(2);\n```\nDone.');

describe('-x', () => {
  test('prints only the first code block', async (t) => {
    const gmn = await callGmn(t, ['-x', 'x'], { gemini: await fakeGemini(t, [TWO]) });
    expect(gmn).toMatchObject({ stdout: 'echo 1\n', stderr: '', exitCode: 0 });
  });

  test('--extract-last prints only the last one', async (t) => {
    const gmn = await callGmn(t, ['--extract-last', 'x'], { gemini: await fakeGemini(t, [TWO]) });
    expect(gmn).toMatchObject({ stdout: 'log(2);\n', stderr: '', exitCode: 0 });
  });

  test('adds the block to the object in json', async (t) => {
    expect(await callGmn(t, ['--demo', '-x', '-o', 'json', 'bash script that prints the date'])).toMatchObject({
      stdout: `{
  "model": "gemini-2.5-flash",
  "response": "\`\`\`bash\\ndate '+%F'\\n\`\`\`",
  "extracted": "date '+%F'\\n",
  "usage": {
    "promptTokenCount": 9,
    "candidatesTokenCount": 14,
    "totalTokenCount": 23
  },
  "finishReason": "STOP"
}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('adds the block to done in stream-json', async (t) => {
    expect(await callGmn(t, ['--demo', '-x', '-o', 'stream-json', 'bash script that prints the date'])).toMatchObject({
      stdout: `{"type":"start","model":"gemini-2.5-flash"}
{"type":"content","text":"\`\`\`bash\\n"}
{"type":"content","text":"date '+%F'\\n"}
{"type":"content","text":"\`\`\`"}
{"type":"done","usage":{"promptTokenCount":9,"candidatesTokenCount":14,"totalTokenCount":23},"finishReason":"STOP","extracted":"date '+%F'\\n"}
`,
      stderr: '',
      exitCode: 0,
    });
  });

  test('of an answer without one is exit 1: stdout stays empty, stderr keeps what came', async (t) => {
    expect(await callGmn(t, ['--demo', '-x', 'Hello'])).toMatchObject({
      stdout: '',
      stderr: `Error: there is no code block in the answer
Ask for code in a fenced block, or leave -x out.
What the model said:
Hello! How can I help you today?
`,
      exitCode: 1,
    });
  });

  test.for(['json', 'stream-json'])('of an answer without one is an error with what came in %s', async (format, t) => {
    const gmn = await callGmn(t, ['--demo', '-x', '-o', format, 'Hello']);
    expect(gmn).toMatchObject({ stderr: '', exitCode: 1 });
    const lines = format === 'json' ? [gmn.stdout] : gmn.stdout.trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '').error).toEqual({
      code: 1,
      type: 'UsageError',
      message: 'there is no code block in the answer',
      suggestion: 'Ask for code in a fenced block, or leave -x out.',
      partialResponse: 'Hello! How can I help you today?',
    });
  });

  test('of an answer without one names the session that keeps it', async (t) => {
    const at = place(t, { gemini: await fakeGemini(t, [reply('no code')]) });
    const { error } = JSON.parse((await callGmnIn(t, at, ['-x', '-o', 'json', 'x'])).stdout);
    const shown = await callGmnIn(t, at, ['sessions', 'show', error.sessionId]);
    expect(shown.stdout).toContain('no code');
  });

  test('has its key in the gemini dialect, too', async (t) => {
    const flags = ['--demo', '-x', '-o', 'json', '--output-dialect', 'gemini', '--search'];
    const gmn = await callGmn(t, [...flags, 'bash script that prints the date']);
    expect(JSON.parse(gmn.stdout)).toMatchObject({
      response: "```bash\ndate '+%F'\n```",
      extracted: "date '+%F'\n",
      sources: [{ title: 'example.com', uri: 'https://example.com/' }],
    });
    const none = await callGmn(t, ['--demo', '--output-dialect', 'gemini', '-o', 'stream-json', '-x', 'Hello']);
    expect(JSON.parse(none.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'result',
      status: 'error',
      error: { code: 1, message: 'there is no code block in the answer' },
    });
  });

  test('looks only at what was said after the last tool', async (t) => {
    const made = call('read_file', { file_path: 'a.txt' });
    const gemini = await fakeGemini(t, [reply('```sh\nold\n```', made), reply('```sh\nnew\n```')]);
    const gmn = await callGmn(t, ['-x', '--tools', 'read', 'x'], { gemini, files: { 'a.txt': 'a' } });
    expect(gmn).toMatchObject({ stdout: 'new\n', stderr: '✓ read_file a.txt · 1 line\n', exitCode: 0 });
  });

  test('shows code as it is on a terminal, made harmless', async (t) => {
    const gemini = await fakeGemini(t, [reply('```md\n# **a** \u001b[31mb\n```')]);
    const { output } = await runInTerminal(t, ['-q', '-x', 'x'], { gemini }).ended;
    expect(output.replaceAll('\r', '')).toBe('# **a** b\n');
  });
});

describe('--output-file', () => {
  test('also writes the answer there, as a pipe would get it', async (t) => {
    const at = place(t);
    const gmn = await callGmnIn(t, at, ['--demo', '--output-file', 'a.txt', 'Hello']);
    expect(gmn).toMatchObject({
      stdout: 'Hello! How can I help you today?\n',
      stderr: 'gmn: wrote a.txt (33 bytes)\n',
      exitCode: 0,
    });
    expect(readFileSync(join(at.cwd, 'a.txt'), 'utf8')).toBe(gmn.stdout);
    expect(readdirSync(at.cwd)).toEqual(['a.txt']);
  });

  test.for(['json', 'stream-json'])('is a warning in %s', async (format, t) => {
    const at = place(t);
    const gmn = await callGmnIn(t, at, ['--demo', '--output-file', 'a.txt', '-o', format, 'Hello']);
    expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
    const last = format === 'json' ? gmn.stdout : (gmn.stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(JSON.parse(last).warnings).toEqual(['wrote a.txt (33 bytes)']);
    expect(readFileSync(join(at.cwd, 'a.txt'), 'utf8')).toBe('Hello! How can I help you today?\n');
  });

  test('keeps the old file if the run fails', async (t) => {
    const gemini = await fakeGemini(t, [failure(400, 'INVALID_ARGUMENT')]);
    const at = place(t, { gemini, files: { 'a.txt': 'old' } });
    const gmn = await callGmnIn(t, at, ['--output-file', 'a.txt', 'x']);
    expect(gmn.exitCode).toBe(3);
    expect(readFileSync(join(at.cwd, 'a.txt'), 'utf8')).toBe('old');
    expect(readdirSync(at.cwd)).toEqual(['a.txt']);
  });

  posixTest('replaces what a link leads to, and keeps its permissions', async (t) => {
    const at = place(t, { files: { 'run.sh': 'old' } });
    chmodSync(join(at.cwd, 'run.sh'), 0o755);
    symlinkSync('run.sh', join(at.cwd, 'link'));
    const gmn = await callGmnIn(t, at, ['--demo', '-q', '--output-file', 'link', 'Hello']);
    expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
    expect(readFileSync(join(at.cwd, 'run.sh'), 'utf8')).toBe(gmn.stdout);
    expect(statSync(join(at.cwd, 'run.sh')).mode & 0o777).toBe(systemMode(0o755));
    expect(readdirSync(at.cwd)).toEqual(['link', 'run.sh']);
  });

  posixTest.for([
    ['in', ['--output-file', 'link/out.md']],
    ['absolute', ['--output-file', 'out.md']],
    ['to the debug file', ['--debug-file', 'out.md']],
  ] as const)(
    'follows no link out of its directory (%s), and says so before anything is sent',
    async ([, flags], t) => {
      const gemini = await fakeGemini(t, []);
      const at = place(t, { gemini, home: { '.bashrc': 'mine\n' }, files: { 'link/a': '' } });
      symlinkSync(join(at.home, '.bashrc'), join(at.cwd, 'out.md'));
      symlinkSync('../../home/.bashrc', join(at.cwd, 'link', 'out.md'));
      const gmn = await callGmnIn(t, at, [...flags, 'x']);
      expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
      expect(gmn.stderr).toMatch(/: it is a link to \S+\/\.bashrc, outside of its directory\nName that place itself/);
      expect(readFileSync(join(at.home, '.bashrc'), 'utf8')).toBe('mine\n');
    },
  );

  test.for([
    ['--output-file', '-', 'x'],
    ['--debug-file', '-', 'x'],
    ['image', 'x', '--output-file', '-'],
    ['batch', 'in.jsonl', '--output-file', '-'],
  ])('makes no file with the name -: %j', async (args, t) => {
    const at = place(t, { gemini: await fakeGemini(t, []), files: { 'in.jsonl': '"x"\n' } });
    const gmn = await callGmnIn(t, at, args);
    expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
    expect(gmn.stderr).toContain('Error: cannot write -: this needs a file\n');
    expect(readdirSync(at.cwd)).toEqual(['in.jsonl']);
  });

  posixTest.for([['--output-file'], ['--debug-file']] as const)(
    'makes no file where a link leads that leads nowhere yet (%s)',
    async ([flag], t) => {
      const at = place(t, { gemini: await fakeGemini(t, []) });
      symlinkSync('../home/.bash_profile', join(at.cwd, 'out.md'));
      const gmn = await callGmnIn(t, at, [flag, 'out.md', 'x']);
      expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
      expect(gmn.stderr).toContain('cannot write out.md: it is a link that leads nowhere\nName that place itself');
      expect(existsSync(join(at.home, '.bash_profile'))).toBe(false);
    },
  );

  posixTest.for([
    ['a directory', ['--output-file', 'outd/.bashrc']],
    ['a directory on the way', ['--output-file', 'sub/outd/deep/new.md']],
    ['by the whole path', ['--output-file', '@/outd/new.md']],
    ['by another spelling of the working directory', ['--output-file', '@/../here/outd/new.md']],
    ['to the debug file', ['--debug-file', 'outd/trace.log']],
  ] as const)('follows no directory that is a link out of the working directory (%s)', async ([, flags], t) => {
    const gemini = await fakeGemini(t, []);
    const at = place(t, { gemini, home: { '.bashrc': 'mine\n', 'deep/a': '' }, files: { 'sub/a': '' } });
    symlinkSync(at.home, join(at.cwd, 'outd'));
    symlinkSync('../../home', join(at.cwd, 'sub', 'outd'));
    symlinkSync(at.cwd, join(at.cwd, '..', 'here'));
    const args = flags.map((word) => word.replace('@', at.cwd));
    const gmn = await callGmnIn(t, at, [...args, 'x']);
    expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
    expect(gmn.stderr).toMatch(
      /cannot write .*outd\S+: \S+\/outd is a link to \S+\/home, outside of the working directory\nName that place itself/,
    );
    expect([readFileSync(join(at.home, '.bashrc'), 'utf8'), readdirSync(join(at.home, 'deep'))]).toEqual([
      'mine\n',
      ['a'],
    ]);
    expect(readdirSync(at.home)).not.toContain('new.md');
    expect(readdirSync(at.home)).not.toContain('trace.log');
  });

  posixTest('follows a directory link that stays inside, and links of the path to a place elsewhere', async (t) => {
    const at = place(t, { home: { 'real/a': '' }, files: { 'kept/a': '', 'sub/a': '' } });
    symlinkSync('../kept', join(at.cwd, 'sub', 'link'));
    symlinkSync(join(at.home, 'real'), join(at.home, 'link'));
    symlinkSync(at.cwd, join(at.home, 'project'));
    const answers: string[] = [];
    for (const path of ['sub/link/out.md', join(at.home, 'link', 'out.md'), join(at.home, 'project', 'out.md')]) {
      const gmn = await callGmnIn(t, at, ['--demo', '-q', '--output-file', path, 'Hello']);
      expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
      answers.push(gmn.stdout);
    }
    const files = [join(at.cwd, 'kept', 'out.md'), join(at.home, 'real', 'out.md'), join(at.cwd, 'out.md')];
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(answers);
  });

  posixTest('writes to what a descriptor stands for', async (t) => {
    const at = place(t);
    const { stdout } = await callGmnIn(t, at, ['--demo', 'Hello']);
    const [program, args] = gmnCommand(['--demo', '-q', '--output-file', '/dev/stderr', 'Hello']);
    spawnSync('sh', ['-c', 'exec "$@" 2> err', 'sh', program, ...args], at);
    expect(readFileSync(join(at.cwd, 'err'), 'utf8')).toBe(stdout);
  });

  posixTest('gives a new file what the umask leaves, and writes to a device as such', async (t) => {
    const at = place(t);
    writeFileSync(join(at.cwd, 'usual'), '');
    await callGmnIn(t, at, ['--demo', '--output-file', 'new', 'Hello']);
    expect(statSync(join(at.cwd, 'new')).mode).toBe(statSync(join(at.cwd, 'usual')).mode);
    const gmn = await callGmnIn(t, at, ['--demo', '--output-file', '/dev/null', 'Hello']);
    expect(gmn).toMatchObject({ stderr: 'gmn: wrote /dev/null (33 bytes)\n', exitCode: 0 });
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  test.for([
    ['nowhere/a.txt', 'the directory does not exist\nCreate it, or name a file in a directory that exists.'],
    ['dir', 'it is a directory\nName a file in a directory that exists and that you may write to.'],
  ])('that cannot be written (%s) is refused before anything is sent', async ([path = '', why = ''], t) => {
    const at = place(t, { gemini: await fakeGemini(t, []) });
    mkdirSync(join(at.cwd, 'dir'));
    expect(await callGmnIn(t, at, ['--output-file', path, 'x'])).toMatchObject({
      stdout: '',
      stderr: `Error: cannot write ${path}: ${why}\n`,
      exitCode: 1,
    });
  });
});

describe('--copy', () => {
  posixTest('hands the answer to the clipboard program', async (t) => {
    const at = place(t);
    const bin = join(at.root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'wl-copy'), '#!/bin/sh\ncat > "$HOME/clipboard"\n', { mode: 0o755 });
    const env = { ...at.env, PATH: `${bin}:${at.env.PATH}`, WAYLAND_DISPLAY: 'wayland-0' };
    const gmn = await callGmnIn(t, { cwd: at.cwd, env }, [
      '--demo',
      '--copy',
      '-x',
      'bash script that prints the date',
    ]);
    expect(gmn).toMatchObject({ stdout: "date '+%F'\n", stderr: 'gmn: copied 11 B\n', exitCode: 0 });
    expect(readFileSync(join(at.home, 'clipboard'), 'utf8')).toBe("date '+%F'\n");
  });

  posixTest.for([
    [undefined, 'the clipboard needs the program wl-copy, which is not installed'],
    ['#!/bin/sh\nexit 3\n', 'the answer was not copied: wl-copy failed (exit code 3)'],
    ['#!/nowhere\n', 'the answer was not copied: wl-copy failed (ENOENT)'],
  ])('tells if the program fails, the answer shown: %j', async ([script, why], t) => {
    const at = place(t, { env: { WAYLAND_DISPLAY: 'wayland-0' } });
    if (script !== undefined) writeFileSync(join(at.home, 'wl-copy'), script, { mode: 0o755 });
    const env = { ...at.env, PATH: at.home };
    const gmn = await callGmnIn(t, { cwd: at.cwd, env }, ['--demo', '--copy', 'Hello']);
    expect(gmn).toMatchObject({ stdout: 'Hello! How can I help you today?\n', exitCode: 1 });
    expect(gmn.stderr).toContain(`Error: ${why}\n`);
  });

  posixTest('asks the terminal where there is no program', async (t) => {
    const { exitCode, output } = await runInTerminal(t, ['--demo', '--copy', 'Hello']).ended;
    expect(exitCode).toBe(0);
    const sent = Buffer.from('Hello! How can I help you today?').toString('base64');
    expect(output).toContain(`\u001b]52;c;${sent}\u0007`);
    expect(output).toContain('gmn: copied 32 B');
  });

  posixTest('without either is refused before anything is sent', async (t) => {
    expect(await callGmn(t, ['--copy', 'Hello'], { gemini: await fakeGemini(t, []) })).toMatchObject({
      stdout: '',
      stderr: `Error: --copy found no clipboard: there is no terminal and no display
Pass the answer to a program of yours: gmn "…" | <program>
`,
      exitCode: 1,
    });
  });
});

describe('--pager', () => {
  const PAGER = { PAGER: 'echo PAGED; cat' };

  posixTest('shows the answer, laid out, in the pager when it is whole', async (t) => {
    const gemini = await fakeGemini(t, [reply('**bold**', ' end')]);
    const { exitCode, output } = await runInTerminal(t, ['-q', '--no-color', '--pager', 'x'], { gemini, env: PAGER })
      .ended;
    expect(exitCode).toBe(0);
    expect(output.replaceAll('\r', '')).toBe('PAGED\nbold end\n');
  });

  posixTest('is what GMN_PAGER asks for, too', async (t) => {
    const env = { ...PAGER, GMN_PAGER: 'echo MINE; cat', NO_COLOR: '1' };
    const { output } = await runInTerminal(t, ['--demo', '-q', 'Hello'], { env }).ended;
    expect(output.replaceAll('\r', '')).toBe('MINE\nHello! How can I help you today?\n');
  });

  posixTest('that does not work loses nothing', async (t) => {
    const env = { PAGER: 'false', NO_COLOR: '1' };
    const { exitCode, output } = await runInTerminal(t, ['--demo', '-q', '--pager', 'Hello'], { env }).ended;
    expect({ exitCode, output: output.replaceAll('\r', '') }).toEqual({
      exitCode: 0,
      output: 'Hello! How can I help you today?\n',
    });
  });

  posixTest('that is not there is named', async (t) => {
    const env = { PAGER: 'no-such-pager -x', NO_COLOR: '1' };
    const { output } = await runInTerminal(t, ['--demo', '--pager', 'Hello'], { env }).ended;
    expect(output.replaceAll('\r', '')).toContain('gmn: the pager does not work: no-such-pager -x\nHello!');
  });

  posixTest('is left out of a failure, which stands below what had come', async (t) => {
    const env = { ...PAGER, NO_COLOR: '1' };
    const { exitCode, output } = await runInTerminal(t, ['--demo', '-q', '--pager', '-x', 'Hello'], { env }).ended;
    expect(exitCode).toBe(1);
    expect(output).not.toContain('PAGED');
    expect(output).toContain('Error: there is no code block in the answer');
  });

  test('changes nothing where stdout is no terminal', async (t) => {
    const gmn = await callGmn(t, ['--demo', '--pager', 'Hello'], { env: PAGER });
    expect(gmn).toMatchObject({ stdout: 'Hello! How can I help you today?\n', stderr: '', exitCode: 0 });
  });
});

test.for([
  [['-x', '--extract-last'], '--extract', '--extract-last'],
  [['-x', '--output-schema', '{}'], '--extract', '--output-schema'],
  [['--extract-last', '--dry-run'], '--extract-last', '--dry-run'],
  [['--output-file', 'a', '--count-tokens'], '--output-file', '--count-tokens'],
  [['--copy', '--dry-run'], '--copy', '--dry-run'],
  [['--no-stream', '--count-tokens'], '--no-stream', '--count-tokens'],
  [['--pager', '-o', 'json'], '--pager', '-o json'],
] as const)('%j is refused: one of them would be in vain', async ([flags, one, other], t) => {
  const gmn = await callGmn(t, [...flags, 'x'], { gemini: await fakeGemini(t, []), env: NO_SESSION });
  const words = `${one} cannot be combined with ${other}`;
  if (flags.includes('json' as never)) expect(JSON.parse(gmn.stdout).error.message).toBe(words);
  else expect(gmn).toMatchObject({ stdout: '', stderr: `Error: ${words}\nUse one of them.\n`, exitCode: 1 });
});

test.for([['-x'], ['--output-file', 'a'], ['--copy'], ['--pager'], ['--output-schema', '{}']])(
  'a chat takes no %j',
  async (flags, t) => {
    const gmn = await callGmn(t, ['--demo', '-i', 'x', ...flags]);
    expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
    expect(gmn.stderr).toMatch(/^Error: -i cannot be combined with --/);
  },
);
