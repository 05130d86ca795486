import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { HttpResponse, HttpTimers } from '../../../src/core/io.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { type Answer, answer, loopback, readText, stream, TIMERS } from '../../api/loopback.ts';
import { runGmn } from '../../support/gmn.ts';

const PASSWORD = 'pass-w0rd';

interface Setting {
  readonly timers?: Partial<HttpTimers>;
  readonly signal?: AbortSignal;
  readonly body?: string | Uint8Array;
}

function send(url: URL, proxy: URL, setting: Setting = {}): Promise<HttpResponse> {
  const address = new URL(proxy);
  address.username = 'me';
  address.password = PASSWORD;
  const env = { HTTPS_PROXY: address.href, HTTP_PROXY: address.href, NO_PROXY: '<-loopback>' };
  const { send: client } = createHttpClient({
    timers: { ...TIMERS, ...setting.timers },
    env,
    trace,
    clock: { now: () => 0 },
  });
  const request = { method: 'POST', url, headers: { 'x-a': '1' }, body: setting.body ?? '{}' } as const;
  return client(request, setting.signal ?? new AbortController().signal);
}

function trace(line: string): void {
  expect(line).not.toContain(PASSWORD);
}

async function failureOf(t: TestContext, answers: readonly Answer[], timers: Partial<HttpTimers> = {}) {
  const proxy = await loopback(t, answers);
  const thrown: unknown = await send(new URL('https://model.test/x'), proxy.url, { timers }).catch((error) => error);
  if (!(thrown instanceof AppError)) throw new Error('expected an AppError');
  expect(JSON.stringify([thrown.message, thrown.hint])).not.toContain(PASSWORD);
  return { error: thrown, proxy };
}

test('plain http goes to the proxy as the proxy’s own request, with the credentials (N29)', async (t) => {
  const proxy = await loopback(t, [answer(200, 'hello')]);
  const response = await send(new URL('http://127.0.0.1:9/x?y=1'), proxy.url, { body: 'ü' });
  expect({ status: response.status, text: await readText(response) }).toEqual({ status: 200, text: 'hello' });
  const [request] = proxy.requests;
  expect(request?.body).toBe('ü');
  const lines = request?.head.split('\r\n') ?? [];
  expect(lines[0]).toBe('POST http://127.0.0.1:9/x?y=1 HTTP/1.1');
  expect(lines).toContain(`proxy-authorization: Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`);
  expect(lines).toContain('x-a: 1');
  await expect.poll(proxy.closed).toBe(1);
});

test.for([
  ['text', 'ü'.repeat(1024 * 1024)],
  ['bytes', Buffer.alloc(300_000, 'bytes ').subarray(6, 290_000)],
] as const)('an upload of many slices of %s passes the proxy whole', async ([, body], t) => {
  const proxy = await loopback(t, [answer(200, 'ok')]);
  expect(await readText(await send(new URL('http://127.0.0.1:9/'), proxy.url, { body }))).toBe('ok');
  expect(proxy.requests[0]?.body).toBe(body.toString());
});

test('a proxy that is named by its address makes no runtime complain', async (t) => {
  // It hangs up at once; what Node says about the name, it says before.
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => void server.close());
  const proxy = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gmn = await runGmn(t, ['hi', '--retries', '0'], {
    env: { GEMINI_API_KEY: 'key-0123456789', GOOGLE_GEMINI_BASE_URL: 'https://model.test', HTTPS_PROXY: proxy },
  });
  expect(gmn.exitCode).toBe(3);
  expect(gmn.stderr).toMatch(/^Error: [^\n]*proxy 127\.0\.0\.1/);
  expect(gmn.stderr).not.toMatch(/Warning/);
});

test('https goes through a tunnel, and the certificate checked is that of the server (N29)', async (t) => {
  const target = await loopback(t, []);
  target.onConnection((socket) => socket.end('HTTP/1.1 400 no TLS here\r\n\r\n'));
  const { error, proxy } = await failureOf(t, [
    (socket) => {
      const onward = connect(Number(target.url.port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward
          .on('error', () => {})
          .pipe(socket)
          .pipe(onward);
      });
    },
  ]);
  expect(proxy.requests[0]?.head.split('\r\n')[0]).toBe('CONNECT model.test:443 HTTP/1.1');
  expect(error.message).toMatch(/^TLS handshake with model\.test:443 through proxy 127\.0\.0\.1:\d+ failed/);
  expect(error.retry).toBeUndefined();
});

test('a proxy that refuses the credentials is named, and not asked again (N30)', async (t) => {
  for (const url of ['https://model.test/', 'http://127.0.0.1:9/']) {
    const proxy = await loopback(t, [answer(407, '', { 'proxy-authenticate': 'Basic' })]);
    await expect(send(new URL(url), proxy.url)).rejects.toMatchObject({
      fault: 'api',
      message: `proxy ${proxy.url.host} refused the user name or password it was given (407)`,
      retry: undefined,
    });
  }
});

test('a proxy that refuses the tunnel is named with its status, and may be asked again (N30)', async (t) => {
  const { error, proxy } = await failureOf(t, [answer(502)]);
  expect(error).toMatchObject({ message: `proxy ${proxy.url.host} refused the connection (502)`, retry: {} });
});

test('a proxy that is not there is named, with the variable to look at (N30)', async () => {
  const dead = new URL('http://127.0.0.1:1');
  for (const url of ['https://model.test/', 'http://127.0.0.1:9/']) {
    await expect(send(new URL(url), dead)).rejects.toMatchObject({
      fault: 'api',
      message: 'connection to proxy 127.0.0.1:1 refused',
      hint: expect.stringContaining('HTTPS_PROXY'),
    });
  }
});

test('a proxy that hangs is left after the connect timer (N30)', async (t) => {
  const { error, proxy } = await failureOf(t, [() => {}], { connectMs: 50 });
  expect(error.message).toBe(`connection to proxy ${proxy.url.host} timed out after 50 ms`);
  await expect.poll(proxy.closed).toBe(1);
});

test('a proxy that drops the line before an answer is named (N30)', async (t) => {
  const { error, proxy } = await failureOf(t, [(socket) => socket.destroy()]);
  expect(error.message).toBe(`connection to proxy ${proxy.url.host} closed before an answer came`);
  expect(proxy.requests).toHaveLength(1);
});

test('silence and cuts behind a proxy are reported like those without one', async (t) => {
  const target = new URL('http://127.0.0.1:9/');
  const stalled = await loopback(t, [stream(['x'], 'stall')]);
  const name = `127.0.0.1:9 through proxy ${stalled.url.host}`;
  await expect(send(target, stalled.url, { timers: { idleMs: 30 } }).then(readText)).rejects.toThrow(
    `${name} sent nothing for 30 ms`,
  );
  await expect.poll(stalled.closed).toBe(1);
  const silent = await loopback(t, [() => {}]);
  await expect(send(target, silent.url, { timers: { headersMs: 30 } })).rejects.toThrow('within 30 ms');
  await expect.poll(silent.closed).toBe(1);
  const cut = await loopback(t, [stream(['x'], 'close')]);
  await expect(send(target, cut.url).then(readText)).rejects.toThrow(
    'the answer was cut short: connection to 127.0.0.1:9 through proxy',
  );
});

test('an abort and leaving early close the connection to the proxy', async (t) => {
  const target = new URL('http://127.0.0.1:9/');
  const controller = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const silent = await loopback(t, [() => controller.abort(reason)]);
  await expect(send(target, silent.url, { signal: controller.signal })).rejects.toBe(reason);
  await expect.poll(silent.closed).toBe(1);
  const stalled = await loopback(t, [stream(['x'], 'stall')]);
  for await (const _ of (await send(target, stalled.url)).body) break;
  await expect.poll(stalled.closed).toBe(1);
});
