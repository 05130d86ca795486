import { execSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext, test } from 'vitest';
import { parse } from 'yaml';
import { call, failure, fakeGemini, reply } from '../support/gemini.ts';
import { type GmnOptions, isStandalone, place, startProgram } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { transcriptOf } from '../support/transcript.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = join(ROOT, 'docs/examples');

/** What these lines do where the examples are in `$E` and the offline model answers. */
function ran(t: TestContext, lines: readonly string[], options: GmnOptions & { readonly before?: string } = {}) {
  const at = place(t, { ...options, env: { E: EXAMPLES, GMN_DEMO: '1', ...options.env } });
  if (options.before !== undefined) execSync(options.before, { cwd: at.cwd, env: at.env });
  return transcriptOf(t, lines, at);
}

test('every example is in the list, and is run here', () => {
  const names = readdirSync(EXAMPLES).filter((name) => name !== 'README.md');
  const list = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
  const tests = readFileSync(fileURLToPath(import.meta.url), 'utf8');
  expect(names.filter((name) => !list.includes(`](${name})`))).toEqual([]);
  expect(names.filter((name) => !tests.includes(`$E/${name}`))).toEqual([]);
});

posixTest('commit-message.sh writes a message for what is staged', async (t) => {
  const lines = ['sh $E/commit-message.sh', 'git add a && sh $E/commit-message.sh'];
  const outside = await ran(t, ['GIT_CEILING_DIRECTORIES=$PWD/.. sh $E/commit-message.sh 2>/dev/null']);
  expect(outside).toMatch(/=> 128\n$/);
  expect(await ran(t, lines, { files: { a: 'a\n' }, before: 'git init -q' })).toBe(`$ sh $E/commit-message.sh
err│ Nothing is staged. Try: git add -p
=> 1
$ git add a && sh $E/commit-message.sh
out│ demo: diff --git a/a b/a
=> 0
`);
});

posixTest('review.sh passes on the verdict, and what kept it from one', async (t) => {
  const stop = { verdict: 'stop', findings: ['It loops.'] };
  const spaced = JSON.stringify(stop).replaceAll(':', ' : ');
  const script = JSON.stringify({
    method: 'generateContentStream',
    response: [
      {
        candidates: [{ content: { parts: [{ text: spaced }] }, finishReason: 'STOP' }],
      },
    ],
  });
  const serve = 'gmn demo serve --quiet --script s.jsonl > url & until [ -s url ]; do :; done';
  const real = 'GMN_DEMO= GEMINI_API_KEY=x GOOGLE_GEMINI_BASE_URL=$(head -1 url)';
  const lines = [
    'echo diff | sh $E/review.sh',
    `${serve}; echo diff | ${real} sh $E/review.sh; code=$?; kill $!; exit $code`,
    'echo diff | GMN_DEMO= sh $E/review.sh 2>/dev/null',
  ];
  const transcript = await ran(t, lines, { files: { 's.jsonl': `${script}\n` } });
  expect(transcript.split('\n').filter((line) => !line.startsWith('$'))).toEqual([
    'out│ {"verdict":"go","findings":["demo"]}',
    '=> 0',
    'out│ {"verdict" : "stop","findings" : ["It loops."]}',
    '=> 1',
    '=> 2',
    '',
  ]);
});

posixTest('each-file.sh continues after a failure, and does nothing twice', async (t) => {
  const lines = [
    'sh $E/each-file.sh Summarise. a nope b 2>/dev/null',
    'sh $E/each-file.sh Summarise. a b',
    'cat b.answer.txt',
  ];
  expect(await ran(t, lines, { files: { a: 'A', b: 'B' } })).toBe(`$ ${lines[0]}
out│ a.answer.txt
out│ b.answer.txt
=> 1
$ ${lines[1]}
=> 0
$ ${lines[2]}
out│ demo: === b ===
=> 0
`);
});

posixTest('colours.sh takes an answer apart without jq', async (t) => {
  expect(await ran(t, ['sh $E/colours.sh'])).toBe(
    '$ sh $E/colours.sh\nout│ 1. red\nout│ 2. green\nout│ 3. blue\n=> 0\n',
  );
});

posixTest('explain.sh asks only if the command failed, and ends as it did', async (t) => {
  const lines = ['sh $E/explain.sh echo fine', "sh $E/explain.sh sh -c 'echo no disk >&2; exit 7'"];
  expect(await ran(t, lines)).toBe(`$ ${lines[0]}
out│ fine
=> 0
$ ${lines[1]}
out│ no disk
out│ demo: no disk
=> 7
`);
});

posixTest('interview.sh continues a conversation, and a copy of it', async (t) => {
  const lines = ['sh $E/interview.sh trip', 'gmn sessions list --json | grep -c \'"name"\''];
  expect(await ran(t, lines)).toBe(`$ sh $E/interview.sh trip
out│ November.
out│ April.
out│ 1
out│ 2
out│ 3
=> 0
$ ${lines[1]}
out│ 2
=> 0
`);
});

posixTest('follow.mjs reads the events, and ends with the exit code of gmn', async (t) => {
  const lines = ['node $E/follow.mjs Hello', 'GMN_DEMO= node $E/follow.mjs Hello'];
  expect(await ran(t, lines)).toBe(`$ ${lines[0]}
out│ Hello! How can I help you today?
err│ asking gemini-2.5-flash
err│ 17 tokens
=> 0
$ ${lines[1]}
err│ AuthError: no Gemini credentials found
err│ Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo
=> 2
`);
});

posixTest('delegate.mjs hands a task to gmn mcp serve', async (t) => {
  expect(await ran(t, ['node $E/delegate.mjs Hello --demo'])).toBe(`$ node $E/delegate.mjs Hello --demo
out│ Hello! How can I help you today?
err│ completed by gemini-2.5-flash
=> 0
`);
});

interface Step {
  readonly name?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
}

/** The steps of $E/review-pull-request.yml. */
function readSteps(): readonly Step[] {
  return parse(readFileSync(join(EXAMPLES, 'review-pull-request.yml'), 'utf8')).jobs.review.steps;
}

/** As GitHub runs a step, in a repository with one commit on main and what `change` adds to it. */
function runSteps(t: TestContext, lines: readonly string[], change: string) {
  const identity = '-c user.name=a -c user.email=a@example.com';
  const before = [
    'git init -q -b main && git add kept.txt .gitignore',
    `git ${identity} commit -qm one && git update-ref refs/remotes/origin/main HEAD`,
    change,
    `git add . && git ${identity} commit -qm two`,
  ].join(' && ');
  const named = readSteps().flatMap(({ name = '', run = '' }) => (run === '' ? [] : [[name.slice(0, 6).trim(), run]]));
  const files = Object.fromEntries(named.map(([name, run]) => [`steps/${name}.sh`, run ?? '']));
  const env = { BASE: 'main', GITHUB_OUTPUT: 'outputs', GITHUB_REPOSITORY: 'o/r', PR: '7' };
  return ran(t, lines, {
    files: { 'kept.txt': 'old\n', '.gitignore': 'steps\nbin\ncomments*\n', ...files },
    before,
    env,
  });
}

const READY = 'GEMINI_API_KEY=x GMN=./gmn-0.1.0.tgz bash -e "steps/Is the.sh"';

posixTest('review-pull-request.yml ends quietly without a key or a change, and aloud without a package', async (t) => {
  const lines = [
    'bash -e "steps/Is the.sh"; [ ! -e outputs ]',
    'GEMINI_API_KEY=x bash -e "steps/Is the.sh"; code=$?; [ ! -e outputs ] && exit $code',
    `${READY}; [ ! -e outputs ]`,
  ];
  expect(await runSteps(t, lines, 'echo {} > package-lock.json')).toBe(`$ ${lines[0]}
out│ No review: there is no secret GEMINI_API_KEY, or this pull request does not get it.
=> 0
$ ${lines[1]}
out│ ::error::The variable GMN_PACKAGE is not set: name the git address and commit of a repository of gmn there, or a package that you made of it (Settings, Secrets and variables, Actions, Variables).
=> 1
$ ${lines[2]}
out│ No review: nothing has changed but lock files.
=> 0
`);
  // What follows costs time or money, and waits for a change.
  const steps = readSteps();
  const found = steps.findIndex((step) => 'id' in step);
  expect(steps.slice(found + 1).map((step) => step.if)).toEqual(Array(4).fill('steps.found.outputs.change'));
});

const hasJq = spawnSync('jq', ['--version']).status === 0;

test.skipIf(process.platform === 'win32' || !hasJq)(
  'review-pull-request.yml reviews what the branch changes, in one comment that a later push edits',
  async (t) => {
    const comment = (id: number, login: string, body: string) => ({ id, user: { login }, body });
    const others = [
      comment(1, 'someone', '<!-- review by gmn --> not mine'),
      comment(2, 'github-actions[bot]', 'Built.'),
    ];
    const mine = comment(3, 'github-actions[bot]', '<!-- review by gmn -->\nOld.');
    // A stand-in: it lists comments.json as gh would, and prints any other call.
    const gh = '#!/bin/sh\nif [ "$2" = --paginate ]; then jq -r "$5" comments.json; else echo gh "$@" >&2; fi\n';
    const change = [
      'echo new > added.txt && echo {} > package-lock.json',
      `mkdir bin && printf '%s' '${gh.replaceAll("'", "'\\''")}' > bin/gh && chmod +x bin/gh`,
      `printf %s '${JSON.stringify(others)}' > comments.json`,
      `printf %s '${JSON.stringify([...others, mine])}' > comments-later.json`,
    ].join(' && ');
    const post = 'PATH="$PWD/bin:$PATH" bash -e steps/Commen.sh';
    const lines = [
      `${READY} && cat outputs && grep ^+++.*added change.diff && ! grep package-lock change.diff`,
      'bash -e steps/Review.sh && head -n 1 review.md && tail -n +2 review.md | head -c 24',
      post,
      `mv comments-later.json comments.json && ${post}`,
    ];
    const transcript = await runSteps(t, lines, change);
    expect(transcript.split('\n').filter((line) => !line.startsWith('$'))).toEqual([
      ...['out│ change=true', 'out│ +++ b/added.txt', '=> 0'],
      ...['out│ <!-- review by gmn -->', 'out│ demo: diff --git a/added', '=> 0'],
      ...['err│ gh api --method POST repos/o/r/issues/7/comments -F body=@review.md', '=> 0'],
      ...['err│ gh api --method PATCH repos/o/r/issues/comments/3 -F body=@review.md', '=> 0'],
      '',
    ]);
  },
);

test('every action of a workflow is of a current major and named by its commit, and no expression reaches a shell', () => {
  const workflows = join(ROOT, '.github/workflows');
  const files = [
    ...readdirSync(workflows).map((name) => join(workflows, name)),
    join(EXAMPLES, 'review-pull-request.yml'),
  ];
  const oldest: Readonly<Record<string, number>> = {
    'actions/checkout': 7,
    'actions/setup-node': 7,
    'actions/upload-artifact': 6,
    'actions/download-artifact': 6,
    'actions/attest-build-provenance': 4,
  };
  for (const text of files.map((file) => readFileSync(file, 'utf8'))) {
    const uses = [...text.matchAll(/uses: (\S+?)@(\S+) # v(\d+)\./g)];
    expect(uses).toHaveLength(text.split('uses:').length - 1);
    for (const [line, name = '', commit, major] of uses) {
      expect([line, commit, Number(major) >= (oldest[name] ?? Number.NaN)]).toEqual([
        line,
        expect.stringMatching(/^[0-9a-f]{40}$/),
        true,
      ]);
    }
  }
  for (const { run = '' } of readSteps()) expect(run).not.toContain('${{');
});

/** A project that has gmn and vitest installed, with these examples in it. */
function openProject(t: TestContext, names: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const texts = names.map((name) => [name, readFileSync(join(EXAMPLES, name), 'utf8')]);
  const at = place(t, { files: Object.fromEntries(texts), env });
  mkdirSync(join(at.cwd, 'node_modules'));
  symlinkSync(ROOT, join(at.cwd, 'node_modules/gmn'), 'junction');
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(at.cwd, 'node_modules/vitest'), 'junction');
  return at;
}

test.skipIf(isStandalone)('answers.test.mjs passes where gmn and vitest are installed', async (t) => {
  // As `npx vitest run $E/answers.test.mjs` does it.
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const at = openProject(t, ['answers.test.mjs']);
  const args = [vitest, 'run', '--root', at.cwd, '--reporter', 'json'];
  const { stdout, exitCode } = await startProgram(t, [process.execPath, args], at).ended;
  expect([exitCode, JSON.parse(stdout).numPassedTests]).toEqual([0, 2]);
});

test.skipIf(isStandalone)('promptfoo-provider.mjs answers as promptfoo expects it', async (t) => {
  // $E/promptfoo.yaml names it, and its config is that of the constructor.
  const config = readFileSync(join(EXAMPLES, 'promptfoo.yaml'), 'utf8');
  expect(config.match(/id: file:\/\/promptfoo-provider\.mjs/g)).toHaveLength(2);
  const gemini = await fakeGemini(t, [reply(call('pay')), reply('November.'), failure(400, 'INVALID_ARGUMENT', 'no')]);
  const at = openProject(t, ['promptfoo-provider.mjs'], { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: gemini.url });
  // It is $E/promptfoo-provider.mjs.
  const code = `import Provider from './promptfoo-provider.mjs';
    import { defineTool } from 'gmn';
    const pay = defineTool({ name: 'pay', description: 'Pays', input: { type: 'object', properties: {} }, run: () => 'paid' });
    const provider = new Provider({ id: 'mine', config: { tools: [pay] } });
    const answers = [await provider.callApi('best month?', {}, {}), await provider.callApi('again', {})];
    console.log(JSON.stringify([provider.id(), new Provider().id(), ...answers]));`;
  const args = ['--input-type=module', '--eval', code];
  const { stdout, stderr } = await startProgram(t, [process.execPath, args], at).ended;
  expect([JSON.parse(stdout || 'null'), stderr]).toEqual([
    [
      'mine',
      'gmn',
      {
        ...{ output: 'November.', cost: expect.any(Number), cached: false },
        tokenUsage: { total: 34, prompt: 10, completion: 24 },
        metadata: { model: 'gemini-2.5-flash', finishReason: 'STOP', toolCalls: [{ name: 'pay', args: {} }] },
      },
      { error: expect.stringContaining('no') },
    ],
    '',
  ]);
});

test('terminal_bench.py is an agent that was never scored, and says so', () => {
  // $E/terminal_bench.py is run by npm run test:clients, which needs Python.
  expect(readFileSync(join(EXAMPLES, 'terminal_bench.py'), 'utf8')).toContain('It was never scored by us');
});
