import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test as base, expect } from 'vitest';
import { openHostProxy } from '../../../src/platform/sandbox/host-proxy.ts';
import { parseHostRules } from '../../../src/platform/sandbox/host-rules.ts';
import { isWindows } from '../../support/posix.ts';

/** A web server on the loopback, and a proxy for which that counts as an address of the internet. */
const test = base.extend<{ scene: Awaited<ReturnType<typeof openScene>> }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the pattern.
  scene: async ({}, use) => {
    const scene = await openScene();
    await use(scene);
    await scene.close();
  },
});

async function openScene() {
  const place = mkdtempSync(join(tmpdir(), 'gmn-proxy-'));
  const web = createServer((asked, answer) => answer.end(`${asked.method} ${asked.headers.host}${asked.url}`));
  await new Promise<void>((resolve) => void web.listen(0, '127.0.0.1', resolve));
  const { port } = web.address() as AddressInfo;
  const socket = isWindows ? `\\\\.\\pipe\\${basename(place)}` : join(place, 'p');
  const resolved: string[] = [];
  const proxy = await openHostProxy({
    listensOn: socket,
    rules: parseHostRules([`ok.example:${port}`, `private.example:${port}`, `127.0.0.1:${port}`]),
    isAllowedAddress: (address) => address === '127.0.0.1',
    resolve: async (name) => {
      resolved.push(name);
      return [{ address: name === 'ok.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    },
  });
  return {
    ...{ port, socket, proxy, resolved },
    async close() {
      await proxy.close();
      web.closeAllConnections();
      web.close();
      rmSync(place, { recursive: true });
    },
  };
}

async function readText(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return text;
}

function get(socketPath: string, url: string, headers = {}): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: url, headers });
    sent.once('error', reject);
    sent.once(
      'response',
      (answer) => void readText(answer).then((text) => resolve({ status: answer.statusCode, text })),
    );
    sent.end();
  });
}

/** The status line of a CONNECT, and what the host then answers to a request. */
function tunnel(socketPath: string, target: string): Promise<string> {
  return new Promise((resolve) => {
    const client = connect({ path: socketPath });
    let text = '';
    client.setEncoding('utf8').on('data', (chunk: string) => {
      if (text === '' && chunk.startsWith('HTTP/1.1 200'))
        client.write('GET /t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
      text += chunk;
    });
    client.once('close', () => resolve(text));
    client.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  });
}

test('an allowed host is reached, its name resolved once, and its header is what was checked', async ({ scene }) => {
  const { port, socket, resolved } = scene;
  const answer = await get(socket, `http://ok.example:${port}/a?b`, { host: 'evil.example' });
  expect(answer).toEqual({ status: 200, text: `GET ok.example:${port}/a?b` });
  expect(await tunnel(socket, `ok.example:${port}`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET h\/t/);
  expect(resolved).toEqual(['ok.example', 'ok.example']);
});

test('another host is refused before its name is resolved, with a reason', async ({ scene }) => {
  const { port, socket, proxy, resolved } = scene;
  expect(await tunnel(socket, 'other.example:443')).toMatch(
    /^HTTP\/1\.1 403 [\s\S]*refuses other\.example:443: --sandbox-net allows ok\.example/,
  );
  expect(await get(socket, 'http://other.example/')).toMatchObject({ status: 403 });
  expect(await tunnel(socket, `ok.example:${port + 1}`)).toMatch(/^HTTP\/1\.1 403/);
  expect(resolved).toEqual([]);
  expect(proxy.takeRefused()).toEqual(['other.example:443', 'other.example:80', `ok.example:${port + 1}`]);
  expect(proxy.takeRefused()).toEqual([]);
});

test('an allowed name that leads to a private address is refused', async ({ scene }) => {
  expect(await tunnel(scene.socket, `private.example:${scene.port}`)).toMatch(
    /403 [\s\S]*not one of the open internet/,
  );
});

test.each(['', 'x', '/', 'http://', 'ftp://ok.example/', 'ok.example', 'ok.example:x', ':443', '[::1', '*:80'])(
  'CONNECT %j is answered, not believed',
  async (target) => {
    const scene = await openScene();
    expect(await tunnel(scene.socket, target)).toMatch(/^(?:HTTP\/1\.1 4\d\d|$)/);
    await scene.close();
  },
);

test('a tunnel ends with the proxy', async ({ scene }) => {
  const silent = createTcp(() => {});
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const socket = `${scene.socket}2`;
  const rules = parseHostRules([`127.0.0.1:${port}`]);
  const proxy = await openHostProxy({ listensOn: socket, rules, isAllowedAddress: () => true });
  const client = connect({ path: socket });
  await new Promise((resolve) => {
    client.once('data', resolve);
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
  });
  const ended = new Promise((resolve) => client.once('close', resolve));
  await proxy.close();
  await ended;
  silent.close();
});
