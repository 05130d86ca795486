import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { askHarmless, harmlessPlace, runHarmless } from '../support/harmless.ts';
import { posixTest } from '../support/posix.ts';

// All programs named here are fakes that write a log: see harmless.ts.
const LINES = [
  'rm -rf /',
  'rm -rf "$HOME"',
  'rm -rf ~/*',
  'true && rm -rf /',
  "sh -c 'rm -rf /'",
  'sudo rm -rf --no-preserve-root /',
  'D=/; rm -rf $D',
  'find / | xargs rm',
  'find / -delete',
  'chmod -R 777 /',
  'chown -R nobody "$HOME"',
  'mkfs.ext4 /dev/sda',
  'dd if=/dev/zero of=/dev/sda',
  'git -C / clean -fdx',
  'cd .. && git clean -fdx',
  'shutdown -h now',
];
const HARM = /it would destroy more than the workspace/;
const shell = (command: string) => call('run_shell_command', { command });

posixTest.for<readonly string[]>([
  ['--yolo'],
  ['--allowed-tools', 'run_shell_command'],
  ['--approval-mode', 'auto_edit', '--allowed-tools', 'run_shell_command(rm)'],
])('no flag lets such a command run: %j', { timeout: 60_000 }, async (flags, t) => {
  const gemini = await fakeGemini(t, [reply(...LINES.map(shell)), reply('done')]);
  const at = harmlessPlace(t, { gemini, files: { 'a.txt': 'A' } });
  const gmn = await runHarmless(t, at, ['--tools', 'all', ...flags, '-o', 'json', 'x']);
  expect(gmn.exitCode, gmn.stderr).toBe(0);
  const errors = gemini.requests[1]?.results.map(({ error }) => error);
  for (const [index, error] of (errors ?? []).entries()) expect(error, LINES[index]).toMatch(HARM);
  expect(errors).toHaveLength(LINES.length);
  expect(JSON.parse(gmn.stdout).warnings.join('\n')).toContain('Run it yourself; or');
  expect(at.called()).toEqual([]);
});

posixTest('other commands with these programs run, and a link to a home directory is followed', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(shell('rm -rf build'), shell('rm -rf outside/'), shell('git status')),
    reply('done'),
  ]);
  const at = harmlessPlace(t, { gemini });
  symlinkSync(at.home, join(at.cwd, 'outside'));
  await runHarmless(t, at, ['--tools', 'all', '--yolo', '-o', 'json', 'x']);
  expect(at.called()).toEqual(['rm -rf build', 'git status']);
});

posixTest.for([
  ['run and Enter', 'run\r', ['rm -rf HOME']],
  ['Enter', '\r', []],
  ['y', 'y\r', []],
  ['ru', 'ru\r', []],
  ['Esc', '\u001b', []],
  ['Esc after the word', 'run\u001b', []],
  ['Ctrl+C', '\u0003', []],
] as const)('at a terminal the word is typed in full: %s', async ([, keys, called], t) => {
  const gemini = await fakeGemini(t, (response, request) =>
    (gemini.requests.length === 1 ? reply(shell('rm -rf "$HOME"')) : reply('done'))(response, request),
  );
  const at = harmlessPlace(t, { gemini });
  const terminal = askHarmless(t, at, ['--tools', 'all', '--allowed-tools', 'run_shell_command', 'x']);
  await terminal.waitUntil(() => terminal.output().includes('Esc is no › '), terminal.output);
  expect(terminal.output()).toContain('Nothing brings back what it destroys: rm: the home directory');
  expect(terminal.output()).not.toContain('[y]es');
  terminal.type(keys);
  await terminal.ended;
  expect(at.called()).toEqual(called.map((line) => line.replace('HOME', at.home)));
});

posixTest('--verify, hooks and templates with such a command are refused', { timeout: 60_000 }, async (t) => {
  const gemini = await fakeGemini(t, [reply(shell('git status')), reply('done')]);
  const hook = { hooks: [{ type: 'command', command: 'rm -rf "$HOME"' }] };
  const at = harmlessPlace(t, {
    gemini,
    settings: { hooks: { BeforeTool: [hook] } },
    home: { '.gemini/commands/clean.toml': 'prompt = "!{rm -rf /}"' },
  });
  const verified = await runHarmless(t, at, ['--tools', 'all', '--yolo', '--verify', 'rm -rf ~', 'x']);
  expect(verified.exitCode).toBe(1);
  expect(verified.stderr).toMatch(/--verify is refused: .*home directory/);
  const template = await runHarmless(t, at, ['--yolo', '-p', '/clean']);
  expect(template.exitCode).toBe(1);
  expect(template.stderr).toMatch(HARM);
  expect(gemini.requests).toHaveLength(0);
  const hooked = await runHarmless(t, at, ['--tools', 'all', '--yolo', '-o', 'json', 'x']);
  expect(gemini.requests[1]?.results[0].error).toMatch(HARM);
  expect(hooked.exitCode).toBe(0);
  expect(at.called()).toEqual([]);
});

const DELEGATE = { name: 'delegate', arguments: { prompt: 'x' } };

posixTest('delegated work does not run it', { timeout: 60_000 }, async (t) => {
  const gemini = await fakeGemini(t, [reply(shell('rm -rf /')), reply('done')]);
  const at = harmlessPlace(t, { gemini });
  const served = await runHarmless(t, at, ['mcp', 'serve', '--allow-shell'], {
    first: [
      {
        ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
    ],
    answer: (line) => {
      const { id } = JSON.parse(line);
      if (id === 1) return { jsonrpc: '2.0', id: 2, method: 'tools/call', params: DELEGATE };
      return id === 2 ? null : undefined;
    },
  });
  expect(gemini.requests[1]?.results[0]?.error, served.stdout + served.stderr).toMatch(HARM);
  expect(at.called()).toEqual([]);
});

posixTest('a program and an editor are not even asked', { timeout: 60_000 }, async (t) => {
  const gemini = await fakeGemini(t, [
    reply(shell('rm -rf /')),
    reply('done'),
    reply(shell('rm -rf /')),
    reply('done'),
  ]);
  const at = harmlessPlace(t, { gemini });
  const seen: string[] = [];
  await runHarmless(t, at, ['--tools', 'all', '--input-format', 'stream-json', '-o', 'stream-json'], {
    first: [{ type: 'prompt', id: '1', text: 'x' }],
    answer: (line) => {
      const { type, call: asked } = JSON.parse(line);
      seen.push(type);
      if (type === 'approval') return { type: 'approve', call: asked, decision: 'always' };
      return type === 'done' || type === 'error' ? null : undefined;
    },
  });
  expect(seen).not.toContain('approval');
  expect(gemini.requests[1]?.results[0]?.error).toMatch(HARM);
  const methods: string[] = [];
  const acp = await runHarmless(t, at, ['acp', '--tools', 'all'], {
    first: [{ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } }],
    answer: (line) => {
      const { id, method, result, params } = JSON.parse(line);
      methods.push(method);
      if (method === 'session/request_permission')
        return {
          jsonrpc: '2.0',
          id,
          result: { outcome: { outcome: 'selected', optionId: params.options[0].optionId } },
        };
      if (method !== undefined) return undefined;
      if (id === 1) return { jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: at.cwd, mcpServers: [] } };
      const prompt = [{ type: 'text', text: 'x' }];
      if (id === 2)
        return { jsonrpc: '2.0', id: 3, method: 'session/prompt', params: { sessionId: result.sessionId, prompt } };
      return null;
    },
  });
  expect(methods).not.toContain('session/request_permission');
  expect(gemini.requests[3]?.results[0]?.error, acp.stderr).toMatch(HARM);
  expect(at.called()).toEqual([]);
});
