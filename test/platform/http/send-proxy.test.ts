import { expect, test } from 'vitest';
import type { Env } from '../../../src/core/io.ts';
import { findProxy } from '../../../src/platform/http/send.ts';

function chosen(url: string, env: Env): string | undefined {
  return findProxy(new URL(url), env)?.href;
}

test.for<readonly [string, Env, string | undefined]>([
  ['https://a.example', {}, undefined],
  ['https://a.example', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['https://a.example', { https_proxy: 'http://p:1' }, 'http://p:1/'],
  ['https://a.example', { HTTPS_PROXY: 'http://upper', https_proxy: 'http://lower' }, 'http://upper/'],
  ['https://a.example', { HTTPS_PROXY: '', https_proxy: 'http://lower' }, 'http://lower/'],
  ['https://a.example', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['http://a.example', { HTTP_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['http://a.example', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://a.example', { ALL_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['https://a.example', { all_proxy: 'http://all', https_proxy: 'http://own' }, 'http://own/'],
  ['https://a.example', { HTTPS_PROXY: 'p:3128' }, 'http://p:3128/'],
  ['https://a.example', { HTTPS_PROXY: 'https://me:x@p' }, 'https://me:x@p/'],
])('%s with %j goes through %s', ([url, env, proxy]) => {
  expect(chosen(url, env)).toBe(proxy);
});

test.for<readonly [string, string, boolean]>([
  ['https://a.example', '*', true],
  ['https://a.example', 'a.example', true],
  ['https://A.example.', 'a.EXAMPLE', true],
  ['https://x.a.example', 'a.example', true],
  ['https://x.a.example', '.a.example', true],
  ['https://x.a.example', '*.a.example', true],
  ['https://xa.example', 'a.example', false],
  ['https://a.example', 'x.a.example', false],
  ['https://a.example', 'a.example:443', true],
  ['https://a.example', 'a.example:8443', false],
  ['https://a.example:8443', 'a.example:8443', true],
  ['https://[fd00::1]', 'fd00::1', true],
  ['https://[fd00::1]:8443', '[fd00::1]:8443', true],
  ['https://10.0.0.1', '10.0.0.1', true],
  ['https://a.example', 'b.example, a.example c.example', true],
  ['https://a.example', '', false],
  ['https://a.example', '.', false],
  ['https://127.0.0.1', '', true],
  ['https://localhost:1', '', true],
  ['https://[::1]', '', true],
  ['https://x.localhost', '', true],
  ['https://localhost.', '', true],
  ['https://localhost.example', '', false],
  ['https://127.0.0.1.example', '', false],
  ['https://128.0.0.1', '', false],
  ['https://0.0.0.0', '', false],
  ['https://127.0.0.1', '<-loopback>', false],
  ['https://127.0.0.1', '<-loopback>,127.0.0.1', true],
  ['http://metadata.google.internal', '', true],
  ['http://metadata.google.internal.', '<-loopback>', true],
  ['http://169.254.169.254', '', true],
  ['http://169.254.169.254.example', '', false],
  ['http://x.metadata.google.internal.example', '', false],
])('%s with NO_PROXY=%j: direct is %s', ([url, list, isDirect]) => {
  expect(chosen(url, { ALL_PROXY: 'http://p', NO_PROXY: list }) === undefined).toBe(isDirect);
  expect(chosen(url, { ALL_PROXY: 'http://p', no_proxy: list }) === undefined).toBe(isDirect);
});

test.for(['socks5://me:secret@p', 'http://', 'http://me:secret@:x', '://secret'])(
  'a proxy gmn cannot use is a configuration fault that does not show it: %s',
  (value) => {
    expect(() => chosen('https://a.example', { HTTPS_PROXY: value })).toThrow(
      expect.objectContaining({ fault: 'config', message: 'HTTPS_PROXY does not name an http or https proxy' }),
    );
  },
);
