import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { SELF_SIGNED } from '../api/certificates.ts';
import { answerTo, httpPeer } from '../mcp/client/http-peer.ts';
import { startServing } from '../mcp/server/support.ts';
import { pipedChat } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, type FakeGemini, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { isStandalone, runGmn, startGmn } from '../support/gmn.ts';

const NUMBERS = Array.from({ length: 12 }, (_, index) => index + 1);
const FILES = Object.fromEntries(NUMBERS.map((n) => [`${n}.txt`, `${n}`]));
const TRUSTING = { files: { 'ca.pem': SELF_SIGNED.cert, ...FILES }, env: { NODE_EXTRA_CA_CERTS: 'ca.pem' } };
const read = (n: number) => reply(call('read_file', { file_path: `${n}.txt` }));
/** Calls a tool twelve times, then answers. */
const TOOL_TURN = [...NUMBERS.map(read), reply('done')];
const TLS = { tls: SELF_SIGNED };
/** The server ends the connection with its answer. */
const closing =
  (scripted: Scripted): Scripted =>
  (response, request) => {
    response.setHeader('connection', 'close');
    return scripted(response, request);
  };

describe.skipIf(isStandalone)('connections', () => {
  test.for([true, false])('a turn of twelve tool calls makes one connection (TLS: %s)', async (isTls, t) => {
    const model = await fakeGemini(t, TOOL_TURN, isTls ? TLS : {});
    const gmn = await runGmn(t, ['--tools', 'read', 'go'], { gemini: model, ...TRUSTING });
    expect(gmn).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(model.sockets).toHaveLength(1);
    await expect.poll(() => model.sockets.every(({ destroyed }) => destroyed)).toBe(true);
  });

  test('a chat without a connection opens one at the first key of an entry, not at Enter', async (t) => {
    const model = await fakeGemini(t, [closing(reply('done')), closing(reply('done'))]);
    const chat = chatInTerminal(t, ['--no-session'], { gemini: model });
    await chat.ready(1);
    chat.enter('one');
    await chat.until(/done[\s\S]*❯/);
    const before = model.sockets.length;
    chat.type('t');
    await expect.poll(() => model.sockets.length).toBe(before + 1);
    expect(model.requests.length).toBe(1);
    chat.enter('wo');
    await chat.until(/done[\s\S]*❯[\s\S]*done/);
    expect([model.requests.length, model.sockets.length]).toEqual([2, before + 1]);
    chat.enter('/exit');
    await chat.ended;
  });

  test('a server that keeps no connection is connected to anew, and its TLS session is resumed', async (t) => {
    const resumed: boolean[] = [];
    const noting = (scripted: Scripted) =>
      closing((response, request) => {
        resumed.push((response.socket as TLSSocket).isSessionReused());
        return scripted(response, request);
      });
    const model = await fakeGemini(t, [read(1), read(2), reply('done')].map(noting), TLS);
    const gmn = await runGmn(t, ['--tools', 'read', 'go'], { gemini: model, ...TRUSTING });
    expect(gmn).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(resumed).toEqual([false, true, true]);
  });

  test('a TLS session is resumed no more once its connection failed', async (t) => {
    const resumed: boolean[] = [];
    const noting = (scripted: Scripted) =>
      closing((response, request) => {
        resumed.push((response.socket as TLSSocket).isSessionReused());
        return scripted(response, request);
      });
    const reset: Scripted = () => void model.rawSockets.at(-1)?.resetAndDestroy();
    const model: FakeGemini = await fakeGemini(t, [read(1), reset, reply('done')].map(noting), TLS);
    const gmn = await runGmn(t, ['--tools', 'read', 'go'], { gemini: model, ...TRUSTING });
    expect(gmn).toMatchObject({ exitCode: 0, stdout: 'done\n', stderr: expect.stringContaining('retry 1') });
    expect(resumed).toEqual([false, true, false]);
  });

  test('a server that hangs up after every answer, without a word, costs no error', async (t) => {
    const leaving = (scripted: Scripted): Scripted => {
      return (response, request) => {
        const { socket } = response;
        response.on('finish', () => socket?.destroySoon());
        return scripted(response, request);
      };
    };
    const gmn = await runGmn(t, ['--tools', 'read', 'go'], { script: TOOL_TURN.map(leaving), ...TRUSTING });
    expect(gmn).toMatchObject({ exitCode: 0, stdout: 'done\n', stderr: expect.not.stringContaining('retry') });
  });

  test('the second turn of a chat makes no new connection', async (t) => {
    const model = await fakeGemini(t, [reply('answer 1'), reply('answer 2'), reply('answer 3')]);
    const { stdout, exitCode } = await pipedChat(t, ['one', 'two', 'three'], { gemini: model });
    expect(stdout).toContain('answer 3');
    expect([exitCode, model.requests.length, model.sockets.length]).toEqual([0, 3, 1]);
  });

  test('the second call of mcp serve makes no new connection', async (t) => {
    const model = await fakeGemini(t, [reply('answer 1'), reply('answer 2')]);
    const server = await startServing(t, { gemini: model });
    for (const n of [1, 2]) {
      expect((await server.call('generate_text', { prompt: 'Hi' })).content[0].text).toBe(`answer ${n}`);
    }
    expect([model.requests.length, model.sockets.length]).toEqual([2, 1]);
    // An idle connection does not keep the process alive.
    expect(await server.end()).toBe(0);
    await expect.poll(() => model.sockets.every(({ destroyed }) => destroyed)).toBe(true);
  });

  test('the handshake is over before stdin ends', async (t) => {
    const model = await fakeGemini(t, [reply('done')], TLS);
    const { child, ended } = await startGmn(t, ['what is this?'], { gemini: model, ...TRUSTING, stdin: 'open' });
    child.stdin?.write('first half, ');
    await model.connected;
    expect(model.requests.length).toBe(0);
    child.stdin?.end('second half');
    expect([(await ended).stdout, model.requests.length, model.sockets.length]).toEqual(['done\n', 1, 1]);
  });

  test('--dry-run connects to nobody', async (t) => {
    const model = await fakeGemini(t, []);
    expect((await runGmn(t, ['--dry-run', 'hi'], { gemini: model })).exitCode).toBe(0);
    expect(model.sockets).toEqual([]);
  });

  test('a tools/call that its server read and did not answer is an error, and is not sent again', async (t) => {
    const peer = await httpPeer(t, ({ method, body }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end();
      if (JSON.parse(body).method === 'tools/call') return void response.socket?.destroy();
      const answer = answerTo(body);
      if (answer === undefined) return void response.writeHead(202).end();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    const gmn = await runGmn(t, ['mcp', 'call', 'far', 'echo', 'message=hi'], {
      settings: { mcpServers: { far: { httpUrl: `${peer.url}/mcp` } } },
    });
    expect(gmn).toMatchObject({
      exitCode: 5,
      stdout: '',
      stderr: expect.stringContaining('closed before an answer came'),
    });
    expect(peer.received.filter(({ body }) => body.includes('tools/call'))).toHaveLength(1);
  });
});
