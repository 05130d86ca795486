import { once } from 'node:events';
import { existsSync, statSync, symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fakeGemini } from '../../../support/gemini.ts';
import { place } from '../../../support/gmn.ts';
import { posixTest, systemMode } from '../../../support/posix.ts';
import { echo, httpClient, serveHttp, serveRaw, silence, startHttp, TOOL_COUNT } from '../support.ts';

const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize' });

/** With exactly these headers: `fetch` does not let a test forge its host. */
function send(
  url: string,
  {
    method = 'POST',
    path = '/mcp',
    headers = {},
    body = INITIALIZE,
  }: { method?: string; path?: string; headers?: object; body?: string },
): Promise<{ status: number; headers: Record<string, string | string[] | undefined>; text: string }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      },
      (response) => {
        let text = '';
        response.on('data', (data: Buffer) => {
          text += data.toString();
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    asked.on('error', reject);
    asked.end(method === 'GET' ? undefined : body);
  });
}

test.for(['legacy', 'auto'] as const)('the SDK’s client works over http in %s mode', async (mode, t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const server = await serveHttp(t, { gemini });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const client = await httpClient(t, server, mode);
  expect((await client.listTools()).tools).toHaveLength(TOOL_COUNT);
  const progress: number[] = [];
  const { content } = await client.callTool(
    { name: 'generate_text', arguments: { prompt: 'Hello' } },
    { onprogress: (told) => void progress.push(told.progress) },
  );
  expect(content).toEqual([{ type: 'text', text: 'echo: Hello' }]);
  expect(progress).toEqual(progress.map((_, index) => index + 1));
  expect(progress.length).toBeGreaterThan(0);
  const { structuredContent } = await client.callTool({ name: 'delegate', arguments: { prompt: 'x' } });
  expect(structuredContent).toMatchObject({ status: 'completed', output: 'echo: x' });
});

test.for(['legacy', 'auto'] as const)(
  'taking a call back over http in %s mode closes the model’s connection',
  async (mode, t) => {
    const { scripted, begun, closed } = silence();
    const server = await serveHttp(t, { gemini: await fakeGemini(t, [scripted]) });
    const client = await httpClient(t, server, mode);
    const controller = new AbortController();
    const call = client.callTool({ name: 'generate_text', arguments: { prompt: 'x' } }, { signal: controller.signal });
    await begun;
    controller.abort();
    await expect(call).rejects.toThrow();
    await closed;
  },
);

test('the stream of a cancelled call ends without a response', async (t) => {
  const { scripted, begun } = silence();
  const { url, token } = await serveHttp(t, { gemini: await fakeGemini(t, [scripted]) });
  const opened = await send(url, { headers: { authorization: `Bearer ${token}` } });
  const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': opened.headers['mcp-session-id'] };
  const params = { name: 'generate_text', arguments: { prompt: 'x' } };
  const call = send(url, { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }) });
  await begun;
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  expect((await send(url, { headers, body: JSON.stringify(cancel) })).status).toBe(202);
  expect(await call).toMatchObject({ status: 200, text: '' });
});

test('two clients with the same ids get their own answers, 200 calls interleaved', async (t) => {
  const gemini = await fakeGemini(t, Array(40).fill(echo));
  const server = await serveHttp(t, { gemini });
  const clients = [await httpClient(t, server), await httpClient(t, server)];
  const calls = Array.from({ length: 100 }, (_, index) =>
    clients.map(async (client, owner) => {
      const words = `client ${owner}, call ${index}`;
      const isAsked = index % 5 === 0;
      const asked = isAsked
        ? { name: 'generate_text', arguments: { prompt: words } }
        : { name: 'delegate_status', arguments: { job_id: words } };
      const { content } = await client.callTool(asked);
      const answer = `JOB_NOT_FOUND: there is no job "${words}"\ndelegate_jobs lists those there are.`;
      expect(content).toEqual([{ type: 'text', text: isAsked ? `echo: ${words}` : answer }]);
    }),
  );
  await Promise.all(calls.flat());
}, 60_000);

test('the answer to a rejected request says why, and nothing more', async (t) => {
  const { url, token } = await serveHttp(t);
  const { port } = new URL(url);
  const authorization = `Bearer ${token}`;
  const status = async (headers: object, rest: object = {}) => (await send(url, { headers, ...rest })).status;
  expect(await status({})).toBe(401);
  expect(await status({ authorization: 'Bearer wrong' })).toBe(401);
  expect(await status({ authorization: token })).toBe(401);
  expect(await status({ authorization: `Bearer ${token}x` })).toBe(401);
  expect(await status({ authorization: `bEARER  ${token}` })).toBe(200);
  expect(await status({ authorization: `Bearer ${token.slice(0, -1)}` })).toBe(401);
  expect((await send(url, {})).headers['www-authenticate']).toBe('Bearer');
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '0.0.0.0',
    '169.254.1.1',
    'localhost@evil.example',
    `evil.example@127.0.0.1:${port}`,
    '127.0.0.1#.evil.example',
    '127.0.0.1/.evil.example',
    '127.0.0.1?.evil.example',
  ]) {
    expect([host, await status({ authorization, host })]).toEqual([host, 403]);
  }
  for (const origin of [
    'https://evil.example',
    'http://localhost.evil.example',
    'null',
    'file://',
    'chrome-extension://abc',
  ]) {
    expect([origin, await status({ authorization, origin })]).toEqual([origin, 403]);
  }
  expect(await status({ authorization, 'content-type': 'text/plain' })).toBe(415);
  expect(await status({ authorization, 'content-type': 'application/x-www-form-urlencoded' })).toBe(415);
  expect(await status({ authorization }, { path: '/' })).toBe(404);
  expect(await status({ authorization }, { path: '//evil.example/mcp' })).toBe(404);
  expect(await status({ authorization }, { method: 'PUT' })).toBe(405);
  const preflight = await send(url, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
  expect(preflight.status).toBe(403);
  expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
    expect([host, await status({ authorization, host, origin: `http://${host}` })]).toEqual([host, 200]);
  }
});

test('protocol errors have their codes over http, too', async (t) => {
  const { url, token } = await serveHttp(t);
  const headers = { authorization: `Bearer ${token}` };
  const answer = async (body: string) => {
    const { status, text } = await send(url, { headers, body });
    return [status, JSON.parse(text).error.code];
  };
  expect(await answer('no JSON')).toEqual([400, -32700]);
  expect(await answer('[]')).toEqual([400, -32600]);
  expect(await answer('{"jsonrpc":"2.0","id":{},"method":"ping"}')).toEqual([400, -32600]);
  const unknown = await send(url, { headers: { ...headers, 'mcp-session-id': 'nobody' } });
  expect(unknown.status).toBe(404);
  const large = await send(url, { headers, body: `{"x":"${'x'.repeat(33_000_000)}"}` });
  expect(large.status).toBe(413);
});

test('sessions of clients that never return do not pile up', async (t) => {
  const { url, token } = await serveHttp(t);
  const headers = { authorization: `Bearer ${token}` };
  const ids: unknown[] = [];
  for (let count = 0; count < 70; count += 1) ids.push((await send(url, { headers })).headers['mcp-session-id']);
  const ping = { body: '{"jsonrpc":"2.0","id":2,"method":"ping"}' };
  const status = async (id: unknown) =>
    (await send(url, { headers: { ...headers, 'mcp-session-id': id }, ...ping })).status;
  expect(await status(ids[0])).toBe(404);
  expect(await status(ids.at(-1))).toBe(200);
});

test('a session with a request in flight is not closed, nor one for a client that never opened', async (t) => {
  const { scripted, begun } = silence();
  const { url, token } = await serveHttp(t, { gemini: await fakeGemini(t, [scripted]) });
  const headers = { authorization: `Bearer ${token}` };
  const open = async () => (await send(url, { headers })).headers['mcp-session-id'];
  const ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}';
  const status = async (id: unknown) =>
    (await send(url, { headers: { ...headers, 'mcp-session-id': id }, body: ping })).status;
  const waiting = await open();
  const params = { name: 'generate_text', arguments: { prompt: 'x' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params });
  send(url, { headers: { ...headers, 'mcp-session-id': waiting }, body }).catch(() => {});
  await begun;
  const idle = await open();
  for (let count = 0; count < 62; count += 1) await open();
  // Now there are 64 sessions.
  for (let count = 0; count < 3; count += 1) expect((await send(url, { headers, body: ping })).status).toBe(400);
  expect((await send(url, { headers, method: 'GET' })).status).toBe(400);
  expect(await status(idle)).toBe(200);
  for (let count = 0; count < 64; count += 1) await open();
  expect([await status(waiting), await status(idle)]).toEqual([200, 404]);
});

test('the token can be in a private file, which is created if it is missing', async (t) => {
  const at = place(t);
  const first = await serveHttp(t, { at, flags: ['--token-file', 'token'] });
  expect(first.stderr()).toContain('token written to token');
  expect(first.token).toBe('');
  const file = join(at.cwd, 'token');
  expect(statSync(file).mode & 0o777).toBe(systemMode(0o600));
  const second = await serveHttp(t, { at, flags: ['--token-file', 'token'] });
  expect(second.stderr()).toContain('token from token');
});

posixTest('a token file is not created where a link of the folder leads', async (t) => {
  const at = place(t);
  symlinkSync(at.home, join(at.cwd, 'away'));
  const server = serveRaw(t, { at, flags: ['--http', '--token-file', 'away/token'] });
  expect(await server.end()).toBe(1);
  expect(server.stderr()).toContain('outside of the working directory');
  expect(existsSync(join(at.home, 'token'))).toBe(false);
});

test('a token file without http is refused, not ignored', async (t) => {
  const server = serveRaw(t, { flags: ['--token-file', 'token'] });
  expect(await server.end()).toBe(1);
  expect(server.stderr()).toBe('Error: --token-file is only for --http\nAdd --http, or leave --token-file out.\n');
});

test('the token can be in the environment, if it is long enough', async (t) => {
  const token = 'a-token-of-my-own-0123';
  const server = await serveHttp(t, { env: { GMN_MCP_TOKEN: token } });
  expect(server.stderr()).not.toContain(token);
  expect((await send(server.url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  const short = await serveHttp(t, { env: { GMN_MCP_TOKEN: 'short' } });
  expect(short.stderr()).toContain('GMN_MCP_TOKEN: a token has at least 16 visible characters');
});

posixTest('a signal ends the server and its work', async (t) => {
  const { scripted, begun, closed } = silence();
  const server = await startHttp(t, { gemini: await fakeGemini(t, [scripted]) });
  const client = await httpClient(t, server);
  // It never gets a response.
  client.callTool({ name: 'delegate', arguments: { prompt: 'x' } }).catch(() => {});
  await begun;
  server.child.kill('SIGTERM');
  expect((await once(server.child, 'exit'))[0]).toBe(143);
  await closed;
});
