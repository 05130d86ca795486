import { execSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { httpPeer } from '../mcp/client/http-peer.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { type GmnOptions, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { type ShellPlace, transcriptOf } from '../support/transcript.ts';

// What was changed in these sessions since they were first sketched, and why: docs/dev/decisions/0011-samples.md

const PAGE = readFileSync(new URL('../../docs/dev/samples.md', import.meta.url), 'utf8');
const HAS_JQ = spawnSync('jq', ['--version']).status === 0;

/** The sessions of the page, by their numbers. */
const SESSIONS = new Map(
  [...PAGE.matchAll(/^## (\d+)\. (.+)\n[\s\S]*?^```\n([\s\S]*?)^```$/gm)].map(
    ([, number, title = '', session = '']) => [Number(number), { title, session }] as const,
  ),
);

/** A home whose `~/work` is the working directory. */
function workPlace(t: TestContext, { files = {}, home = {}, ...options }: GmnOptions = {}): ShellPlace {
  const inside = Object.entries({ '.keep': '', ...files }).map(([name, text]) => [`work/${name}`, String(text)]);
  const made = place(t, { ...options, home: { ...home, ...Object.fromEntries(inside) } });
  return { ...made, cwd: join(made.home, 'work') };
}

/** The offline model with a fault, and the environment in which it is all there is of Google. */
async function faulty(t: TestContext, fault: string): Promise<Readonly<Record<string, string>>> {
  const demo = await startDemo({ faults: parseFaults([fault]), clock: systemClock });
  t.onTestFinished(() => demo.close());
  return {
    GOOGLE_GEMINI_BASE_URL: demo.url,
    CODE_ASSIST_ENDPOINT: demo.url,
    GMN_OAUTH_TOKEN_URL: `${demo.url}/token`,
  };
}

/** What differs from run to run, as it was in the run of the page. */
const settled = (transcript: string): string =>
  transcript
    .replace(/\d+\.\ds$/gm, '0.1s')
    .replace(/^(out│ )\d{4}-\d\d-\d\d$/gm, '$12026-11-15')
    .replace(/^(out│ 1 {2})[\da-f]{8}/gm, '$17c1e90aa')
    .replace(/127\.0\.0\.1:\d{5}/g, '127.0.0.1:40001')
    .replace(/[\d.]+ (?:ms|s)$/gm, '41 ms')
    .replace(/(?<=token valid) .+$/gm, ' 42 min')
    .replace(/(?<=Pacific time, in) [^.]+/g, ' 6 h 12 min');

/** The commands of a session and what was seen of them. */
function commandsOf(number: number): readonly { readonly line: string; readonly seen: string }[] {
  const blocks = SESSIONS.get(number)?.session.split(/^(?=\$ )/m) ?? [];
  const commands = blocks.map((seen) => ({ line: seen.slice(2, seen.indexOf('\n')), seen }));
  return commands.filter(({ line }) => HAS_JQ || !line.includes('| jq '));
}

/** Runs the commands of a session, or one of them, and compares all that they print. */
async function expectSession(t: TestContext, number: number, at: ShellPlace, only?: number): Promise<void> {
  const commands = only === undefined ? commandsOf(number) : commandsOf(number).slice(only, only + 1);
  expect(commands.length).toBeGreaterThan(0);
  const transcript = await transcriptOf(
    t,
    commands.map(({ line }) => line),
    at,
  );
  expect(settled(transcript)).toBe(commands.map(({ seen }) => seen).join(''));
}

test('the page has twelve sessions', () => {
  expect([...SESSIONS.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

const titled = (number: number): string => `${number}. ${SESSIONS.get(number)?.title}`;

describe('the sessions of docs/dev/samples.md', () => {
  posixTest.for([1, 2, 3, 4, 6, 7, 8].map((number) => [titled(number), number] as const))('%s', async ([, number], t) =>
    expectSession(t, number, workPlace(t)),
  );

  posixTest(titled(5), async (t) => {
    const at = workPlace(t, { files: { 'STYLE.md': 'Use `const`.\n', 'src/sum.ts': '// sum\n' } });
    execSync('git init -q && git add .', at);
    writeFileSync(join(at.cwd, 'src/sum.ts'), '// sum\nlet total = 0;\n');
    await expectSession(t, 5, at);
  });

  posixTest(titled(9), async (t) => {
    const chat = chatInTerminal(t, ['--demo', '--session-name', 'tour'], {
      files: { 'hello.js': 'console.log("Hello");\n' },
      columns: 120,
    });
    await chat.until(/❯ /);
    chat.enter('挨拶を日本語にして @hello.js');
    await chat.until(/› $/);
    chat.type('y');
    await chat.until(/変えました。[\s\S]*❯ /);
    chat.enter('write a very long story');
    await chat.until(/harbour town/);
    chat.type('\u0003');
    await chat.until(/cancelled[\s\S]*❯ /);
    chat.enter('/q');
    const { output, exitCode } = await chat.ended;
    expect(exitCode).toBe(0);
    const screen = screenOf(output, 120)
      .replace(/[\d.]+s$/m, '14s')
      .replace(/(?<=harbour town)[^⏹]*(?=\n⏹)/, '')
      .replace(/(?<=gmn )\d+\.\d+\.\d+/, '0.1.0')
      .replace(/ · \S*work · /, ' · ~/work · ');
    expect(`${screen}\n`).toBe(SESSIONS.get(9)?.session);
  });

  posixTest(titled(10), async (t) => {
    const wiki = await httpPeer(t, (_, response) => void response.writeHead(401).end());
    const files = { command: 'node', args: ['files.js'] };
    const settings = {
      mcpServers: { files, wiki: { url: `${wiki.url}/mcp`, type: 'http' }, old: files },
      mcp: { excluded: ['old'] },
    };
    const at = workPlace(t, {
      files: { 'README.md': 'Hello\n', 'package.json': '{"type":"module"}' },
      settings,
    });
    copyFileSync(fileURLToPath(new URL('../fixtures/files-mcp-server.mjs', import.meta.url)), join(at.cwd, 'files.js'));
    await expectSession(t, 10, at);
  });

  posixTest(titled(11), async (t) => {
    const signIn = {
      access_token: 'ya29.sample',
      refresh_token: '1//sample',
      token_type: 'Bearer',
      expiry_date: Date.now() + 2_530_000,
    };
    const at = workPlace(t, {
      env: await faulty(t, 'UNSUPPORTED_CLIENT'),
      home: {
        '.gemini/oauth_creds.json': JSON.stringify(signIn),
        '.gemini/google_accounts.json': '{"active":"user@gmail.com","old":[]}',
        '.gmn/sign-in-note-shown': '',
      },
    });
    chmodSync(join(at.root, 'home', '.gemini', 'oauth_creds.json'), 0o600);
    await expectSession(t, 11, at);
  });

  posixTest.for([
    ['mistyped', 0, '401'],
    ['retired', 1, '404-retired'],
    ['quota', 2, '429-daily'],
  ] as const)(`${titled(12)}: %s`, async ([, only, fault], t) => {
    const env = { GEMINI_API_KEY: 'a-key-0123456789', ...(await faulty(t, fault)) };
    await expectSession(t, 12, workPlace(t, { env }), only);
  });
});
