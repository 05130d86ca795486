import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { findStatus } from '../../../../src/core/error.ts';
import type { JsonObject } from '../../../../src/core/json.ts';
import { connectServer } from '../../../../src/mcp/client/connect.ts';
import { createReach } from '../../../../src/mcp/client/oauth/reach.ts';
import { openSignInStore } from '../../../../src/mcp/client/oauth/store.ts';
import { readSignInStatus, signIn, signOut } from '../../../../src/mcp/client/sign-in.ts';
import type { SignInPrompt } from '../../../../src/mcp/client/types.ts';
import { systemMode } from '../../../support/posix.ts';
import { type OAuthManners, oauthPeer } from '../oauth-peer.ts';
import { faultOf, goodServer, server, surroundings } from '../support.ts';

const signal = new AbortController().signal;

async function place(t: TestContext, { manners, entry = {} }: { manners?: OAuthManners; entry?: JsonObject } = {}) {
  const peer = await oauthPeer(t, manners);
  const { context } = surroundings(t);
  const named = server({ url: peer.mcp, type: 'http', ...entry }, 'remote');
  const shown: string[] = [];
  // Follows redirects, as a browser does.
  const prompt: SignInPrompt = {
    signal,
    async show(url) {
      shown.push(url);
      await fetch(url);
    },
  };
  const open = async (more: { signIn?: SignInPrompt } = {}) => {
    const connection = await connectServer(named, { ...context, ...more }, signal);
    t.onTestFinished(() => connection.close());
    return connection;
  };
  return { ...peer, context, named, prompt, shown, open };
}

const echoed = { content: [{ type: 'text', text: 'remote hi' }], isError: false };

test('a sign-in finds its own way, and is kept for our eyes only', async (t) => {
  const { context, named, prompt, shown, open, asked, url } = await place(t);
  expect(await signIn(named, { ...context, signIn: prompt }, signal)).toBe(true);
  const page = new URL(shown[0] ?? '');
  expect(Object.fromEntries(page.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: 'registered-client',
    code_challenge_method: 'S256',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    resource: `${url}/mcp`,
  });
  const directory = join(context.homes().gmn, 'mcp');
  const [file = ''] = readdirSync(directory);
  expect(statSync(join(directory, file)).mode & 0o777).toBe(systemMode(0o600));
  expect(readFileSync(join(directory, file), 'utf8')).not.toContain('code_verifier');
  expect(await (await open()).callTool('echo', { message: 'hi' })).toEqual(echoed);
  expect(shown).toHaveLength(1);
  expect(asked('/register')).toHaveLength(1);
});

test('if nobody can be asked, nothing is registered or opened, and the hint says what to do', async (t) => {
  const { open, asked } = await place(t);
  const fault = await faultOf(open());
  expect([fault.message, fault.hint]).toEqual([
    'MCP server remote: it requires a sign-in (HTTP 401)',
    'To sign in, run: gmn mcp auth remote',
  ]);
  expect(asked('/register')).toEqual([]);
});

test('a token that is over is refreshed, once for all who need it', async (t) => {
  const { context, named, prompt, open, expire, asked } = await place(t);
  await signIn(named, { ...context, signIn: prompt }, signal);
  const connections = await Promise.all([open(), open(), open()]);
  expire();
  const results = await Promise.all(connections.map((connection) => connection.callTool('echo', { message: 'hi' })));
  expect(results).toEqual([echoed, echoed, echoed]);
  expect(asked('/token').filter(({ body }) => body.includes('refresh_token='))).toHaveLength(1);
});

test('a refresh that fails asks for a new sign-in, and opens nothing by itself', async (t) => {
  const { context, named, prompt, open, expire, asked, shown } = await place(t);
  await signIn(named, { ...context, signIn: prompt }, signal);
  expire();
  const directory = join(context.homes().gmn, 'mcp');
  const [file = ''] = readdirSync(directory);
  writeFileSync(
    join(directory, file),
    readFileSync(join(directory, file), 'utf8').replace('refresh-token-1', 'refresh-token-0'),
  );
  const fault = await faultOf(open());
  expect(fault.message).toBe('MCP server remote: it requires a sign-in (HTTP 401)');
  expect(fault.message).not.toContain('refresh-token');
  expect(shown).toHaveLength(1);
  expect(asked('/register')).toHaveLength(1);
});

test('what one issuer gave is never shown to the next, and that comes to nothing without a person', async (t) => {
  const { context, named, prompt, open, expire, moveTo } = await place(t);
  await signIn(named, { ...context, signIn: prompt }, signal);
  const other = await oauthPeer(t, { isShortLived: true });
  moveTo(other.url, 'brief-token-1');
  expect((await faultOf(open())).message).toBe('MCP server remote: it requires a sign-in (HTTP 401)');
  expect(new Set(other.received.map(({ path }) => path))).toEqual(new Set(['/.well-known/oauth-authorization-server']));
  expect(await signIn(named, { ...context, signIn: prompt }, signal)).toBe(true);
  expire();
  expect(findStatus(await faultOf(open()))).toBe(401);
  expect(other.asked('/register')).toHaveLength(1);
  expect(other.asked('/token').map(({ body }) => new URLSearchParams(body).get('grant_type'))).toEqual([
    'authorization_code',
  ]);
  expect(JSON.stringify(other.received)).not.toContain('refresh-token-1');
});

test('a header that the user wrote for a server goes to that server alone, not to where it has people sign in', async (t) => {
  const { context, named, prompt, moveTo, received } = await place(t, {
    entry: { headers: { 'X-Own': 'own-secret' } },
  });
  const other = await oauthPeer(t);
  moveTo(other.url, 'access-token-1');
  expect(await signIn(named, { ...context, signIn: prompt }, signal)).toBe(true);
  expect(other.asked('/register')).toHaveLength(1);
  expect(other.asked('/token')).toHaveLength(1);
  expect(JSON.stringify(other.received)).not.toContain('own-secret');
  expect(received.filter(({ path }) => path === '/mcp').every(({ headers }) => headers['x-own'] === 'own-secret')).toBe(
    true,
  );
});

test.for([
  ['', ''],
  ['{"error":"access_denied"}', ': access_denied'],
  ['{"error":"x","error_description":"ask\\u001b[2J the\\nadmin"}', ': ask the / admin'],
  ['not here', ': not here'],
  ['<html><body>no</body></html>', ''],
])(
  'a refused registration is reported with the reason, if there is one, and the way out: %j',
  async ([refusal = '', why], t) => {
    const { context, named, prompt } = await place(t, { manners: { refusal } });
    const fault = await faultOf(signIn(named, { ...context, signIn: prompt }, signal));
    expect([fault.message, fault.hint]).toEqual([
      `MCP server remote: it does not let gmn register for signing in (HTTP 403)${why}`,
      'Register a client there by hand, and put its "clientId" into "oauth" of the server\'s entry in the settings.',
    ]);
  },
);

test('changes at the same time are all kept', async (t) => {
  const { context } = surroundings(t);
  const issuers = ['https://one.example', 'https://two.example', 'https://three.example'];
  const store = () => openSignInStore('https://mcp.example', context);
  await Promise.all(issuers.map((issuer) => store().change(issuer, { client: { client_id: issuer } })));
  expect(issuers.map((issuer) => store().read(`${issuer}/`).client)).toEqual(
    issuers.map((issuer) => ({ client_id: issuer })),
  );
  expect(store().read('https://four.example')).toEqual({});
});

test('a call that needs more scopes asks for them, and continues', async (t) => {
  const { prompt, shown, open } = await place(t, { manners: { stepUp: 'write' } });
  const connection = await open({ signIn: prompt });
  expect(await connection.callTool('echo', { message: 'hi' })).toEqual(echoed);
  expect(shown.map((url) => new URL(url).searchParams.get('scope'))).toEqual([null, 'write']);
});

test('a return with another state is not taken', async (t) => {
  const { context, named, asked } = await place(t);
  const show = async (url: string) => {
    const back = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
    for (const query of ['code=the-code', 'code=the-code&state=forged', 'error=access_denied']) {
      expect((await fetch(`${back.href}?${query}`)).status).toBe(404);
    }
    await fetch(url);
  };
  expect(await signIn(named, { ...context, signIn: { signal, show } }, signal)).toBe(true);
  expect(asked('/token')).toHaveLength(1);
});

test('a person who refuses ends it in words', async (t) => {
  const { context, named } = await place(t);
  const show = async (url: string) => {
    const { searchParams } = new URL(url);
    const state = searchParams.get('state');
    await fetch(`${searchParams.get('redirect_uri')}?error=access_denied&error_description=%1b[2J&state=${state}`);
  };
  const fault = await faultOf(signIn(named, { ...context, signIn: { signal, show } }, signal));
  expect(fault.message).toBe('MCP server remote: the sign-in was refused: access_denied');
});

test.for([
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://example.com/$(touch marker)',
  '--version',
  '-a Calculator',
  'data:text/html,x',
  'ssh://-oProxyCommand=x/',
  'http://127.0.0.1@example.com/',
  'http://127.0.0.1.example.com/',
])('the page %s is never shown', async (page, t) => {
  const { context, named, prompt, shown } = await place(t, { manners: { page } });
  expect((await faultOf(signIn(named, { ...context, signIn: prompt }, signal))).fault).toBe('mcp');
  expect(shown).toEqual([]);
});

test('a client that the person registered is used as it is', async (t) => {
  const { context, named, prompt, shown, asked } = await place(t, {
    entry: { oauth: { clientId: 'mine', scopes: ['read'] } },
  });
  await signIn(named, { ...context, signIn: prompt }, signal);
  expect(new URL(shown[0] ?? '').searchParams.get('client_id')).toBe('mine');
  expect(asked('/register')).toEqual([]);
});

test('a file of tokens that cannot be read fails that server, and nothing else', async (t) => {
  const { context, named, prompt, open } = await place(t);
  await signIn(named, { ...context, signIn: prompt }, signal);
  const directory = join(context.homes().gmn, 'mcp');
  const [file = ''] = readdirSync(directory);
  rmSync(join(directory, file));
  mkdirSync(join(directory, file));
  expect(await faultOf(open())).toMatchObject({ fault: 'config' });
});

test('signing out forgets everything', async (t) => {
  const { context, named, prompt, open } = await place(t);
  const { definition } = named;
  if (definition.kind === 'stdio') throw new Error('not remote');
  await signIn(named, { ...context, signIn: prompt }, signal);
  expect(readSignInStatus(definition, context)).toMatchObject({ isSignedIn: true, isRefreshable: true });
  expect(await signOut(named, context)).toBe(true);
  expect(await signOut(named, context)).toBe(false);
  expect(readSignInStatus(definition, context)).toEqual({ isSignedIn: false, isRefreshable: false });
  expect(findStatus(await faultOf(open()))).toBe(401);
});

test('a program cannot be signed in to', async (t) => {
  const { context } = surroundings(t);
  const signInPrompt = { signal, show: async () => {} };
  expect((await faultOf(signIn(goodServer(), { ...context, signIn: signInPrompt }, signal))).fault).toBe('usage');
});

test.for<readonly [string, OAuthManners & { readonly issuer?: string }, string]>([
  ['the server to sign in at', { issuer: 'https://10.255.255.1/' }, '10.255.255.1'],
  ['the page to sign in at', { page: 'https://192.168.255.1/authorize' }, '192.168.255.1'],
  ['a page of a metadata service', { page: 'https://169.254.169.254/latest' }, '169.254.169.254'],
])('%s must be on the open internet, or where the server is', async ([, { issuer, ...manners }, host], t) => {
  const { context, named, prompt, shown, moveTo } = await place(t, { manners });
  if (issuer !== undefined) moveTo(issuer, 'none');
  const fault = await faultOf(signIn(named, { ...context, signIn: prompt }, signal));
  expect(fault.message).toBe(
    `MCP server remote: its sign-in leads to ${host}, which is not on the open internet, nor where the server is`,
  );
  expect(shown).toEqual([]);
});

const HOSTS: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['93.184.216.34'],
  'other.test': ['2606:2800:220:1::1', '93.184.216.35'],
  'rebound.test': ['93.184.216.34', '127.0.0.1'],
  'corp.test': ['10.1.2.3'],
  'sign-in.corp.test': ['10.9.9.9', 'fd00::1'],
  'here.test': ['127.0.0.1', '::1'],
};

test.for([
  ['https://public.test/mcp', 'https://other.test/token', true],
  ['https://public.test/mcp', 'https://public.test/token', true],
  ['https://public.test/mcp', 'https://public.test:8443/token', true],
  ['https://public.test/mcp', 'http://127.0.0.1:9000/', false],
  ['https://public.test/mcp', 'http://[::1]:9000/', false],
  ['https://public.test/mcp', 'http://2130706433/', false],
  ['https://public.test/mcp', 'https://[::ffff:127.0.0.1]/', false],
  ['https://public.test/mcp', 'https://here.test/', false],
  ['https://public.test/mcp', 'https://corp.test/', false],
  ['https://public.test/mcp', 'https://rebound.test/', false],
  ['https://public.test/mcp', 'http://169.254.169.254/', false],
  ['https://rebound.test/mcp', 'http://127.0.0.1/', false],
  ['https://corp.test/mcp', 'https://sign-in.corp.test/', true],
  ['https://corp.test/mcp', 'https://public.test/', true],
  ['https://corp.test/mcp', 'http://127.0.0.1/', false],
  ['https://corp.test/mcp', 'http://169.254.169.254/', false],
  ['http://127.0.0.1:1/mcp', 'http://127.0.0.1:2/', true],
  ['http://127.0.0.1:1/mcp', 'https://here.test/', true],
  ['http://127.0.0.1:1/mcp', 'https://corp.test/', false],
] as const)('%s may lead to %s: %s', async ([from, to, isAllowed]) => {
  const resolve = async (host: string) => (HOSTS[host] ?? []).map((address) => ({ address, family: isIP(address) }));
  const leading = createReach(from, { env: {}, resolve }).addresses(new URL(to), signal);
  if (isAllowed) await expect(leading).resolves.not.toEqual([]);
  else await expect(leading).rejects.toMatchObject({ fault: 'mcp' });
});

test('behind a proxy names are its business, addresses are not', async () => {
  const env = { HTTPS_PROXY: 'http://proxy.test:3128', HTTP_PROXY: 'http://proxy.test:3128', NO_PROXY: '<-loopback>' };
  const reach = createReach('https://public.test/mcp', { env, resolve: () => expect.unreachable() });
  expect(await reach.addresses(new URL('https://corp.test/'), signal)).toBeUndefined();
  await expect(reach.addresses(new URL('https://10.0.0.1/'), signal)).rejects.toMatchObject({ fault: 'mcp' });
  await expect(reach.addresses(new URL('http://127.0.0.1/'), signal)).rejects.toMatchObject({ fault: 'mcp' });
});
