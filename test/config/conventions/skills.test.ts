import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatSkillList } from '../../../src/agent/prompt.ts';
import { run as trust } from '../../../src/commands/trust.ts';
import { findAgents } from '../../../src/config/conventions/agents.ts';
import { parseConventionFile } from '../../../src/config/conventions/front-matter.ts';
import { findSkills } from '../../../src/config/conventions/skills.ts';
import { AppError } from '../../../src/core/error.ts';
import { posixTest } from '../../support/posix.ts';
import { type Place, place } from '../place.ts';

const skill = (name: string, description = `does ${name}`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nBody of ${name}.\n`;

async function look({ app, settings }: Place, env = {}) {
  return findSkills({ ...app, env: { ...app.env, ...env }, settings: await settings(env) });
}

const list = async (...given: Parameters<typeof look>): Promise<readonly string[]> =>
  (await look(...given)).skills.map(({ name, description }) => `${name}: ${description}`);

test('later places win: .claude, .gemini, .agents; the home, then the project from its root down', async (t) => {
  const here = place(t, {
    'work/.git/HEAD': '',
    'home/.claude/skills/a/SKILL.md': skill('a', 'home claude'),
    'home/.claude/skills/b/SKILL.md': skill('b', 'home claude'),
    'home/.gemini/skills/b/SKILL.md': skill('b', 'home gemini'),
    'home/.agents/skills/c/SKILL.md': skill('c', 'home agents'),
    'home/.gemini/skills/c/SKILL.md': skill('c', 'home gemini'),
    'work/.claude/skills/a/SKILL.md': skill('a', 'root claude'),
    'work/.agents/skills/d/SKILL.md': skill('d', 'root agents'),
    'work/in/.gemini/skills/d/SKILL.md': skill('d', 'inner gemini'),
  });
  const inner = { ...here, app: { ...here.app, cwd: here.path('work/in') } };
  expect(await list(inner)).toEqual(['a: home claude', 'b: home gemini', 'c: home agents']);
  await trust({ args: [] }, here.app);
  await trust({ args: [] }, inner.app);
  expect(await list(inner)).toEqual(['a: root claude', 'b: home gemini', 'c: home agents', 'd: inner gemini']);
});

const FAULTY: Readonly<Record<string, string>> = {
  empty: '',
  plain: '# No front matter\n',
  list: '---\n- a\n---\nx\n',
  bad: '---\nname: bad\ndescription: [\n---\nx\n',
  mute: '---\nname: mute\n---\nx\n',
  hollow: '---\nname: hollow\ndescription: d\n---\n\n',
  Title: '---\nname: A Title\ndescription: d\n---\nx\n',
  alias: '---\nname: alias\na: &a [x, x]\ndescription: *a\n---\nx\n',
  binary: '---\nname: binary\ndescription: \0\n---\nx\n',
};

test('a faulty skill is named, and the others are used', async (t) => {
  const files = Object.entries(FAULTY).map(([name, text]) => [`home/.gemini/skills/${name}/SKILL.md`, text] as const);
  const here = place(t, {
    ...Object.fromEntries(files),
    'home/.gemini/skills/good/SKILL.md': skill('good'),
    'home/.gemini/skills/no-file/x': '',
  });
  const { skills, skipped } = await look(here);
  expect(skills.map(({ name }) => name)).toEqual(['good']);
  expect(skipped.map(({ name }) => name).sort()).toEqual(Object.keys(FAULTY).sort());
  for (const { why } of skipped) expect(why).toMatch(/^\w.{8}/);
  expect(await list(here, { HOME: '' })).toEqual(['good: does good']);
});

test.for([
  [
    'a colon that YAML would want quoted',
    'name: x\ndescription: Use when: a form is there',
    'Use when: a form is there',
  ],
  ['a folded text', 'name: x\ndescription: >-\n  one\n  two', 'one two'],
  ['a title instead of the name', 'name: A Title\ndescription: d', 'd'],
  ['more fields', 'name: x\ndescription: d\nallowed-tools: Bash(git:*), Read\nmetadata:\n  a: {b: [1]}', 'd'],
  ['CRLF and a byte order mark', 'name: x\r\ndescription: d', 'd'],
] as const)('front matter with %s is read', async ([, front, description], t) => {
  const text = `\uFEFF---\r\n${front}\r\n---\r\nBody\r\n`;
  const here = place(t, { 'home/.claude/skills/x/SKILL.md': text });
  expect((await look(here)).skills).toMatchObject([{ name: 'x', description, body: 'Body' }]);
});

test('whatever a file holds, it is read or refused with a reason', async () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '---',
      'name: a',
      'description: b',
      '__proto__: 1',
      '? {',
      '- *x',
      'a: &x',
      '!!js/function x',
      '\t',
      '|',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
      const bytes = Buffer.from(`---\n${lines.join('\n')}`);
      const read = await parseConventionFile(bytes).catch((thrown: unknown) => {
        expect(thrown).toBeInstanceOf(AppError);
        return undefined;
      });
      if (read !== undefined) expect(Object.getPrototypeOf(read.fields)).toBe(Object.prototype);
    }),
  );
  expect(Object.prototype).not.toHaveProperty('polluted');
});

test('the skills of a folder count only as gmn trust has shown them, scripts included', async (t) => {
  const here = place(t, {
    'work/.gemini/skills/a/SKILL.md': skill('a'),
    'work/.gemini/skills/a/scripts/x.sh': 'echo 1',
    'work/.claude/skills/b/SKILL.md': skill('b'),
  });
  const pending = async (env = {}) => (await look(here, env)).skipped.map(({ name, why }) => `${name}: ${why}`);
  expect(await pending()).toEqual(['b: this folder is not trusted', 'a: this folder is not trusted']);
  // Another list trusts the folder, and nobody has seen its skills.
  expect(await pending({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toEqual([
    'b: it is new or has changed',
    'a: it is new or has changed',
  ]);
  await trust({ args: [] }, here.app);
  expect(here.output().out).toMatch(
    /^Trusted: .*\nIt may now use:\nSkills:\n {2}\.claude\/skills\/b \(new\): does b\n {2}\.gemini\/skills\/a \(new\): does a\n {6}2 files\n/,
  );
  expect(await list(here)).toEqual(['a: does a', 'b: does b']);
  const changes: readonly Readonly<Record<string, string>>[] = [
    { 'work/.gemini/skills/a/scripts/x.sh': 'echo 2' },
    { 'work/.gemini/skills/a/more.md': '' },
    { 'work/.gemini/skills/a/SKILL.md': skill('a', 'does something else') },
  ];
  for (const change of changes) {
    here.write(change);
    expect(await list(here)).toEqual(['b: does b']);
    await trust({ args: [], json: true }, here.app);
    expect(JSON.parse(here.output().out).skills).toMatchObject([{ status: 'unchanged' }, { status: 'changed' }]);
    expect(await list(here)).toHaveLength(2);
  }
});

posixTest(
  'no two trees have one hash: whatever a file of a skill is called, a change of the tree is a change of the skill',
  async (t) => {
    const { createHash } = await import('node:crypto');
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    const here = place(t, {
      'work/.gemini/skills/a/SKILL.md': skill('a'),
      'work/.gemini/skills/a/x': '1',
      'work/.gemini/skills/a/y': '2',
    });
    await trust({ args: [] }, here.app);
    expect(await list(here)).toEqual(['a: does a']);
    rmSync(here.path('work/.gemini/skills/a/x'));
    rmSync(here.path('work/.gemini/skills/a/y'));
    // The lines of two files, as the name of one.
    here.write({ [`work/.gemini/skills/a/x ${sha('1')}\ny`]: '2' });
    expect(await list(here)).toEqual([]);
  },
);

test('nothing of a skill is left out: what is too deep, too large or not UTF-8 cannot be approved, and is named', async (t) => {
  const deep = 'd/'.repeat(9);
  const here = place(t, {
    'work/.gemini/skills/deep/SKILL.md': skill('deep'),
    [`work/.gemini/skills/deep/${deep}x.sh`]: '',
    'work/.gemini/skills/good/SKILL.md': skill('good'),
    'work/.gemini/skills/good/d/d/d/d/d/d/d/d/x.sh': '',
    'work/.gemini/skills/odd/SKILL.md': skill('odd'),
    'work/.gemini/skills/odd/\ufffd': '',
  });
  await trust({ args: [] }, here.app);
  const { err } = here.output();
  expect(err).toMatch(/skills\/deep is not used: d\/d\/d\/d\/d\/d\/d\/d\/d in it is too deep to review/);
  expect(err).toMatch(/skills\/odd is not used: the name of .* in it is not UTF-8/);
  expect(await list(here)).toEqual(['good: does good']);
  here.write({ 'work/.gemini/skills/good/d/d/d/d/d/d/d/d/x.sh': 'x' });
  expect(await list(here)).toEqual([]);
});

test('nothing of a skill or an agent is read before it was shown, and gmn trust itself reads only so much', async (t) => {
  const long = `---\nname: x\ndescription: d\nmore: ${'x'.repeat(18_000)}\n---\nx\n`;
  const many = Array.from({ length: 40 }, (_, index) => [`work/.gemini/skills/s${index}/SKILL.md`, long] as const);
  const here = place(t, {
    ...Object.fromEntries(many),
    'work/.gemini/skills/bad/SKILL.md': '---\nname: [\n---\n',
    'work/.gemini/agents/bad.md': '---\nname: [\n---\n',
  });
  const env = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const { skipped } = await look(here, env);
  expect([...new Set(skipped.map(({ why }) => why))]).toEqual(['it is new or has changed']);
  const settings = await here.settings(env);
  const { skipped: agents } = await findAgents({ ...here.app, env: { ...here.app.env, ...env }, settings });
  expect(agents).toMatchObject([{ why: 'it is new or has changed' }]);
  await trust({ args: [] }, here.app);
  const { out, err } = here.output();
  const shown = out.match(/^ {2}\.gemini\/skills\/s\d+ /gm)?.length ?? 0;
  expect(shown).toBeGreaterThan(10);
  expect(err.match(/there is too much between --- lines to review/g)).toHaveLength(40 - shown + 1);
  expect(await list(here)).toHaveLength(1);
});

posixTest('links of a folder lead to no skill: out of it, into it, or to a file', async (t) => {
  const here = place(t, {
    'home/secret/SKILL.md': skill('secret'),
    'home/.gemini/skills/mine/SKILL.md': skill('mine'),
    'work/other/SKILL.md': skill('other'),
    'work/.claude/skills/real/x': '',
  });
  const to = (name: string, target: string): void =>
    symlinkSync(here.path(target), here.path(`work/.claude/skills/${name}`));
  to('secret', 'home/secret');
  to('real/SKILL.md', 'home/secret/SKILL.md');
  mkdirSync(here.path('work/.claude/skills/half'));
  writeFileSync(here.path('work/.claude/skills/half/SKILL.md'), skill('half'));
  to('half/keys', 'home');
  await trust({ args: [] }, here.app);
  const { skills, skipped } = await look(here);
  // The user's own may be links.
  symlinkSync(here.path('home/secret'), here.path('home/.gemini/skills/secret'));
  expect(skills.map(({ name }) => name)).toEqual(['mine']);
  expect(skipped.map(({ name }) => name).sort()).toEqual(['half', 'real', 'secret']);
  expect(await list(here)).toEqual(['mine: does mine', 'secret: does secret']);
});

test('skills.disabled turns one off, and only the user can say so', async (t) => {
  const here = place(t, {
    'home/.gemini/skills/a/SKILL.md': skill('a'),
    'home/.gemini/skills/b/SKILL.md': skill('b'),
    'home/.gemini/settings.json': '{"skills":{"disabled":["a"]}}',
    'work/.gemini/settings.json': '{"skills":{"disabled":["b"]}}',
  });
  expect(await list(here, { GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toEqual(['b: does b']);
});

test('the list for the model is never longer than 8,000 characters, and always the same', () => {
  const listed = fc.record({
    name: fc.string({ minLength: 1, maxLength: 64 }),
    description: fc.string({ maxLength: 1024 }),
  });
  fc.assert(
    fc.property(fc.array(listed, { maxLength: 400 }), (skills) => {
      const { text, omitted } = formatSkillList(skills, 'activate_skill');
      expect(text.length).toBeLessThanOrEqual(8000);
      expect(formatSkillList(skills, 'activate_skill')).toEqual({ text, omitted });
      for (const { name } of skills) expect(text.includes(`- ${name}`) || omitted.includes(name)).toBe(true);
    }),
    { numRuns: 30 },
  );
  const { text, omitted } = formatSkillList([{ name: 'pdf', description: 'Reads forms.' }], 'activate_skill');
  expect({ text, omitted }).toMatchObject({ text: expect.stringMatching(/\n- pdf: Reads forms\.$/), omitted: [] });
});
