import { expect, test } from 'vitest';
import { checkEndpoint } from '../../../src/core/text/url.ts';

test.for([
  'https://gate.example/base',
  'http://127.0.0.1:8080',
  'http://127.9.8.7/',
  'http://localhost:1/',
  'http://[::1]:8080/x',
])('a credential may go to %s', (url) => {
  expect(checkEndpoint(url, 'X').href).toBe(new URL(url).href);
});

test.for([
  'http://example.com/',
  'http://127.0.0.1.example.com/',
  'http://localhost.example.com/',
  'http://x.localhost/',
  'http://localhost./',
  'http://[::2]/',
  'http://0.0.0.0/',
  'http://128.0.0.1/',
  'ftp://127.0.0.1/',
  'file:///etc/passwd',
  'https://user:secret-word@example.com/',
  'not a url',
  '',
])('a credential may not go to %j', (url) => {
  expect(() => checkEndpoint(url, 'X_URL')).toThrow(
    expect.objectContaining({ exitCode: 4, message: expect.not.stringContaining('secret-word') }),
  );
});
