import { expect, test } from 'vitest';
import { createGrant, isGranted, toScope } from '../../src/approval/grants.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { formatPermission, type Permission, tryParsePermission } from '../../src/core/permission.ts';
import { webFetch } from '../../src/tools/web-fetch.ts';
import { fakePerson, NO } from '../support/fake-person.ts';

const TOOL = webFetch.create({
  send: async () => {
    throw new Error('nothing is fetched here');
  },
  storeUntrusted: async () => undefined,
});

const callOf = (args: JsonObject) => ({ tool: TOOL, args });
const ONE = { kind: 'hosts', tool: 'web_fetch', hosts: ['a.test'] } as const;

test('a at a fetch is about the hosts that were shown, each with its port', async () => {
  const kept: Permission[] = [];
  const { decide, screen } = fakePerson(
    { keys: ['a', 'n', 'n', 'n', 'n', 'A'], columns: 120 },
    { keep: async (permission) => void kept.push(permission) },
  );
  expect(await decide(TOOL, { url: 'https://a.test/x' })).toEqual({ kind: 'run' });
  expect(screen()).toContain('╭ web_fetch\n│ https://a.test/x\n╰ [y]es [N]o [a]lways this host [e]dit');
  expect(await decide(TOOL, { prompt: 'what says https://A.test/y?q=1 ?' })).toEqual({ kind: 'run' });
  for (const url of ['https://b.test/', 'https://a.test:8443/', 'https://a.test.b.test/', 'http://a.test/'])
    expect(await decide(TOOL, { url })).toEqual({ kind: 'deny', reason: NO });
  expect(await decide(TOOL, { prompt: 'compare https://a.test/ and https://b.test/' })).toEqual({ kind: 'run' });
  expect(await decide(TOOL, { url: 'https://b.test/z' })).toEqual({ kind: 'run' });
  expect(kept).toEqual([{ kind: 'hosts', tool: 'web_fetch', hosts: ['a.test', 'b.test'] }]);
});

test('a call of several hosts needs all of them; the whole tool is what the user has typed', () => {
  const both = { prompt: 'https://a.test/ https://b.test/' };
  expect(isGranted([ONE], callOf(both))).toBe(false);
  expect(isGranted([ONE, { ...ONE, hosts: ['b.test'] }], callOf(both))).toBe(true);
  expect(isGranted([{ kind: 'tool', tool: 'web_fetch' }], callOf(both))).toBe(true);
  expect(isGranted([{ ...ONE, tool: 'other' }], callOf({ url: 'https://a.test/' }))).toBe(false);
  const { rule } = approvalPolicy({ mode: 'default', allowed: [ONE], isTrusted: () => false });
  expect(rule(callOf({ url: 'https://a.test/' })).kind).toBe('run');
  expect(rule(callOf(both))).toMatchObject({ kind: 'ask', scope: 'hosts' });
});

test.each([{}, { url: 'a.test' }, { url: 5 }, { url: 'https://me:secret@a.test/' }, { url: 'file:///a.test' }])(
  'arguments that name no page allow nothing: %j',
  (args) => {
    expect(isGranted([ONE], callOf(args))).toBe(false);
    expect(toScope(callOf(args))).toBe('hosts');
    expect(createGrant(callOf(args), 'scope')).toBeUndefined();
  },
);

test('hosts are kept, listed and read again; anything else of that kind is no permission', () => {
  expect(tryParsePermission({ ...ONE })).toEqual(ONE);
  expect(formatPermission({ ...ONE, hosts: ['a.test', 'b\u202e'] })).toBe('web_fetch: a.test, b\\u202e');
  for (const hosts of [undefined, [], [''], [1], 'a.test'])
    expect(tryParsePermission({ kind: 'hosts', tool: 'web_fetch', hosts } as never)).toBeUndefined();
  expect(tryParsePermission({ ...ONE, tool: '' })).toBeUndefined();
});
