import { expect, test } from 'vitest';
import { encodeConnect, encodeRequest } from '../../../../src/platform/standalone/http/http1.ts';

const url = new URL('https://h.example:8443/a%20b?c=d#e');

test('a request is the method, the path, its headers in order, and a body with its length in bytes', () => {
  const bytes = encodeRequest({ method: 'POST', url, headers: { 'x-a': '1' }, body: 'grün' });
  expect(bytes.toString('utf8')).toBe(
    'POST /a%20b?c=d HTTP/1.1\r\nx-a: 1\r\ncontent-length: 5\r\nHost: h.example:8443\r\nConnection: close\r\n\r\ngrün',
  );
});

test('without a body there is no length, and a host that is given stays', () => {
  const bytes = encodeRequest({ method: 'GET', url, headers: { host: 'other' } });
  expect(bytes.toString('utf8')).toBe('GET /a%20b?c=d HTTP/1.1\r\nhost: other\r\nConnection: close\r\n\r\n');
});

test('nothing that is posted has a length too', () => {
  expect(encodeRequest({ method: 'POST', url, headers: {} }).toString('utf8')).toBe(
    'POST /a%20b?c=d HTTP/1.1\r\ncontent-length: 0\r\nHost: h.example:8443\r\nConnection: close\r\n\r\n',
  );
});

test('headers given cannot change where a request ends, nor keep its connection', () => {
  const headers = { connection: 'keep-alive', 'Content-Length': '99', 'Transfer-Encoding': 'chunked', 'x-a': '1' };
  expect(encodeRequest({ method: 'POST', url, headers, body: 'x' }).toString('utf8')).toBe(
    'POST /a%20b?c=d HTTP/1.1\r\nx-a: 1\r\ncontent-length: 1\r\nHost: h.example:8443\r\nConnection: close\r\n\r\nx',
  );
});

test('a URL holds nothing that could end the first line', () => {
  const odd = new URL('http://127.0.0.1:80/ü b\r\nA: 1?q=\tü "x\0#\r\n');
  odd.pathname += ' \r\nB: 2';
  odd.search += ' \r\nC: 3';
  expect(encodeRequest({ method: 'GET', url: odd, headers: {} }).toString('latin1')).toBe(
    'GET /%C3%BC%20bA:%201%20B:%202?q=%C3%BC%20%22x%00%20C:%203 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
  );
});

test('a tunnel is asked for by host and port', () => {
  expect(encodeConnect(new URL('https://h.example/x'), { 'proxy-authorization': 'Basic x' }).toString('utf8')).toBe(
    'CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\nproxy-authorization: Basic x\r\nConnection: close\r\n\r\n',
  );
});

test.for<Record<string, string>>([
  { a: '1\r\nb: 2' },
  { a: '1\nb' },
  { a: '1\0' },
  { a: 'Ω' },
  { 'a\r\nb': '1' },
  { 'a b': '1' },
  { '': '1' },
])('%j would be more than one header, and is not sent', (headers) => {
  expect(() => encodeRequest({ method: 'GET', url, headers })).toThrow(TypeError);
});
