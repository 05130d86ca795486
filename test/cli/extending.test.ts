import { readFileSync } from 'node:fs';
import { expect, type TestContext, test } from 'vitest';
import { call, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { isWindows } from '../support/posix.ts';
import { complainIfInput } from '../support/shell-lines.ts';

const PAGE = readFileSync(new URL('../../docs/extending.md', import.meta.url), 'utf8');

/** The files that the page has, by their path in the home directory. */
const FILES = Object.fromEntries(
  [...PAGE.matchAll(/`~\/([^`\n]+)`:\n\n```\w+\n([\s\S]*?)```\n/g)].map(([, path = '', text = '']) => [path, text]),
);

// Its hook is for a POSIX shell.
if (isWindows) {
  const settings = JSON.parse(FILES['.gemini/settings.json'] ?? '');
  settings.hooks.BeforeTool[0].hooks[0].command = complainIfInput('has', 'secret.txt', 'secret.txt stays here', 2);
  FILES['.gemini/settings.json'] = JSON.stringify(settings);
}

/** The command lines of the page that begin so. */
function lineOf(start: string): readonly string[] {
  const line = PAGE.split('\n').find((each) => each.startsWith(start));
  const words = line?.replace(/\s+#.*$/, '').matchAll(/"([^"]*)"|(\S+)/g) ?? [];
  return [...words].map(([, quoted, bare = '']) => quoted ?? bare).slice(1);
}

async function run(t: TestContext, path: string, line: string, script: readonly Scripted[], files = {}) {
  const home = Object.fromEntries(Object.entries(FILES).filter(([name]) => name.startsWith(path)));
  expect(Object.keys(home).length, path).toBeGreaterThan(0);
  const gemini = await fakeGemini(t, script);
  const gmn = await callGmnIn(t, place(t, { gemini, home, files }), lineOf(line));
  return { ...gmn, requests: gemini.requests };
}

test('the skill of the page is offered, and followed by each of its command lines', async (t) => {
  const chosen = await run(t, '.gemini/skills/', 'gmn --tools read "what', [
    reply(call('activate_skill', { name: 'release-notes' })),
    reply('notes'),
  ]);
  expect(chosen.stdout).toBe('notes\n');
  expect(chosen.requests[0]?.text).toContain('- release-notes: Writes release notes from the git log.');
  expect(chosen.requests[1]?.results[0].output).toMatch(/^Read the log since the last tag\./);
  for (const line of ['gmn --skill', 'gmn -p "/skill:']) {
    const { requests } = await run(t, '.gemini/skills/', line, [reply('notes')]);
    expect(requests[0]?.parts[0].text).toContain('Read the log since the last tag.');
    expect(requests[0]?.prompt).toBe('what is new?');
  }
});

test('the hook of the page denies what it is written to deny', async (t) => {
  const files = { 'secret.txt': 's', 'a.txt': 'A' };
  const read = (file_path: string) => call('read_file', { file_path });
  const script = [reply(read('secret.txt'), read('a.txt')), reply('ok')];
  const { requests } = await run(t, '.gemini/settings.json', 'gmn --tools read "what', script, files);
  expect(requests[1]?.results).toEqual([{ error: 'read_file was not run: secret.txt stays here' }, { output: 'A' }]);
});

test('the sub-agent of the page is asked at once by its name', async (t) => {
  const { requests, stderr } = await run(t, '.gemini/agents/', 'gmn --tools read "@', [reply('fine'), reply('It is.')]);
  expect(requests[0]?.tools).toEqual(['read_file', 'glob', 'search_file_content']);
  expect(requests[0]?.prompt).toBe('is a.txt all right?');
  expect(stderr).toMatch(/^✓ reviewer /m);
});

test('the extension of the page brings its context file and its command', async (t) => {
  const asked = await run(t, '.gemini/extensions/', 'gmn "colour', [reply('colour')]);
  expect(asked.requests[0]?.body.systemInstruction.parts[0].text).toContain('We write British English.');
  const greeted = await run(t, '.gemini/extensions/', 'gmn -p "/house', [reply('Hello, Ada.')]);
  expect(greeted.requests[0]?.prompt).toBe('Greet Ada in one line.');
});
