import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { oauthPeer } from '../mcp/client/oauth-peer.ts';
import { gmnCommand } from '../support/gmn.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';
import { isWindows, linuxTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

/** A browser that goes where it is sent, and writes down that it was. */
const BROWSER = `#!/usr/bin/env node
require('node:fs').appendFileSync(process.env.HOME + '/opened', process.argv.slice(2).join(' ') + (process.env.GEMINI_API_KEY ? ' with a key\\n' : '\\n'));
fetch(process.argv[2]).then((answer) => answer.text());
`;

async function signInPlace(t: TestContext) {
  const peer = await oauthPeer(t);
  const here = mcpPlace(t, { wiki: { url: `${peer.url}/mcp`, type: 'http' }, files: fixtureServer('mcp-server.mjs') });
  const script = join(here.root, 'bin', 'xdg-open');
  here.write(script, BROWSER);
  chmodSync(script, 0o755);
  const browser = isWindows ? `${script}.cmd` : script;
  if (isWindows) here.write(browser, `@"${process.execPath}" "${script}" %*\r\n`);
  Object.assign(here.env, { BROWSER: browser });
  const opened = (): string => {
    try {
      return readFileSync(join(here.home, 'opened'), 'utf8');
    } catch {
      return '';
    }
  };
  /** Signs in on pipes, by opening the address that is printed. */
  const auth = async () => {
    const child = spawn(...gmnCommand(['mcp', 'auth', 'wiki']), { cwd: here.cwd, env: here.env });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'close');
    let stderr = '';
    for await (const chunk of child.stderr.setEncoding('utf8')) {
      stderr += chunk;
      const [, page] = /open this address:\n(\S+)\n[\s\S]*Waiting/.exec(stderr) ?? [];
      if (page !== undefined) await (await fetch(page)).text();
    }
    const [exitCode] = await ended;
    return { stderr, exitCode };
  };
  return { ...here, peer, opened, auth };
}

const CALL = ['mcp', 'call', 'wiki', 'echo', 'message=hi'];
const REFUSED = {
  stdout: '',
  stderr: 'Error: MCP server wiki: it requires a sign-in (HTTP 401)\nTo sign in, run: gmn mcp auth wiki\n',
  exitCode: 5,
};

linuxTest('no browser of the folder is opened, and the one outside gets no key', async (t) => {
  const here = await signInPlace(t);
  const mark = join(here.root, 'mark');
  here.write(join(here.cwd, 'xdg-open'), `#!/bin/sh\n: > '${mark}'\n`);
  chmodSync(join(here.cwd, 'xdg-open'), 0o755);
  const PATH = ['.', '', here.cwd, join(here.root, 'bin'), here.env.PATH].join(delimiter);
  const env = { ...here.env, PATH, BROWSER: '', DISPLAY: ':0', GEMINI_API_KEY: 'test-key-0123456789' };
  await runInTerminal(t, ['mcp', 'auth', 'wiki'], { at: { cwd: here.cwd, env }, columns: 1000 }).ended;
  expect(existsSync(mark)).toBe(false);
  expect(here.opened()).toMatch(/^http:\/\/127\.0\.0\.1\S+\n$/);
});

test('auth signs in through the browser and keeps it', async (t) => {
  const here = await signInPlace(t);
  expect(await here.run(CALL)).toEqual(REFUSED);
  expect(here.opened()).toBe('');
  const { output, exitCode } = await runInTerminal(t, ['mcp', 'auth', 'wiki'], { env: here.env, columns: 1000 }).ended;
  expect([exitCode, output]).toEqual([0, expect.stringContaining('Signed in to wiki\r\n')]);
  expect(output).toContain('Your browser should open it now. Waiting for you to finish there…');
  expect(output).toContain(`To sign in, open this address:\r\n${here.opened().trim()}\r\n`);
  expect(await here.run(CALL)).toEqual({ stdout: 'remote hi\n', stderr: '', exitCode: 0 });
  expect((await here.run(['mcp', 'get', 'wiki'])).stdout).toContain('  sign-in  signed in, refreshed automatically\n');
  const kept = join(here.home, '.gmn/mcp');
  expect(readdirSync(kept).map((name) => statSync(join(kept, name)).mode & 0o777)).toEqual([0o600]);
});

test('without a terminal auth opens no browser, and waits for who opens its address; logout forgets it', async (t) => {
  const here = await signInPlace(t);
  expect(await here.auth()).toEqual({
    stderr: expect.stringMatching(/^To sign in, open this address:\nhttp\S+\nWaiting for you to finish there…\n$/),
    exitCode: 0,
  });
  expect(await here.run(['mcp', 'auth', 'wiki', '--json'])).toEqual({
    stdout: '{\n  "name": "wiki",\n  "signedIn": true\n}\n',
    stderr: '',
    exitCode: 0,
  });
  expect(here.opened()).toBe('');
  const ok = (words: string) => ({ stdout: `${words}\n`, stderr: '', exitCode: 0 });
  expect(await here.run(['mcp', 'logout', 'wiki'])).toEqual(ok('Signed out of wiki'));
  expect(await here.run(['mcp', 'logout', 'wiki'])).toEqual(ok('There was no sign-in for wiki'));
  expect(await here.run(CALL)).toEqual(REFUSED);
});

test('a program has nothing to sign in to', async (t) => {
  const here = await signInPlace(t);
  for (const verb of ['auth', 'logout']) {
    expect(await here.run(['mcp', verb, 'files'])).toEqual({
      stdout: '',
      stderr:
        'Error: MCP server files is a program on this machine: there is nothing to sign in to\n' +
        'Put its credentials into "env" of its entry in the settings.\n',
      exitCode: 1,
    });
  }
});

test('probe opens the browser that was named only if no questions are wanted', async (t) => {
  const here = await signInPlace(t);
  const address = `${here.peer.url}/mcp`;
  expect((await here.run(['mcp', 'probe', address])).exitCode).toBe(5);
  expect(here.opened()).toBe('');
  const { stdout, exitCode } = await here.run(['mcp', 'probe', '--accept-defaults', '-q', address]);
  expect([stdout, exitCode]).toEqual(['server    remote 1\nprotocol  2025-11-25\noffers    tools\ntools\n  echo\n', 0]);
});

test('--oauth goes into the settings, or says that it is none', async (t) => {
  const here = mcpPlace(t, {}, { files: { 'oauth.json': '{"clientId":"abc","scopes":["read"]}' } });
  await here.run(['mcp', 'add', 'wiki', 'https://w.example', '--oauth', '@oauth.json']);
  expect(JSON.parse(here.read()).mcpServers.wiki.oauth).toEqual({ clientId: 'abc', scopes: ['read'] });
  expect(await here.run(['mcp', 'add', 'wiki', 'https://w.example', '--oauth', 'secret'])).toEqual({
    stdout: '',
    stderr: `Error: --oauth: that is not a JSON object\nExample: --oauth '{"clientId":"abc"}'\n`,
    exitCode: 1,
  });
});
