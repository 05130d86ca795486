import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';

const SKILL = `---
name: pdf
description: Reads PDF forms.
allowed-tools: Bash, run_shell_command
---
Run nothing; read notes.md.
`;
const HOME = {
  '.gemini/skills/pdf/SKILL.md': SKILL,
  '.gemini/skills/pdf/notes.md': 'the notes',
  '.gemini/skills/pdf/.env': 'KEY=1',
  '.gemini/oauth_creds.json': '{}',
};

test('a skill is in the instruction by name, and its text and folder are the model’s once it asks for it', async (t) => {
  const at = place(t, { home: HOME });
  const folder = join(at.home, '.gemini/skills/pdf');
  symlinkSync(join(at.home, '.gemini/oauth_creds.json'), join(folder, 'link'));
  const read = (name: string) => call('read_file', { file_path: join(folder, name) });
  const gemini = await fakeGemini(t, [
    reply(read('notes.md')),
    reply(call('activate_skill', { name: 'pfd' }), call('activate_skill', { name: 'pdf' })),
    reply(
      read('notes.md'),
      read('link'),
      read('.env'),
      read('../../oauth_creds.json'),
      call('list_directory', { dir_path: folder }),
    ),
    reply(call('write_file', { file_path: join(folder, 'notes.md'), content: 'x' })),
    reply('done'),
  ]);
  const env = { ...at.env, GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url };
  const gmn = await callGmnIn(t, { ...at, env }, ['--tools', 'edit', '--approval-mode', 'yolo', 'x']);
  expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  const [first, second, third, fourth, fifth] = gemini.requests;
  const instruction = first?.body.systemInstruction.parts[0].text;
  expect(instruction).toMatch(/\nSkills\n.*\n- pdf: Reads PDF forms\.$/);
  expect(instruction).not.toContain('Run nothing');
  expect(first?.tools).toContain('activate_skill');
  // What a skill says about tools changes nothing.
  expect(first?.tools).not.toContain('run_shell_command');
  expect(second?.results[0].error).toMatch(/outside the workspace/);
  expect(third?.results).toMatchObject([
    { error: expect.stringContaining('There are: pdf') },
    { output: 'Run nothing; read notes.md.', folder, files: ['.env', 'link', 'notes.md'] },
  ]);
  const [notes, link, secret, above, listed] = fourth?.results ?? [];
  expect(notes).toEqual({ output: 'the notes' });
  for (const refused of [link, secret, above]) expect(refused).toHaveProperty('error');
  expect(JSON.stringify(listed)).toContain('notes.md');
  expect(fifth?.results[0]).toHaveProperty('error');
  // The beginning of the request is the same in every turn.
  for (const { body } of gemini.requests) {
    expect(body.systemInstruction).toEqual(first?.body.systemInstruction);
    expect(body.tools).toEqual(first?.body.tools);
  }
});

test('without skills no tool of that name is offered, and nothing is said of them', async (t) => {
  const gmn = await callGmn(t, ['--tools', 'all', 'x'], { script: [reply('ok')] });
  expect(gmn.requests[0]?.tools).not.toContain('activate_skill');
  expect(gmn.requests[0]?.text).not.toContain('skill');
});

test.for([
  ['--skill', ['--skill', 'pdf', 'what is\nin @a.txt?'], 'what is\nin a.txt?'],
  ['/skill:', ['-p', '/skill:pdf what is\nin @a.txt?'], 'what is\nin a.txt?'],
  ['/skill: alone', ['-p', '/skill:pdf'], 'Use the skill pdf.'],
] as const)('%s puts the skill before the prompt, without tools, too', async ([, args, words], t) => {
  const gmn = await callGmn(t, args, {
    home: { '.gemini/skills/pdf/SKILL.md': SKILL.replace('notes.md', '@home') },
    files: { 'a.txt': 'hello' },
    script: [reply('ok')],
  });
  expect(gmn).toMatchObject({ stdout: 'ok\n', exitCode: 0 });
  const [opening, ...rest] = gmn.requests[0]?.parts ?? [];
  expect(opening.text).toMatch(
    /^Follow the instructions of the skill pdf .*skills[\\/]pdf\n\nRun nothing; read @home\.$/,
  );
  expect(rest.at(-1).text).toContain(words.replace('a.txt', ''.padEnd(0)).slice(0, 6));
});

test('a skill for the user alone is not listed for the model, and one that is not there is an error', async (t) => {
  const home = { '.gemini/skills/pdf/SKILL.md': SKILL.replace('---\nRun', 'disable-model-invocation: true\n---\nRun') };
  const gmn = await callGmn(t, ['--tools', 'read', '--skill', 'pdf', 'x'], { home, script: [reply('ok')] });
  expect(gmn.requests[0]?.tools).not.toContain('activate_skill');
  expect(gmn.requests[0]?.parts).toHaveLength(2);
  const none = await callGmn(t, ['--skill', 'pfd', 'x'], { home, gemini: { url: 'http://127.0.0.1:1' } });
  expect(none).toMatchObject({ exitCode: 1, stdout: '' });
  expect(none.stderr).toBe('Error: there is no skill "pfd"\nDid you mean pdf?\n');
});

test('gmn skills lists and shows them, for programs too', async (t) => {
  const at = place(t, {
    home: { ...HOME, '.gemini/skills/bad/SKILL.md': 'x' },
    files: { '.agents/skills/b/SKILL.md': SKILL },
  });
  const listed = await callGmnIn(t, at, ['skills', 'list']);
  expect(listed.stdout).toMatch(/^pdf {2}Reads PDF forms\. {2}.*SKILL\.md\n$/);
  expect(listed.stderr).toMatch(
    /work: skill "b" not used: this folder is not trusted\. To review and approve, run: gmn trust .*\n/,
  );
  expect(listed.stderr).toMatch(/bad[\\/]SKILL\.md is not used: it does not begin with/);
  const { skills, skipped } = JSON.parse((await callGmnIn(t, at, ['skills', '--json'])).stdout);
  expect(skills).toMatchObject([{ name: 'pdf', source: 'user', forUserOnly: false }]);
  expect(skipped.map(({ name }: { name: string }) => name)).toEqual(['bad', 'b']);
  const shown = await callGmnIn(t, at, ['skills', 'show', 'pdf', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    name: 'pdf',
    files: ['.env', 'notes.md'],
    body: 'Run nothing; read notes.md.',
  });
  expect((await callGmnIn(t, at, ['skills', 'show', 'b'])).stderr).toMatch(
    /not trusted\nTo review and approve it, run: gmn trust/,
  );
});

test('in a chat /skills lists them, and /skill:name uses one', async (t) => {
  const gmn = await callGmn(t, ['chat', '--tools', 'none'], {
    home: HOME,
    stdin: '/skills\n/skill:pdf read it\n/skill:nope\n',
    script: [reply('ok')],
  });
  expect(gmn.stderr).toMatch(/pdf +Reads PDF forms\. · /);
  expect(gmn.requests[0]?.parts.at(-1)).toEqual({ text: 'read it' });
  expect(gmn.requests[0]?.parts[0].text).toContain('Run nothing');
  expect(gmn.stderr).toContain('there is no skill "nope"');
});
