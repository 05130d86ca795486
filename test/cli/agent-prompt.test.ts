import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { pipedChat } from '../support/chat.ts';
import { call, fakeGemini, reply, type SeenRequest } from '../support/gemini.ts';
import { callGmn, callGmnIn, type GmnOptions, place } from '../support/gmn.ts';
import { fixtureServer } from '../support/mcp-place.ts';
import { posixTest } from '../support/posix.ts';
import { listSet } from '../support/tool-sets.ts';

const BRIEF = 'You are gmn,';

function systemText({ body }: SeenRequest): string {
  return body.systemInstruction?.parts[0].text;
}

/** Whether the service may reuse what it has cached of `before`: all of it comes again, byte for byte. */
function isPrefix(before: SeenRequest, after: SeenRequest): boolean {
  const encode = ({ body: { systemInstruction, tools, contents } }: SeenRequest, count: number) =>
    JSON.stringify([systemInstruction, tools, contents.slice(0, count)]);
  const { length } = before.body.contents;
  return encode(before, length) === encode(after, length);
}

/** Which of the requests do not begin like the one before them. */
function findBreaks(requests: readonly SeenRequest[]): readonly number[] {
  return requests.flatMap((request, index) => {
    const before = requests[index - 1];
    return before === undefined || isPrefix(before, request) ? [] : [index];
  });
}

test('with tools the model is told where it is and how to work, the same in every request of a turn', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(call('read_file', { file_path: 'a.txt' }), call('read_file', { file_path: 'b.txt' })),
    reply(call('list_directory', { dir_path: '.' })),
    reply('Done.'),
  ]);
  const at = place(t, { gemini, files: { '.git/HEAD': 'ref: refs/heads/feature/under\n', 'a.txt': 'A' } });
  await callGmnIn(t, at, ['--tools', 'read', 'look']);
  const [first] = gemini.requests;
  const text = first === undefined ? '' : systemText(first);
  expect(text.startsWith(BRIEF)).toBe(true);
  expect(text.length - at.cwd.length).toBeLessThan(3600);
  expect(text.split('\n').slice(-5)).toEqual([
    'Surroundings, when this conversation began',
    `- Working directory: ${at.cwd}`,
    `- System: ${process.platform}`,
    expect.stringMatching(/^- Date: [A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4}$/),
    '- Git branch: feature/under',
  ]);
  expect(text).toContain('Nobody can reply during this run');
  expect(gemini.requests).toHaveLength(3);
  expect(findBreaks(gemini.requests)).toEqual([]);
});

test.for([
  ['edit', 6500],
  ['all', 8500],
] as const)(
  'with --tools %s a request has at most %i bytes of system prompt and declarations',
  async ([set, most], t) => {
    const gemini = await fakeGemini(t, [reply('Done.')]);
    const at = place(t, { gemini, files: { '.git/HEAD': 'ref: refs/heads/feature/under\n' } });
    await callGmnIn(t, at, ['--tools', set, 'look']);
    const { systemInstruction, tools } = gemini.requests[0]?.body ?? {};
    expect(tools[0].functionDeclarations).toHaveLength(listSet(set).length);
    const sent = JSON.stringify([systemInstruction, tools]).replaceAll(at.cwd, '/home/somebody/projects/under');
    expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(most);
  },
);

test('a session that is continued keeps its date and branch; a new one, and one from before, gets them', async (t) => {
  const gemini = await fakeGemini(
    t,
    Array.from({ length: 6 }, () => reply('ok')),
  );
  const at = place(t, { gemini, files: { '.git/HEAD': 'ref: refs/heads/old\n' } });
  const sessions = join(at.home, '.gmn', 'sessions');
  await callGmnIn(t, at, ['--tools', 'read', 'one']);
  const file = readdirSync(sessions).find((name) => name.endsWith('.jsonl')) ?? '';
  const id = file.slice(-42, -6);
  const saved = readFileSync(join(sessions, file), 'utf8');
  writeFileSync(join(sessions, file), saved.replace(/"date":"[^"]+"/, '"date":"Thu Jan 01 2026"'));
  writeFileSync(join(at.cwd, '.git/HEAD'), 'ref: refs/heads/new\n');
  await callGmnIn(t, at, ['-c', '--tools', 'read', 'two']);
  await callGmnIn(t, at, ['chat', '-r', id], `three\n/new\nfour\n/load ${id}\nfive\n`);
  writeFileSync(join(sessions, file), saved.replace(/^.*"type":"setup".*\n/m, ''));
  await callGmnIn(t, at, ['-r', id, '--tools', 'read', 'six']);
  const told = gemini.requests.map((request) => /Date: (.*)\n- Git branch: (\w+)$/.exec(systemText(request))?.slice(1));
  const today = told[0]?.[0];
  const kept = ['Thu Jan 01 2026', 'old'];
  expect(told).toEqual([
    [today, 'old'],
    kept,
    kept,
    [expect.not.stringContaining('Jan 01 2026'), 'new'],
    kept,
    [expect.any(String), 'new'],
  ]);
});

test('a flag or GEMINI_SYSTEM_MD takes its place, --append-system-prompt follows it, and without tools there is none', async (t) => {
  const asked = async (args: readonly string[], options: GmnOptions = {}): Promise<string | undefined> => {
    const home = { '.gemini/AGENTS.md': 'Be kind.' };
    const given = { gemini: { url: 'http://127.0.0.1:9' }, home, ...options };
    const { stdout } = await callGmn(t, ['--dry-run', ...args, 'hi'], given);
    const { text } = JSON.parse(stdout).body.systemInstruction.parts[0];
    return text.replace(/=== \S+(?=AGENTS)/, '=== ').replace(/\n=== end.*\n?/, '|');
  };
  const plain = await asked([]);
  const replaced = await asked(['--tools', 'read', '--system', 'Mine.']);
  const appended = await asked(['--tools', 'read', '--append-system-prompt', 'Last.']);
  const omitted = await asked(['--tools', 'read', '--no-agent-prompt']);
  const env = { GEMINI_SYSTEM_MD: 's.md' };
  const file = await asked(['--tools', 'read'], { files: { 's.md': 'File.' }, env });
  expect(plain).toBe('=== AGENTS.md ===\nBe kind.|');
  expect(replaced).toBe('Mine.\n\n=== AGENTS.md ===\nBe kind.|');
  expect(appended).toMatch(/^You are gmn,[\s\S]*\d{4}\n\n=== AGENTS\.md ===\nBe kind\.\|\nLast\.$/);
  expect(omitted).toBe('=== AGENTS.md ===\nBe kind.|');
  expect(file).toBe('File.\n\n=== AGENTS.md ===\nBe kind.|');
});

const MEMO = { ...fixtureServer('mcp-server.mjs'), trust: true };

function settings(includeTools: readonly string[]): string {
  return JSON.stringify({ mcpServers: { memo: { ...MEMO, includeTools } }, model: { compressionThreshold: 0.01 } });
}

posixTest(
  'the requests of a chat begin alike, except after /tools, /system, a changed list of a server, /compress and when room is made',
  async (t: TestContext) => {
    const long = 'word '.repeat(2000);
    const gemini = await fakeGemini(t, [
      reply(call('read_file', { file_path: 'a.txt' })),
      ...['zero', 'one', long, 'three', 'four', 'five', 'short', 'seven', 'eight'].map((text) => reply(text)),
      ...['nine', 'ten', 'summary', 'eleven', 'twelve'].map((text) => reply(text)),
    ]);
    await pipedChat(
      t,
      [
        ...['read', 'again', '/approve auto_edit', '/stats', 'more'],
        ...['/tools run_shell_command on', 'with the shell'],
        ...['/system Be brief.', 'briefly'],
        ...['!cp more.json "$HOME/.gemini/settings.json"', '/mcp reload', 'with a server'],
        ...['/compress', 'after it', 'and on'],
        ...['wide', 'wider', 'too wide'].map((text) => `${text} ${long}${long.slice(0, 2500)}`),
        'as before',
      ],
      {
        gemini,
        files: { 'a.txt': 'A', 'more.json': settings(['echo', 'add']) },
        home: { '.gemini/settings.json': settings(['echo']) },
      },
    );
    expect(systemText(gemini.requests[0] as SeenRequest)).toContain('The user can reply');
    const prompts = gemini.requests.map(
      ({ body: { contents } }) =>
        contents
          .at(-1)
          .parts.at(-1)
          .text?.split(/\n| word/)[0],
    );
    expect(findBreaks(gemini.requests).map((index) => prompts[index])).toEqual([
      'with the shell',
      'briefly',
      'with a server',
      // The request for the summary has no tools, and what follows has the summary.
      prompts[7],
      'after it',
      // The same, when the window is full.
      expect.stringMatching(/^Below is the record/),
      'too wide',
    ]);
    expect(prompts.at(-1)).toBe('as before');
  },
);

test('a nested AGENTS.md comes once, with the first result from its directory, and only where the folder is trusted', async (t) => {
  const files = { 'sub/AGENTS.md': 'Use tabs.', 'sub/a.txt': 'A', 'sub/b.txt': 'B', 'GEMINI.md': 'Top.' };
  const sent = async (env: Readonly<Record<string, string>>) => {
    const gemini = await fakeGemini(t, [
      reply(
        call('read_file', { path: 'sub/none.txt' }),
        call('read_file', { path: 'sub/a.txt' }),
        call('read_file', { path: 'sub/b.txt' }),
      ),
      reply(call('list_directory', { dir_path: 'sub' })),
      reply('Done.'),
      reply(call('glob', { pattern: '*', dir_path: 'sub' })),
      reply('Done.'),
    ]);
    const at = place(t, { gemini, files, env });
    await callGmnIn(t, at, ['--tools', 'read', 'look']);
    await callGmnIn(t, at, ['-c', '--tools', 'read', 'look again']);
    expect(findBreaks(gemini.requests)).toEqual([]);
    const { contents } = gemini.requests.at(-1)?.body ?? {};
    return (contents as readonly { readonly parts: readonly SentPart[] }[]).flatMap(({ parts }) =>
      parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.response.context_files] : [])),
    );
  };
  const nested = [{ path: 'sub/AGENTS.md', content: 'Use tabs.' }];
  expect(await sent({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toEqual([undefined, nested, ...Array(3)]);
  expect(await sent({})).toEqual([...Array(5)]);
});

interface SentPart {
  readonly functionResponse?: { readonly response: { readonly context_files?: unknown } };
}
