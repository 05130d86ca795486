import { createCipheriv, createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createFilesClient, type FilesClient, toOwnName } from '../../src/api/files.ts';
import type { UploadSource } from '../../src/core/files.ts';
import type { HttpRequest } from '../../src/core/io.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { keyIdentity } from './conversation.ts';

const { signal } = new AbortController();
const MIME = 'video/mp4';
const CHUNK = 8 * 1024 * 1024;

function createClient(baseUrl: string, options: { readonly key?: string; readonly retries?: number } = {}) {
  const { key = 'test-key-0123456789', retries } = options;
  const requests: HttpRequest[] = [];
  const traced: string[] = [];
  const trace = (line: string) => void traced.push(line);
  const timers = { connectMs: 5000, headersMs: 5000, idleMs: 5000 };
  const http = createHttpClient({ timers, env: {}, trace, clock: systemClock });
  const client = createFilesClient({
    place: { baseUrl: new URL(baseUrl), userAgent: 'gmn/test' },
    identity: keyIdentity(key),
    userAgent: 'gmn/test',
    send(request, until) {
      requests.push(request);
      return http.send(request, until);
    },
    clock: { ...systemClock, sleep: async () => {} },
    random: () => 0.5,
    trace,
    retryBaseMs: 1,
    retries,
  });
  const commands = () => requests.flatMap(({ headers }) => headers['x-goog-upload-command'] ?? []);
  return { client, requests, traced, commands };
}

async function demo(faults?: string, options: Parameters<typeof createClient>[1] = {}) {
  const server = await startDemo({ clock: systemClock, faults: parseFaults(faults === undefined ? [] : [faults]) });
  onTestFinished(() => server.close());
  const { client, requests, traced, commands } = createClient(server.url, options);
  return { client, requests, traced, commands, url: server.url, close: server.close };
}

function sourceOf(bytes: Uint8Array, name = 'talk.mp4'): UploadSource {
  return {
    name,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    async read(offset, into) {
      const piece = bytes.subarray(offset, offset + into.length);
      into.set(piece);
      return into.subarray(0, piece.length);
    },
  };
}

/** The same ones each time, and none that repeat. */
function randomBytes(size: number): Uint8Array {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(size));
}

async function contentOf(client: FilesClient, name: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of client.download(name, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a file of several chunks arrives whole under the name of its hash, and can be read, listed and deleted', async () => {
  const { client, commands, requests } = await demo();
  const bytes = randomBytes(2 * CHUNK + 1000);
  const source = sourceOf(bytes);
  const seen: number[] = [];
  const file = await client.upload(source, {
    mimeType: MIME,
    displayName: 'talk',
    signal,
    onProgress: (at) => seen.push(at),
  });
  expect(file).toMatchObject({
    name: `files/gmn-${source.sha256.slice(0, 36)}`,
    mimeType: MIME,
    bytes: bytes.length,
    sha256: source.sha256,
    state: 'ACTIVE',
    displayName: 'talk',
  });
  expect(file.expiresAt).toBeGreaterThan(Date.now());
  expect(commands()).toEqual(['start', 'upload', 'upload', 'upload, finalize']);
  expect(requests.map(({ isRepeatable }) => isRepeatable)).toEqual([true, undefined, undefined, undefined]);
  expect(seen).toEqual([...seen].sort((left, right) => left - right));
  expect((await contentOf(client, file.name)).equals(bytes)).toBe(true);
  expect(await client.get(file.name, signal)).toEqual(file);
  expect(await client.list(signal)).toEqual([file]);
  expect(await client.delete(file.name, signal)).toBe(true);
  expect(await client.delete(file.name, signal)).toBe(false);
  expect(await client.get(file.name, signal)).toBeUndefined();
});

test('an empty file is one request', async () => {
  const { client, commands } = await demo();
  expect(await client.upload(sourceOf(new Uint8Array()), { mimeType: 'text/plain', signal })).toMatchObject({
    bytes: 0,
  });
  expect(commands()).toEqual(['start', 'upload, finalize']);
});

test.for([
  'upload-cut=300000x7',
  'upload-cut=0x3',
  'upload-forgottenx1',
  'upload-forgottenx2',
  'upload-ids',
  'upload-503x3',
  'upload-503x3=start',
  'upload-503x3=upload',
  'upload-503x2=query,upload-cut=99x2',
  'upload-cut=1000000x1,upload-forgottenx1',
])('with --fault %s it arrives whole', async (faults) => {
  const { client, traced } = await demo(faults);
  const bytes = randomBytes(CHUNK + 5000);
  const file = await client.upload(sourceOf(bytes), { mimeType: MIME, signal });
  expect((await contentOf(client, file.name)).equals(bytes)).toBe(true);
  expect(traced.join('\n')).not.toContain('upload_id');
});

test('wherever the line is cut, everything arrives once', async () => {
  const cuts = fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 6 });
  const check = fc.asyncProperty(cuts, fc.integer({ min: 1, max: 900_000 }), async (places, size) => {
    const faults = places.length === 0 ? undefined : places.map((at) => `upload-cut=${at}x1`).join();
    const { client, close } = await demo(faults, { retries: 9 });
    const file = await client.upload(sourceOf(randomBytes(size)), { mimeType: MIME, signal });
    expect(file.bytes).toBe(size);
    await close();
  });
  await fc.assert(check, { numRuns: 25 });
});

test.for([
  ['upload-size=0', /offset must be/],
  ['upload-size=999999999', /cannot be true/],
  ['upload-cut=300000,upload-size=999999999', /cannot be true/],
  ['upload-cut=0', /connection/],
  ['upload-503', /503/],
  ['upload-forgotten', /forgot the upload/],
  ['file-size=7', /did not arrive whole: the service has 7 B/],
] as const)('with --fault %s for ever it ends in one error', async ([faults, message]) => {
  const { client, requests } = await demo(faults);
  await expect(client.upload(sourceOf(randomBytes(CHUNK + 1)), { mimeType: MIME, signal })).rejects.toMatchObject({
    fault: 'api',
    message: expect.stringMatching(message),
  });
  expect(requests.length).toBeLessThan(30);
});

test('another process goes on where the first was killed; an address nobody knows begins anew', async () => {
  const { client, commands } = await demo('upload-cut=4000000x4', { retries: 0 });
  const bytes = randomBytes(3 * CHUNK);
  const source = sourceOf(bytes);
  let address: string | undefined;
  const killed = new AbortController();
  const onProgress = (at: number) => void (at > CHUNK && killed.abort(new Error('killed')));
  const remember = (given: string | undefined) => {
    address = given;
  };
  const options = { mimeType: MIME, onAddress: remember };
  await expect(client.upload(source, { ...options, signal: killed.signal, onProgress })).rejects.toThrow('killed');
  expect(address).toContain('upload_id');
  const before = commands().length;
  const file = await client.upload(source, { ...options, signal, address });
  expect(commands().slice(before)[0]).toBe('query');
  expect(commands().slice(before)).not.toContain('start');
  expect(address).toBeUndefined();
  expect((await contentOf(client, file.name)).equals(bytes)).toBe(true);
  await client.delete(file.name, signal);
  const other = new URL(file.uri).origin;
  const stale = `${other}/upload/v1beta/files?upload_id=unknown`;
  expect(await client.upload(source, { ...options, signal, address: stale })).toMatchObject({ bytes: bytes.length });
});

test('two that upload the same content at once both get the file', async () => {
  const { client, url } = await demo();
  const { client: other } = createClient(url);
  const source = sourceOf(randomBytes(100_000));
  const [one, two] = await Promise.all([client, other].map((each) => each.upload(source, { mimeType: MIME, signal })));
  expect(one?.name).toBe(two?.name);
  expect(await client.list(signal)).toHaveLength(1);
});

test('what somebody else has under the same name is uploaded under another', async () => {
  const { client, url } = await demo();
  const { client: other } = createClient(url, { key: 'another-key-0123456' });
  const source = sourceOf(randomBytes(10));
  const one = await client.upload(source, { mimeType: MIME, signal });
  expect(await other.get(one.name, signal)).toBeUndefined();
  const two = await other.upload(source, { mimeType: MIME, signal });
  expect(one.name).toBe(toOwnName(source.sha256));
  expect(two.name).not.toBe(one.name);
});

test('a file in process is awaited, one that fails is an error', async () => {
  const { client } = await demo('file-processing=4x1');
  const file = await client.upload(sourceOf(randomBytes(10)), { mimeType: MIME, signal });
  expect(file.state).toBe('PROCESSING');
  expect(await client.waitUntilActive(file, signal)).toMatchObject({ state: 'ACTIVE' });
  const { client: failing } = await demo('file-failed,file-processing=1');
  const failed = await failing.upload(sourceOf(randomBytes(10)), { mimeType: MIME, displayName: 'a.mp4', signal });
  await expect(failing.waitUntilActive(failed, signal)).rejects.toMatchObject({
    fault: 'api',
    message: 'API error: the service could not process a.mp4: The file could not be processed.',
  });
});

test('the list has all pages', async () => {
  const { client } = await demo();
  for (let size = 1; size <= 103; size += 1) {
    await client.upload(sourceOf(randomBytes(size)), { mimeType: MIME, signal });
  }
  expect(await client.list(signal)).toHaveLength(103);
});

test.for(['files/../models', 'a/b', '', '..', 'files/a?b'])('%j is not a name', async (name) => {
  const { client } = createClient('http://127.0.0.1:9');
  await expect(client.get(name, signal)).rejects.toMatchObject({ fault: 'usage' });
});

/** A service that names this address to upload to. */
async function serviceNaming(address: (origin: string) => string) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    keys.push(request.headers['x-goog-api-key']?.toString());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    response.setHeader('x-goog-upload-url', address(origin));
    if (request.headers['x-goog-upload-command'] !== 'start') response.setHeader('x-goog-upload-status', 'final');
    response.end('{"file":{"name":"files/a","uri":"x:a","sizeBytes":"3"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

test.for(['http://example.com/u', 'ftp://127.0.0.1/u', 'nonsense', '', 'https://user:word@example.com/u'])(
  'nothing is uploaded to %j',
  async (address) => {
    const service = await serviceNaming(() => address);
    const { client, requests } = createClient(service.url);
    await expect(client.upload(sourceOf(randomBytes(3)), { mimeType: MIME, signal })).rejects.toMatchObject({
      fault: 'api',
      message: expect.stringMatching(/not say where to upload/),
    });
    expect(requests).toHaveLength(1);
  },
);

test('the key goes to the service itself, and to no other address that it names', async () => {
  const elsewhere = await serviceNaming((origin) => origin);
  const service = await serviceNaming(() => `${elsewhere.url}/secret-place`);
  const { client, traced } = createClient(service.url);
  await client.upload(sourceOf(randomBytes(3)), { mimeType: MIME, signal });
  expect(service.keys).toEqual(['test-key-0123456789']);
  expect(elsewhere.keys).toEqual([undefined]);
  expect(traced.join('\n')).not.toContain('secret-place');
});
