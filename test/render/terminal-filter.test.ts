import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filterTerminal, terminalFilter } from '../../src/render/terminal-filter.ts';

const FORBIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** Text thick with everything a terminal might obey. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b',
        '\u001b[',
        '\u001b]',
        '\u001bP',
        '\u001b\\',
        '\u0007',
        '\u0018',
        '\u009b',
        '\u009d',
        '\u009c',
      ),
      fc.constantFrom(
        '\r',
        '\n',
        '\r\n',
        '\t',
        '8;;http://a',
        '31m',
        '?1049h',
        '(B',
        '\u202e',
        '\u2069',
        '👨‍👩‍👧',
        '日本',
      ),
      fc.string({ unit: 'binary' }),
      fc.nat(0xff).map((code) => String.fromCharCode(code)),
    ),
  )
  .map((pieces) => pieces.join(''));

describe('the terminal filter', () => {
  test.each([
    ['colour', 'a\u001b[31mb\u001b[0mc', 'abc'],
    ['a title', 'a\u001b]0;pwned\u0007b', 'ab'],
    ['a title ended by ST', 'a\u001b]0;pwned\u001b\\b', 'ab'],
    ['a clipboard write in 8 bits', 'a\u009d52;c;aGk=\u009cb', 'ab'],
    ['8-bit CSI', 'a\u009b2Jb', 'ab'],
    ['DCS, SOS, PM and APC', '\u001bPx\u001b\\1\u001bXx\u001b\\2\u001b^x\u001b\\3\u001b_x\u001b\\4', '1234'],
    ['a string cancelled by CAN', 'a\u001b]0;x\u0018b', 'ab'],
    ['a string cut short by another sequence', 'a\u001b]0;x\u001b[31mb', 'ab'],
    ['an escape and one character', 'a\u001bcb', 'ab'],
    ['a character set', 'a\u001b(0b', 'ab'],
    ['an escape before a letter of another script', 'a\u001bäb', 'aäb'],
    ['a sequence broken off by a newline', 'a\u001b[3\nb', 'a\nb'],
    ['bell, backspace, null, delete', 'a\u0007\u0008\u0000\u007fb', 'ab'],
    ['CRLF', 'a\r\nb', 'a\nb'],
    ['a lone carriage return', 'safe\revil', 'safe\nevil'],
    ['two carriage returns and a newline', 'a\r\r\nb', 'a\n\nb'],
    ['bidi overrides and isolates', 'a\u202eb\u202cc\u2066d\u2069e', 'abcde'],
    ['emoji that join', '👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é', '👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é'],
  ])('handles %s', (_name, input, output) => {
    expect(filterTerminal(input)).toBe(output);
  });

  test('a string that never ends hides at most 4 KB', () => {
    const rest = 'x'.repeat(10_000);
    expect(filterTerminal(`a\u001b]0;${rest}`).length).toBeGreaterThan(5_900);
    expect(filterTerminal(`a\u001b]0;${rest}`).length).toBeLessThan(6_000);
    expect(filterTerminal(`a\u001b[${'1;'.repeat(5_000)}m`).length).toBeGreaterThan(5_900);
  });

  test('flushing forgets an unfinished sequence', () => {
    const { filter, flush } = terminalFilter();
    expect(filter('a\u001b]0;lost')).toBe('a');
    expect(flush()).toBe('');
    expect(filter('b')).toBe('b');
  });

  test('whatever comes in, nothing a terminal obeys comes out', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(filterTerminal(text)).not.toMatch(FORBIDDEN);
      }),
      { numRuns: 2000 },
    );
  });

  test('how the text is cut makes no difference', () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(40)), (text, cuts) => {
        const { filter, flush } = terminalFilter();
        let rest = text;
        let shown = '';
        for (const cut of cuts) {
          shown += filter(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        for (const unit of rest.split('')) shown += filter(unit);
        expect(shown + flush()).toBe(terminalFilter().filter(text));
      }),
      { numRuns: 1000 },
    );
  });

  test('plain text passes unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!FORBIDDEN.test(text));
        expect(filterTerminal(text)).toBe(text);
      }),
    );
  });
});
