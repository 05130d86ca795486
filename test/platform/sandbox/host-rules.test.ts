import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isForeignAddress } from '../../../src/platform/sandbox/host-proxy.ts';
import {
  formatHostRules,
  isAllowedHost,
  parseHostRules,
  tryParseTarget,
} from '../../../src/platform/sandbox/host-rules.ts';

test.each([
  ['example.com', 'example.com', 443, true],
  ['example.com', 'example.com', 80, true],
  ['example.com', 'example.com', 22, false],
  ['example.com', 'www.example.com', 443, false],
  ['example.com', 'notexample.com', 443, false],
  ['Example.COM.', 'example.com', 443, true],
  ['*.example.com', 'a.b.example.com', 443, true],
  ['*.example.com', 'example.com', 443, false],
  ['*.example.com', 'evilexample.com', 443, false],
  ['git.example.com:8443', 'git.example.com', 8443, true],
  ['git.example.com:8443', 'git.example.com', 443, false],
  ['[2606:4700::1111]:443', '2606:4700::1111', 443, true],
  ['bücher.example', 'xn--bcher-kva.example', 443, true],
  ['日本.example', 'xn--wgv71a.example', 443, true],
] as const)('%s and %s:%i', (rule, name, port, isAllowed) => {
  expect(isAllowedHost(parseHostRules([rule]), name, port)).toBe(isAllowed);
});

test.each([
  '*',
  '',
  'http://example.com',
  'a b',
  'user@example.com',
  'example.com/x',
  '*.',
  '*.1.2.3.4',
  'a:0',
  'a:99999',
  'a:b',
  '*.*.com',
  '%00',
])('%j is no host', (entry) => {
  expect(() => parseHostRules([entry])).toThrow('--sandbox-net');
});

test('every way to write an address is the same address', () => {
  for (const text of ['127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', '127.0.0.1.'])
    expect(tryParseTarget(`${text}:80`)).toEqual({ name: '127.0.0.1', port: 80 });
  expect(tryParseTarget('[0:0::1]:80')).toEqual({ name: '::1', port: 80 });
});

test.each([
  '127.0.0.1',
  '10.0.0.8',
  '192.168.1.1',
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '::1',
  'fe80::1',
  'fd00:ec2::254',
  '::ffff:10.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '0.0.0.0',
])('%s is not reached, whatever name leads there', (address) => {
  expect(isForeignAddress(address)).toBe(false);
});

test('public addresses are reached', () => {
  for (const address of ['1.1.1.1', '2606:4700::1111']) expect(isForeignAddress(address)).toBe(true);
});

test('no name that is not below it fits a rule, and no text makes the reader throw', () => {
  const rules = parseHostRules(['*.example.com', 'example.org']);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.domain(), fc.webAuthority()), (text) => {
      const target = tryParseTarget(text);
      const isAllowed = target !== undefined && isAllowedHost(rules, target.name, target.port ?? 443);
      return !isAllowed || target.name.endsWith('.example.com') || target.name === 'example.org';
    }),
  );
});

test('rules are shown as they are typed', () => {
  expect(formatHostRules(parseHostRules(['a.com', '*.b.com:22', '[::1]:5']))).toBe('a.com, *.b.com:22, [::1]:5');
});
