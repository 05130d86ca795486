import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, chunk, fakeGemini, reply, stream } from '../support/gemini.ts';
import { objection, type WirePart } from '../support/gemini-rules.ts';
import { isStandalone, startGmn } from '../support/gmn.ts';
import { isWindows, posixTest } from '../support/posix.ts';

const CALL = call('list_directory', { dir_path: '.' }, { id: 'c1', thoughtSignature: 'c2ln' });

/** Where in a turn with a tool the process is killed, and what must be asked after it is gone on with. */
const MOMENTS = [
  ['before the first reply', 0, undefined, [{ text: 'one' }]],
  ['in the middle of the first reply', 0, [{ text: 'I look.' }], [{ text: 'one' }]],
  ['before the reply to the answer', 1, undefined, [{ text: 'one' }, CALL, { functionResponse: { id: 'c1' } }]],
] as const;

posixTest.for(MOMENTS)('killed %s, a chat goes on with all that was acknowledged', async ([, step, words, kept], t) => {
  const { env } = sharedHome(t);
  let kill = (): void => {};
  const killer = stream(...(words === undefined ? [] : [chunk(words)]), () => kill());
  const first = await fakeGemini(t, step === 0 ? [killer] : [reply(CALL), killer]);
  const { child, ended } = await startGmn(t, ['chat', '--session-name', 'torn', 'one'], { gemini: first, env });
  kill = () => void child.kill('SIGKILL');
  await ended;

  const second = await fakeGemini(t, [reply('two')]);
  const { stdout, exitCode } = await pipedChat(t, ['next'], { gemini: second, env, args: ['-r', 'torn'] });
  expect([stdout, exitCode]).toEqual(['two\n', 0]);
  const contents = second.requests[0]?.body.contents;
  const parts: readonly WirePart[] = contents.flatMap((content: { parts: WirePart[] }) => content.parts);
  expect(parts.slice(0, kept.length)).toMatchObject(kept);
  expect(parts.at(-1)).toEqual({ text: 'next' });
  expect(objection(contents, [CALL])).toBeUndefined();
});

/** A server that nobody can make end. */
const STUBBORN = `
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
setInterval(() => {}, 1000);
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'near', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
});
`;

test.skipIf(isWindows || isStandalone).for(['chat', '-o json'])(
  'a failure that nobody foresaw is told once (%s), however long a server takes to end',
  async (way, t) => {
    const mcpServers = { near: { command: process.execPath, args: ['stubborn.cjs'] } };
    let fail = (): void => {};
    const options = {
      script: [stream('I look.', () => fail())],
      files: { 'stubborn.cjs': STUBBORN, 'servers.json': JSON.stringify({ mcpServers }) },
      env: { NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGUSR2',()=>{throw(new(Error)('boom'))})" },
    };
    const args = way === 'chat' ? ['chat'] : ['-o', 'json', '--tools', 'read'];
    const { child, ended } = await startGmn(t, [...args, '--mcp-config', 'servers.json', 'hi'], {
      ...options,
      stdin: 'open',
    });
    fail = () => void child.kill('SIGUSR2');
    const { stdout, stderr, exitCode } = await ended;
    expect(`${stdout}${stderr}`.match(/boom/g)).toEqual(['boom']);
    expect(exitCode).toBe(1);
  },
);

test('a second chat on an open session continues a copy, and neither loses anything', async (t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, ['--demo', '--session-name', 'shared'], { env });
  await chat.until(/❯ /);
  chat.enter('hello');
  await chat.until(/help you today\?[\s\S]*❯ /);
  const { stderr } = await pipedChat(t, ['hi'], { env, args: ['--demo', '-r', 'shared'] });
  expect(stderr).toMatch(/this session is open elsewhere; continuing in a copy, [\da-f]{8}\n/);
  const [, copy = ''] = /^Resume: gmn chat --demo -r ([\da-f]{8})$/m.exec(stderr) ?? [];
  chat.enter('best month for Kyoto?');
  await chat.until(/November[\s\S]*❯ /);
  chat.type('\u0004');
  expect((await chat.ended).exitCode).toBe(0);
  const texts = readdirSync(join(path, 'sessions'))
    .filter((name) => name.endsWith('.jsonl'))
    .sort((left, right) => Number(left.includes(`-${copy}`)) - Number(right.includes(`-${copy}`)))
    .map((name) => readFileSync(join(path, 'sessions', name), 'utf8'));
  expect(
    texts.map((text) => [text.includes('help you today'), text.includes('we building'), text.includes('November')]),
  ).toEqual([
    [true, false, true],
    [true, true, false],
  ]);
});
