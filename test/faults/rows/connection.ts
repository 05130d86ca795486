import { writeFileSync } from 'node:fs';
import { EXPIRED, FOR_ANOTHER_HOST, SELF_SIGNED } from '../../api/certificates.ts';
import { CANARIES, signIn } from '../../support/canaries.ts';
import { COMMAND, COMMAND_ON_TERMINAL, type Fault, PLAIN_PIPE, row } from '../fault.ts';
import { blackHole, needsNamespaces, withFiles } from '../injections.ts';
import { answer, atAccept, gated, refusal, reply, steps } from '../wire-answers.ts';

const NOWHERE = { GOOGLE_GEMINI_BASE_URL: 'https://nope.invalid' };
const NO_DNS = { '/etc/nsswitch.conf': 'hosts: files\n' };
const DEAF_DNS = { '/etc/nsswitch.conf': 'hosts: dns\n', '/etc/resolv.conf': 'nameserver 127.0.0.1\n' };
const OLD_TLS = {
  ...SELF_SIGNED,
  minVersion: 'TLSv1',
  maxVersion: 'TLSv1',
  ciphers: 'DEFAULT@SECLEVEL=0',
} as const;
const TRUSTING = { home: { 'ca.pem': `${SELF_SIGNED.cert}\n${EXPIRED.cert}\n${FOR_ANOTHER_HOST.cert}\n` } };
const CA = { NODE_EXTRA_CA_CERTS: 'HOME/ca.pem' };
/** What the token server says when all is well. */
export const GRANT = answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }));
const SIGNED_OUT = /authentication failed[\s\S]*re-authenticate using: gemini/;
const NOT_REFRESHED = /authentication failed: the token could not be refreshed/;
const three = <Item>(item: Item): readonly Item[] => [item, item, item];

/** The rows N1 to N11: getting through, and being let in. */
export const CONNECTION: readonly Fault[] = [
  row('N1', 'DNS failure, permanent', [
    {
      name: 'no such host',
      skip: needsNamespaces,
      env: NOWHERE,
      play: (scene) => scene.run(undefined, { under: withFiles(scene, NO_DNS, { isOffline: true }) }),
      expect: { code: 3, says: /cannot resolve nope\.invalid/, text: '' },
    },
  ]),
  row('N2', 'DNS temporary (EAI_AGAIN)', [
    {
      name: 'no name server answers',
      skip: needsNamespaces,
      env: NOWHERE,
      play: (scene) => scene.run(undefined, { under: withFiles(scene, DEAF_DNS, { isOffline: true }) }),
      expect: { code: 3, says: /cannot resolve nope\.invalid right now/, text: '' },
    },
  ]),
  row('N3', 'connection refused', [
    {
      name: 'a closed port',
      env: { GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:9' },
      expect: { code: 3, says: /connection to 127\.0\.0\.1:9 refused/, text: '' },
    },
  ]),
  row('N4', 'connect black hole', [
    {
      name: 'a port that drops every SYN',
      play: async (scene) => {
        const url = `http://127.0.0.1:${await blackHole(scene)}`;
        return scene.run(undefined, { env: { GOOGLE_GEMINI_BASE_URL: url, GMN_CONNECT_TIMEOUT: '200ms' } });
      },
      expect: { code: 3, says: /connection to 127\.0\.0\.1:\d+ timed out after 200 ms/, text: '' },
    },
  ]),
  row('N5', 'reset before headers', [
    {
      name: 'once, at the request',
      model: [steps({ end: 'reset' }), reply('Hello.')],
      expect: { code: 0, text: 'Hello.' },
    },
    {
      name: 'once, at the connection',
      model: [atAccept({ end: 'reset' }), reply('Hello.')],
      expect: { code: 0, text: 'Hello.' },
    },
    {
      name: 'always',
      model: Array.from({ length: 4 }, () => steps({ end: 'reset' })),
      expect: { code: 3, says: /closed before an answer came/, text: '' },
    },
    {
      name: 'half of the headers, always',
      model: Array.from({ length: 4 }, () => steps({ send: 'HTTP/1.1 200 OK\r\ncontent-ty' }, { end: 'fin' })),
      expect: { code: 3, says: /closed before an answer came|does not speak HTTP/, text: '' },
    },
  ]),
  row('N6', 'TLS: self-signed, expired, wrong host, TLS 1.0 only, plaintext on 443', [
    {
      name: 'self-signed',
      tls: SELF_SIGNED,
      expect: { code: 3, says: /certificate of localhost:\d+ refused: it is self-signed[\s\S]*NODE_EXTRA_CA_CERTS/ },
    },
    {
      ...TRUSTING,
      name: 'expired',
      tls: EXPIRED,
      env: CA,
      expect: { code: 3, says: /certificate of localhost:\d+ refused: it has expired/ },
    },
    {
      ...TRUSTING,
      name: 'for another host',
      tls: FOR_ANOTHER_HOST,
      env: CA,
      expect: { code: 3, says: /certificate of localhost:\d+ refused: it is for another host name/ },
    },
    {
      ...TRUSTING,
      name: 'TLS 1.0 only',
      tls: OLD_TLS,
      env: CA,
      expect: { code: 3, says: /TLS handshake with localhost:\d+ failed/ },
    },
    {
      name: 'plaintext',
      play: (scene) =>
        scene.run(undefined, { env: { GOOGLE_GEMINI_BASE_URL: `https://127.0.0.1:${scene.server.port}` } }),
      // To the connection opened ahead, and to that of the request if the first has failed by then.
      model: [atAccept({ send: 'HTTP/1.1 200 OK\r\n\r\n' }, { end: 'fin' })],
      isEndless: true,
      expect: { code: 3, says: /TLS handshake with 127\.0\.0\.1:\d+ failed/ },
    },
    {
      ...TRUSTING,
      name: 'trusted, to show that the others could pass',
      tls: SELF_SIGNED,
      env: CA,
      model: [reply('Hello.')],
      expect: { code: 0, text: 'Hello.' },
    },
  ]),
  row('N7', '401 once', [
    {
      name: 'a sign-in',
      signIn: 'fresh',
      model: [refusal(401, 'UNAUTHENTICATED'), reply('Hello.')],
      token: [GRANT],
      expect: { code: 0, text: 'Hello.' },
    },
  ]),
  row('N8', '401 again after refresh', [
    {
      name: 'a sign-in',
      signIn: 'fresh',
      model: [refusal(401, 'UNAUTHENTICATED'), refusal(401, 'UNAUTHENTICATED')],
      token: [GRANT],
      expect: { code: 2, says: /401[\s\S]*gemini/, text: '' },
    },
    {
      name: 'a key',
      model: [refusal(401, 'UNAUTHENTICATED')],
      expect: { code: 2, says: /401/, text: '' },
    },
  ]),
  row('N9', '401 mid-session in chat (turn 5)', [
    {
      name: 'solved by a refresh',
      ways: COMMAND,
      args: ['chat'],
      signIn: 'fresh',
      stdin: 'one\ntwo\nthree\nfour\nfive\nsix\n',
      model: [
        ...['1', '2', '3', '4'].map((text) => reply(text)),
        refusal(401, 'UNAUTHENTICATED'),
        ...['5', '6'].map((text) => reply(text)),
      ],
      token: [GRANT],
      expect: { code: 0, text: '1\n2\n3\n4\n5\n6' },
    },
    {
      name: 'not solved: the chat continues',
      ways: COMMAND_ON_TERMINAL,
      signIn: 'fresh',
      model: [reply('first'), refusal(401, 'UNAUTHENTICATED'), refusal(401, 'UNAUTHENTICATED'), reply('third')],
      token: [GRANT],
      play: async (scene) => {
        const chat = scene.start(['chat']);
        await chat.until(/❯/);
        chat.write('one\r');
        await chat.until(/first[\s\S]*❯/);
        chat.write('two\r');
        await chat.until(/Error: [\s\S]*❯/);
        chat.write('three\r');
        await chat.until(/third[\s\S]*❯/);
        chat.write('/exit\r');
        return chat.ended;
      },
      expect: { code: 0, says: /401/ },
    },
  ]),
  row('N10', 'refresh: invalid_grant', [
    {
      name: 'the store is as it was',
      signIn: 'stale',
      token: [answer(400, '{"error":"invalid_grant"}')],
      expect: { code: 2, says: SIGNED_OUT, text: '' },
    },
    {
      name: 'somebody signed in meanwhile',
      signIn: 'stale',
      leaves: ['gemini'],
      token: [gated('changed', answer(400, '{"error":"invalid_grant"}'))],
      model: [reply('Hello.')],
      play: async (scene) => {
        const gmn = scene.launch();
        await scene.server.seen('token');
        const elsewhere = {
          ...JSON.parse(signIn()),
          access_token: CANARIES.granted,
          refresh_token: CANARIES.rotated,
        };
        writeFileSync(`${scene.home}/.gemini/oauth_creds.json`, JSON.stringify(elsewhere));
        scene.server.open('changed');
        return gmn.ended;
      },
      expect: { code: 0, text: 'Hello.' },
    },
  ]),
  row(
    'N11',
    'refresh: 5xx / timeout / HTML / empty / 200 without access_token',
    [
      { name: '500', token: three(answer(500, '{}')) },
      { name: 'HTML', token: three(answer(200, '<html>Log in</html>', { 'content-type': 'text/html' })) },
      { name: 'empty', token: three(answer(200, '')) },
      { name: 'no access_token', token: three(answer(200, '{"expires_in":3599}')) },
      { name: 'reset', token: three(steps({ end: 'reset' })) },
      { name: 'silence', token: three(steps({ end: 'hold' })), ways: PLAIN_PIPE, withinMs: 60_000 },
    ].map((variant) => ({
      ...variant,
      signIn: 'stale',
      expect: { code: 2, says: NOT_REFRESHED, text: '' },
    })),
  ),
];
