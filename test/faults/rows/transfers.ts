import { SELF_SIGNED } from '../../api/certificates.ts';
import { CANARIES, signIn } from '../../support/canaries.ts';
import { chunk, finish } from '../../support/gemini.ts';
import { COMMAND, type Fault, row, type Variant } from '../fault.ts';
import { needsNamespaces, shiftedClock, withFiles } from '../injections.ts';
import type { Scene } from '../scene.ts';
import { answer, compressed, encodedStream, head, refusal, reply, sseText, steps } from '../wire-answers.ts';
import type { Play } from '../wire-server.ts';
import { GRANT } from './connection.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const BODY = sseText('Hello.');
const four = (play: Play): readonly Play[] => [play, play, play, play];
const PASSWORD = encodeURIComponent(CANARIES.proxyPassword);
const CA = { NODE_EXTRA_CA_CERTS: 'HOME/ca.pem', NO_PROXY: '<-loopback>' };
const TUNNEL = { tls: SELF_SIGNED, home: { 'ca.pem': SELF_SIGNED.cert } };

/** Through a tunnel, by one of the variables. */
function tunnelled(variable: string): Variant {
  return {
    ...TUNNEL,
    name: variable,
    proxy: 'pass',
    env: { ...CA, [variable]: `http://user:${PASSWORD}@PROXY` },
    model: [reply('Hello.')],
    expect: HELLO,
    check: ({ proxy, problem }) => {
      const isNamed = proxy?.heads[0]?.toLowerCase().includes('proxy-authorization: basic');
      if (!isNamed) problem('other', 'the proxy was not asked, or without the password');
    },
  };
}

/** A proxy that does not let through. */
function stopped(
  proxy: NonNullable<Variant['proxy']>,
  says: RegExp,
  more: Readonly<Record<string, string>> = {},
): Variant {
  return {
    ...TUNNEL,
    name: `proxy: ${proxy}`,
    proxy,
    env: { ...CA, HTTPS_PROXY: 'http://PROXY', ...more },
    expect: { code: 3, says, text: '' },
  };
}

/** 1 GB in a little more than 1 MB, made only when it is asked for. */
function bomb(): Buffer {
  const member = compressed('gzip', `: ${'x'.repeat(1021)}\n`.repeat(16 * 1024));
  return Buffer.concat(Array.from({ length: 64 }, () => member));
}

const expiring = (expiry_date: unknown): Readonly<Record<string, string>> => ({
  '.gemini/oauth_creds.json': JSON.stringify({ ...JSON.parse(signIn()), expiry_date }),
});

const shifted = (hours: number) => (scene: Scene) =>
  scene.run(undefined, { env: { NODE_OPTIONS: shiftedClock(scene, hours) } });

/** The rows N26 to N37: what is between the model and gmn. */
export const TRANSFERS: readonly Fault[] = [
  row('N26', '200 with text/html (captive portal)', [
    {
      name: 'a login page',
      model: [answer(200, '<html><b>Please log in</b></html>', { 'content-type': 'text/html' })],
      expect: { code: 3, says: /unexpected content type text\/html.*Please log in/, text: '' },
    },
  ]),
  row('N27', '200 with JSON error object instead of SSE; JSON array form (no alt=sse)', [
    {
      name: 'an error',
      model: [answer(200, JSON.stringify({ error: { code: 400, message: 'Bad.', status: 'INVALID_ARGUMENT' } }))],
      expect: { code: 3, says: /invalid request .*Bad\./, text: '' },
    },
    {
      name: 'an array',
      model: [answer(200, JSON.stringify([chunk([{ text: 'Hel' }]), chunk([{ text: 'lo.' }]), finish()]))],
      expect: HELLO,
    },
  ]),
  row(
    'N28',
    'redirect 301/302/307',
    [307, 301, 302].map((status) => ({
      name: String(status),
      model: [answer(status, '', { location: 'http://127.0.0.2:9/elsewhere' })],
      expect: { code: 3, says: /redirects to 127\.0\.0\.2:9 .*does not follow/, text: '' },
    })),
  ),
  row('N29', 'HTTPS_PROXY/HTTP_PROXY/ALL_PROXY/NO_PROXY, upper and lower case, with user:pass', [
    ...['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].map(tunnelled),
    ...['HTTP_PROXY', 'http_proxy'].map(
      (variable): Variant => ({
        name: variable,
        env: { NO_PROXY: '<-loopback>', [variable]: `http://user:${PASSWORD}@127.0.0.1:PORT` },
        model: [reply('Hello.')],
        expect: HELLO,
        check: ({ server, problem }) => {
          const { path = '', headers = {} } = server.requests[0] ?? {};
          if (!path.startsWith('http://') || !headers['proxy-authorization']) problem('other', `asked for ${path}`);
        },
      }),
    ),
    {
      name: 'the token too',
      signIn: 'stale',
      env: { NO_PROXY: '<-loopback>', HTTP_PROXY: 'SERVER' },
      model: [reply('Hello.')],
      token: [GRANT],
      expect: HELLO,
      check: ({ server, problem }) => {
        for (const { path } of server.requests) if (!path.startsWith('http://')) problem('other', `asked for ${path}`);
      },
    },
    {
      name: 'loopback is exempt',
      env: { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' },
      model: [reply('Hello.')],
      expect: HELLO,
    },
  ]),
  row('N30', 'proxy 407, proxy dead, proxy hangs', [
    stopped(407, /proxy 127\.0\.0\.1:\d+ asks for a user name and password/),
    stopped(403, /proxy 127\.0\.0\.1:\d+ refused the connection \(403\)/),
    stopped(502, /proxy 127\.0\.0\.1:\d+ refused the connection \(502\)/),
    stopped('silence', /proxy 127\.0\.0\.1:\d+ timed out after 200 ms/, { GMN_CONNECT_TIMEOUT: '200ms' }),
    stopped('fin', /connection to proxy 127\.0\.0\.1:\d+ closed/),
    {
      ...TUNNEL,
      name: 'dead',
      env: { ...CA, HTTPS_PROXY: 'http://127.0.0.1:9' },
      expect: { code: 3, says: /connection to proxy 127\.0\.0\.1:9 refused/, text: '' },
    },
  ]),
  row('N31', 'gzip / br / deflate / zstd response', [
    ...(['gzip', 'br', 'deflate'] as const).map((encoding) => ({
      name: encoding,
      model: [encodedStream(encoding, compressed(encoding, BODY))],
      expect: HELLO,
    })),
    {
      name: 'zstd',
      model: [encodedStream('zstd', Buffer.from(BODY))],
      expect: { code: 3, says: /unknown encoding \(zstd\)/, text: '' },
    },
  ]),
  row('N32', 'truncated gzip', [
    {
      name: 'after the text, each time',
      model: four(encodedStream('gzip', compressed('gzip', BODY).subarray(0, -20))),
      isEndless: true,
      expect: { code: 3, says: /cut short/ },
    },
  ]),
  row('N33', 'gzip bomb (1 MB → 1 GB)', [
    {
      name: 'of comments',
      model: [{ steps: (request) => encodedStream('gzip', bomb()).steps(request) }],
      memoryMb: 300,
      expect: { code: 3, says: /expands beyond 256 MB/, text: '' },
    },
  ]),
  row(
    'N34',
    'request body too large (413), header too large (431)',
    [413, 431].map((status) => ({
      name: String(status),
      model: [refusal(status, 'INVALID_ARGUMENT')],
      expect: { code: 3, says: /too large[\s\S]*fewer or smaller files/, text: '' },
    })),
  ),
  row('N35', 'keep-alive socket closed by the peer while idle 60 s, then reused', [
    {
      name: 'between two turns of a chat',
      ways: COMMAND,
      args: ['chat'],
      stdin: 'one\ntwo\n',
      model: [
        steps(
          {
            send: head(200, {
              'content-type': 'text/event-stream',
              connection: 'keep-alive',
              'content-length': String(BODY.length),
            }),
          },
          { send: BODY },
          { end: 'fin' },
        ),
        reply('Hello again.'),
      ],
      expect: { code: 0, text: 'Hello.\nHello again.' },
    },
  ]),
  row('N36', 'system clock wrong ±2 h', [
    {
      name: 'ahead: one refresh, and no more',
      signIn: 'fresh',
      model: [reply('Hello.')],
      token: [GRANT],
      play: shifted(2),
      expect: HELLO,
    },
    {
      name: 'behind: the server knows better',
      signIn: 'stale',
      home: expiring(Date.now() - 3_600_000),
      model: [refusal(401, 'UNAUTHENTICATED'), reply('Hello.')],
      token: [GRANT],
      play: shifted(-2),
      expect: HELLO,
    },
    {
      name: 'expiry_date in seconds',
      signIn: 'fresh',
      home: expiring(Math.round(Date.now() / 1000) + 3600),
      model: [reply('Hello.')],
      expect: HELLO,
    },
  ]),
  row('N37', 'IPv6 first, broken', [
    {
      name: 'nobody at ::1',
      skip: needsNamespaces,
      model: [reply('Hello.')],
      play: (scene) =>
        scene.run(undefined, {
          env: { GOOGLE_GEMINI_BASE_URL: `http://localhost:${scene.server.port}` },
          under: withFiles(scene, { '/etc/hosts': '::1 localhost\n127.0.0.1 localhost\n' }),
        }),
      expect: HELLO,
    },
  ]),
];
