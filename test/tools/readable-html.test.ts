import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPublicAddress } from '../../src/platform/http/pinned.ts';
import { readableHtml } from '../../src/tools/readable-html.ts';

const BASE = new URL('https://example.com/a/b');
const text = (html: string) => readableHtml(html, BASE).text;

test('blocks are lines, headings and items are marked, space is collapsed', () => {
  expect(
    text('<body><h2>One</h2>\n <p>a\n  b<br>c</p><ul><li><p>x</p><li>y</ul><table><tr><td>1<td>2</table>tail'),
  ).toBe('## One\na b\nc\n- x\n- y\n1 2\ntail\n');
});

test('what is preformatted keeps its lines', () => {
  expect(text('<p>a<pre>  x\n\n    y\n</pre>b')).toBe('a\n  x\n\n    y\nb\n');
});

test('what is not read is left out', () => {
  expect(
    text(
      '<head><title>T</title><style>p{}</style><script>if (a < b) "</p>"</script><!-- <p>no --><p>yes<svg><text>no</text></svg>',
    ),
  ).toBe('yes\n');
  expect(text('a<script>never closed')).toBe('a\n');
  expect(text('a<!-- never closed')).toBe('a\n');
  expect(text('a<p title="never closed>b')).toBe('a\n');
});

test('a page without the end of its head is read all the same', () => {
  expect(text('<html><head><title>T</title><body><p>here')).toBe('here\n');
});

test('links are followed by their address, made whole; other schemes are not', () => {
  expect(
    text(
      "<a href='c?x=1&amp;y'>one</a> <a href=//e.example>two</a> <a href='javascript:x()'>three</a> <a href='#f'>four</a>",
    ),
  ).toBe('one (https://example.com/a/c?x=1&y) two (https://e.example/) three four\n');
  expect(text('<a href="/x"><h2>head</h2><p>line</p></a>')).toBe('## head\nline\n(https://example.com/x)\n');
});

test('entities become their characters, and nothing else does', () => {
  expect(text('&lt;b&gt; &#233;&#x3042; &hellip; &constructor; &unknown; &#0; &#xD800; &#1114112; AT&T &amp;lt;')).toBe(
    '<b> éあ … &constructor; &unknown; \ufffd \ufffd \ufffd AT&T &lt;\n',
  );
});

test('the title is its text', () => {
  expect(readableHtml('<TITLE lang=en>\n a &amp;  b\n</TITLE>', BASE).title).toBe('a & b');
  expect(readableHtml('<p>none', BASE).title).toBe('');
});

test('any text is read without a fault, and plain words are kept', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<',
      '>',
      '<!--',
      '-->',
      '<script>',
      '</script',
      '<a href="',
      "'",
      '"',
      '<pre>',
      '</pre>',
      '<li>',
      '&',
      '&#',
      ';',
    ),
    fc.string({ unit: 'grapheme' }),
  );
  fc.assert(fc.property(fc.array(piece), (pieces) => typeof text(pieces.join('')) === 'string'));
  fc.assert(fc.property(fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,9}$/), (words) => text(words) === `${words}\n`));
});

test.each([
  '<',
  '<!--',
  '<script>',
  '<a href="',
  "<a b='",
  '<p ',
  '</',
  '&#',
  '<title',
  '<li>',
  '<a href=x>',
  '<pre>\n',
  ' \n',
  '<svg></svg',
])('two megabytes of %j are read in one pass', (piece) => {
  // Anything but linear time would run into the limit of the test.
  expect(typeof text(piece.repeat(2_000_000 / piece.length))).toBe('string');
});

test('only addresses of the open internet are public', () => {
  const open = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2001:4860:4860::8888', '2606:4700::1', '64:ff9b::808:808'];
  const closed = [
    ...[
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.255',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
    ],
    ...['192.0.0.192', '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '100.100.100.200', '203.0.113.1'],
    ...[
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      'fc00::1',
      'fd00:ec2::254',
      'ff02::1',
      '::ffff:8.8.8.8',
      '::ffff:127.0.0.1',
    ],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b::',
      '2002:7f00:1::',
      '2001::1',
      '2001:db8::1',
      '',
      'localhost',
      '1.2.3',
    ],
  ];
  expect(open.filter((address) => !isPublicAddress(address))).toEqual([]);
  expect(closed.filter((address) => isPublicAddress(address))).toEqual([]);
});
