import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readContext } from '../../src/config/context.ts';
import { addMemory, findMemoryFile } from '../../src/config/memory.ts';
import { AppError } from '../../src/core/error.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { posixTest } from '../support/posix.ts';
import { type Place, place } from './place.ts';

const OWN = 'home/.gmn/AGENTS.md';

function readFrom(here: Place, name: string): string {
  return readFileSync(here.path(name), 'utf8');
}

test('a note is the last item of the file, whatever was there', async (t) => {
  const here = place(t, { 'work/AGENTS.md': '# Rules\n\n- Use tabs.' });
  await addMemory('user', 'Answer in Japanese.', here.app);
  await addMemory('user', 'two\nlines', here.app);
  await addMemory('project', 'Run npm test.', here.app);
  expect(readFrom(here, OWN)).toBe('- Answer in Japanese.\n- two\n  lines\n');
  expect(readFrom(here, 'work/AGENTS.md')).toBe('# Rules\n\n- Use tabs.\n- Run npm test.\n');
  expect([findMemoryFile('user', here.app), findMemoryFile('project', here.app)]).toEqual([
    here.path(OWN),
    here.path('work/AGENTS.md'),
  ]);
});

posixTest(
  'a file in the home is private, one in a project as others are there; an existing one stays as it is',
  async (t) => {
    const here = place(t, { 'work/other': '' });
    const mode = (name: string): number => statSync(here.path(name)).mode & 0o777;
    await addMemory('user', 'x', here.app);
    await addMemory('project', 'x', here.app);
    expect([mode(OWN), mode('work/AGENTS.md')]).toEqual([0o600, mode('work/other')]);
    chmodSync(here.path(OWN), 0o640);
    await addMemory('user', 'y', here.app);
    expect(mode(OWN)).toBe(0o640);
  },
);

posixTest('a link in the home is followed, one that leads out of a project is not', async (t) => {
  const here = place(t, { 'dotfiles/agents.md': '', 'secret.sh': 'keep\n' });
  mkdirSync(here.path('home/.gmn'), { recursive: true });
  symlinkSync(here.path('dotfiles/agents.md'), here.path(OWN));
  symlinkSync(here.path('secret.sh'), here.path('work/AGENTS.md'));
  await addMemory('user', 'x', here.app);
  expect(readFrom(here, 'dotfiles/agents.md')).toBe('- x\n');
  await expect(addMemory('project', 'x', here.app)).rejects.toThrow(AppError);
  expect(readFrom(here, 'secret.sh')).toBe('keep\n');
});

test('a file that is not UTF-8 is left alone', async (t) => {
  const here = place(t, { 'work/AGENTS.md': Buffer.from([0x63, 0x61, 0x66, 0xe9]) });
  await expect(addMemory('project', 'x', here.app)).rejects.toThrow('is not UTF-8 text, and was left as it is');
  expect(readFileSync(here.path('work/AGENTS.md'))).toEqual(Buffer.from([0x63, 0x61, 0x66, 0xe9]));
});

test('of notes that are added at the same time none is lost', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.stringMatching(/^\w{1,20}$/), { minLength: 1, maxLength: 6 }), async (notes) => {
      const here = place(t);
      const app = { ...here.app, clock: systemClock };
      await Promise.all(notes.map((note) => addMemory('user', note, app)));
      const lines = readFrom(here, OWN).trimEnd().split('\n');
      expect(lines.toSorted()).toEqual(notes.map((note) => `- ${note}`).toSorted());
    }),
    { numRuns: 10 },
  );
});

test('~/.gmn/AGENTS.md is read after ~/.gemini and before the project', async (t) => {
  const here = place(t, { 'home/.gemini/GEMINI.md': 'one', [OWN]: 'two', 'work/AGENTS.md': 'three' });
  const { app } = here;
  const env = { ...app.env, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const { memory } = await readContext({ env, cwd: app.cwd, homes: app.homes(), settings: await here.settings() }, []);
  expect(memory?.match(/^(?:one|two|three)$/gm)).toEqual(['one', 'two', 'three']);
});
