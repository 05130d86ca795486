import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { expect, type TestContext, test } from 'vitest';
import { SELF_SIGNED } from '../api/certificates.ts';
import { event, head, httpChunk, reply } from '../api/loopback.ts';
import { runGmn } from '../support/gmn.ts';

/** A record as TLS frames it, sealed with nobody's key. */
const FORGED = Buffer.from('1703030012aabbccddeeaabbccddeeaabbccddeeaabbcc', 'hex');
const EVENT = event(reply([{ text: 'Hello' }]));

/** What gmn says of a server it trusts, who sends these bytes and then lets somebody else write to the line. */
async function runAgainstForger(t: TestContext, answer: string | Buffer, options: TlsOptions = {}) {
  let line: Socket | undefined;
  const server = createServer({ ...SELF_SIGNED, ...options }, (socket) => {
    socket.on('error', () => {}).once('data', () => socket.write(answer, () => line?.write(FORGED)));
  });
  server.on('tlsClientError', () => {}).prependListener('connection', (socket) => (line = socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => void server.close());
  const address = server.address();
  const host = `localhost:${typeof address === 'object' && address?.port}`;
  const gmn = await runGmn(t, ['hello'], {
    gemini: { url: `https://${host}` },
    files: { 'ca.pem': SELF_SIGNED.cert },
    env: { NODE_EXTRA_CA_CERTS: 'ca.pem' },
  });
  return { exitCode: gmn.exitCode, stdout: gmn.stdout, error: gmn.stderr.replaceAll(host, 'SERVER').split('\n')[0] };
}

test.for([
  [
    'that tells its sizes',
    Buffer.concat([Buffer.from(head(200, { 'transfer-encoding': 'chunked' })), httpChunk(EVENT)]),
  ],
  ['that the end of the line ends', `${head(200, {})}${EVENT}`],
] as const)(
  'an answer %s, changed on its way, is reported at once and not taken for the end',
  async ([, answer], t) => {
    expect(await runAgainstForger(t, answer)).toEqual({
      exitCode: 3,
      stdout: 'Hello\n',
      error: expect.stringMatching(
        /^Error: the answer was cut short: connection to SERVER lost \((ERR_SSL_\w+|EPROTO)\)$/,
      ),
    });
  },
);

test('a server that wants a certificate of ours says so before it hangs up', async (t) => {
  expect(await runAgainstForger(t, '', { requestCert: true, rejectUnauthorized: true })).toEqual({
    exitCode: 3,
    stdout: '',
    error: expect.stringMatching(
      /^Error: TLS handshake with SERVER failed \((ERR_SSL_\w+_CERTIFICATE_REQUIRED|EPROTO)\)$/,
    ),
  });
});
