import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { oauthDocument } from '../auth/support/home.ts';
import { rotating, tokenServer } from '../auth/support/token-server.ts';
import { answerTo, httpPeer } from '../mcp/client/http-peer.ts';
import { gate } from '../support/gate.ts';
import { chunk, events, fakeGemini, finish, json, reply, type Scripted, sse } from '../support/gemini.ts';
import { place, startGmn } from '../support/gmn.ts';
import { mcpPlace } from '../support/mcp-place.ts';
import { linuxTest } from '../support/posix.ts';
import { whileStopped } from '../support/stopped.ts';

/** A program that is stopped for longer than this has a timer that is overdue when it goes on. Before that, a busy machine has this long. */
const LIMIT_MS = 3000;
const LIMIT = `${LIMIT_MS}ms`;

/** An answer that is held back until the test lets it go; `send` resolves when all of it was handed to the system. */
function holdBack() {
  const asked = gate();
  const go = gate();
  const sent = gate();
  const send = (): Promise<void> => {
    go.open();
    return sent.opened;
  };
  const hold = (response?: ServerResponse): Promise<void> => {
    response?.on('finish', sent.open);
    asked.open();
    return go.opened;
  };
  return { asked: asked.opened, hold, sent, send };
}

function heldBack(answer: Scripted) {
  const held = holdBack();
  const scripted: Scripted = async (response, request) => {
    await held.hold(response);
    await answer(response, request);
  };
  return { scripted, ...held };
}

describe.concurrent('what arrives while the program is stopped', () => {
  linuxTest.for([
    ['GMN_HEADERS_TIMEOUT', []],
    ['--timeout', ['-t', LIMIT]],
  ] as const)('is the answer, though %s is over by then', async ([name, args], t) => {
    const held = heldBack(reply('It is ', 'here.'));
    const gemini = await fakeGemini(t, [held.scripted]);
    const here = place(t, { gemini, env: args.length === 0 ? { [name]: LIMIT } : {} });
    const { child, ended } = await startGmn(t, ['hi', ...args], { at: here });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: 'It is here.\n', stderr: '', exitCode: 0 });
  });

  linuxTest('is the answer through a proxy, though GMN_HEADERS_TIMEOUT is over', async (t) => {
    const held = heldBack(reply('It is here.'));
    // It takes the place of the proxy, too: both get the same request, but for its address.
    const gemini = await fakeGemini(t, [held.scripted]);
    const proxy = { HTTP_PROXY: gemini.url, NO_PROXY: '<-loopback>', GMN_HEADERS_TIMEOUT: LIMIT };
    const { child, ended } = await startGmn(t, ['hi'], { at: place(t, { gemini, env: proxy }) });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: 'It is here.\n', stderr: '', exitCode: 0 });
  });

  linuxTest('is the answer, packed too', async (t) => {
    const text = 'All of it. '.repeat(2000).trim();
    const held = heldBack((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(gzipSync(sse(chunk([{ text }])) + sse(finish())));
    });
    const gemini = await fakeGemini(t, [held.scripted]);
    const { child, ended } = await startGmn(t, ['hi', '-t', LIMIT], { at: place(t, { gemini }) });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: `${text}\n`, stderr: '', exitCode: 0 });
  });

  linuxTest('is the rest of an answer, though GMN_IDLE_TIMEOUT is over', async (t) => {
    const begun = gate();
    let response: ServerResponse | undefined;
    const gemini = await fakeGemini(t, [
      (opened) => {
        response = opened;
        opened.writeHead(200, { 'content-type': 'text/event-stream' });
        opened.write(sse(chunk([{ text: 'First, ' }])));
      },
    ]);
    const { child, ended } = await startGmn(t, ['hi'], { at: place(t, { gemini, env: { GMN_IDLE_TIMEOUT: LIMIT } }) });
    child.stdout?.once('data', begun.open);
    await begun.opened;
    await whileStopped(
      child,
      LIMIT_MS,
      () =>
        new Promise<void>((resolve) => {
          response?.write(sse(chunk([{ text: 'second.' }])));
          response?.end(sse(finish()), resolve);
        }),
    );
    expect(await ended).toMatchObject({ stdout: 'First, second.\n', stderr: '', exitCode: 0 });
  });

  linuxTest('is the new refresh token, which is kept', async (t) => {
    const grant = rotating();
    const held = holdBack();
    const tokens = await tokenServer(t, (response, form, count) => {
      void held.hold(response).then(() => grant(response, form, count));
    });
    const gemini = await fakeGemini(t, [
      json({ currentTier: { id: 'free-tier' }, cloudaicompanionProject: 'p' }),
      events([{ response: chunk([{ text: 'signed in' }]) }, { response: finish() }]),
    ]);
    const here = place(t, {
      home: { '.gemini/oauth_creds.json': oauthDocument() },
      env: {
        GMN_OAUTH_TOKEN_URL: tokens.url,
        GMN_OAUTH_CLIENT_ID: 'id',
        GMN_OAUTH_CLIENT_SECRET: 'secret',
        CODE_ASSIST_ENDPOINT: gemini.url,
        GMN_HEADERS_TIMEOUT: LIMIT,
      },
    });
    const { child, ended } = await startGmn(t, ['hi', '-q'], { at: here });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: 'signed in\n', exitCode: 0 });
    expect(tokens.forms).toHaveLength(1);
    const kept = JSON.parse(readFileSync(`${here.home}/.gemini/oauth_creds.json`, 'utf8'));
    expect(kept.refresh_token).toBe(`${tokens.forms[0]?.refresh_token}+`);
  });

  const METHODS = ['initialize', 'tools/list', 'tools/call'] as const;

  linuxTest.for(METHODS)('is the answer of an MCP server to %s, over http', async (name, t) => {
    const held = holdBack();
    const peer = await httpPeer(t, async ({ method, body }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end();
      const answer = answerTo(body);
      if (answer === undefined) return void response.writeHead(202).end();
      if (JSON.parse(body).method === name) await held.hold(response);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    const here = mcpPlace(t, { far: { httpUrl: `${peer.url}/mcp`, timeout: LIMIT_MS } });
    const { child, ended } = await startGmn(t, ['mcp', 'call', 'far', 'echo', 'message=hi'], { at: here });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: 'remote hi\n', stderr: '', exitCode: 0 });
  });

  linuxTest.for(METHODS)('is the answer of an MCP server to %s, over stdio', async (name, t) => {
    const held = holdBack();
    const { url } = await httpPeer(t, async ({ path }, response) => {
      if (path === '/sent') held.sent.open();
      else await held.hold();
      response.end();
    });
    const near = { command: process.execPath, args: ['near.cjs', url, name], timeout: LIMIT_MS };
    const here = mcpPlace(t, { near }, { files: { 'near.cjs': STDIO_SERVER } });
    const { child, ended } = await startGmn(t, ['mcp', 'call', 'near', 'echo', 'message=hi'], { at: here });
    await held.asked;
    await whileStopped(child, LIMIT_MS, held.send);
    expect(await ended).toMatchObject({ stdout: 'near hi\n', stderr: '', exitCode: 0 });
  });
});

/** Asks the address it was given before it answers the method it was given, and tells it when the answer is in the pipe. */
const STDIO_SERVER = `
const [, , url, held] = process.argv;
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'near', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: 'near ' + params.arguments.message }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === held) await fetch(url + '/asked');
  const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n', () => {
    if (method === held) fetch(url + '/sent');
  });
});
`;
