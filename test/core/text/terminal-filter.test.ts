import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stripControls, terminalFilter } from '../../../src/core/text/terminal.ts';
import { onTerminal } from '../../render/terminal-machine.ts';
import { corpus, fuzz } from '../../support/fuzz.ts';
import { codePoint } from '../../support/properties.ts';

const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;
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
      fc.string({ unit: codePoint }),
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
    ['the first and the last escape there is', 'a\u001b0b\u001b~c', 'abc'],
    ['an escape broken off by a control character', 'a\u001b\u001fb', 'ab'],
    ['an escape broken off by a newline', 'a\u001b\nb', 'a\nb'],
    ['escapes with the first and the last intermediate there is', 'a\u001b Fb\u001b/Fc', 'abc'],
    ['several intermediates', 'a\u001b$(Bb', 'ab'],
    ['an intermediate before a letter of another script', 'a\u001b(äb', 'aäb'],
    ['an intermediate broken off by a newline', 'a\u001b(\nb', 'a\nb'],
    ['CSI with a space in it', 'a\u001b[1 qb', 'ab'],
    ['CSI with the first and the last final there is', 'a\u001b[1@b\u001b[3~c', 'abc'],
    ['CSI with the last parameter there is', 'a\u001b[?25hb', 'ab'],
    ['CSI broken off by a control character', 'a\u001b[1\u001fb', 'ab'],
    ['CSI broken off by a letter of another script', 'a\u001b[1äb', 'aäb'],
    ['DCS, SOS, PM and APC in 8 bits', '\u0090x\u009c1\u0098x\u009c2\u009ex\u009c3\u009fx\u009c4', '1234'],
    ['a string cancelled by SUB', 'a\u001b]0;x\u001ab', 'ab'],
    ['a string broken off by the first C1 there is', 'a\u001b]0;x\u0080b', 'ab'],
    ['a string in which the last C1 begins another', 'a\u001b]0;x\u009fy\u009cb', 'ab'],
    [
      'a string that the last C1 begins anew, however long it is',
      `a\u001b]${'x'.repeat(200)}\u009f${'y'.repeat(200)}\u009cb`,
      'ab',
    ],
    ...['🙂', '\u{10000}', '\u{103ff}'].map((char): [string, string, string] => [
      `a string without an end that is cut inside ${char}`,
      `a\u001b]${'x'.repeat(255)}${char}b`,
      'ab',
    ]),
    ...['\u{10fc00}', '\ue000'].map((char): [string, string, string] => [
      `a string without an end that is cut before ${char}`,
      `a\u001b]${'x'.repeat(256)}${char}b`,
      `a${char}b`,
    ]),
    ['a string with a delete in it', 'a\u001b]0;x\u007fy\u0007b', 'ab'],
    ['a string with a character after the last C1', 'a\u001b]0;x\u00a0y\u0007b', 'ab'],
    ['a sequence broken off by a newline', 'a\u001b[3\nb', 'a\nb'],
    ['bell, backspace, null, delete', 'a\u0007\u0008\u0000\u007fb', 'ab'],
    ['CRLF', 'a\r\nb', 'a\nb'],
    ['a lone carriage return', 'safe\revil', 'safe\nevil'],
    ['two carriage returns and a newline', 'a\r\r\nb', 'a\n\nb'],
    ['bidi overrides and isolates', 'a\u202eb\u202cc\u2066d\u2069e', 'abcde'],
    ['emoji that join', '👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é', '👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é'],
  ])('handles %s', (_name, input, output) => {
    expect(stripControls(input)).toBe(output);
  });

  test.each([
    ['a string', '\u001b]', 'x'],
    ['CSI', '\u001b[', '1'],
    ['an escape', '\u001b(', '('],
    ['an escape with the last intermediate', '\u001b/', '/'],
  ])('%s that never ends hides 256 characters, and no more', (_name, start, one) => {
    const { filter } = terminalFilter();
    expect(filter(`a${start}${one.repeat(255)}`)).toBe('a');
    expect(filter(`${one}${one}b`)).toBe(`${one}b`);
  });

  test('a string without an end hides at most the rest of its line, and no half of a character is shown', () => {
    const opener = fc.constantFrom(
      ...']PX^_'.split('').map((char) => `\u001b${char}`),
      ...'\u009d\u0090\u0098\u009e\u009f',
    );
    const plain = fc.array(fc.constantFrom('word ', 'x', '\t', '日本', '🙂', 'é')).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(opener, plain, fc.nat(300), fc.constantFrom('\n', '\r', '\r\n'), (start, text, count, lineEnd) => {
        const hidden = `${text}${'x'.repeat(count)}🙂`;
        const rest = `${lineEnd === '\r' ? 'x' : ''}${text}`;
        const shown = terminalFilter().filter(`a${start}${hidden}${lineEnd}${rest}`);
        const kept = hidden.slice(256).replace(/^[\udc00-\udfff]/, '');
        expect(shown).toBe(`a${kept}\n${rest}`);
      }),
      fuzz(300),
    );
  });

  test('flushing forgets an unfinished sequence', () => {
    const { filter, flush } = terminalFilter();
    expect(filter('a\u001b]0;lost')).toBe('a');
    expect(flush()).toBe('');
    expect(filter('b')).toBe('b');
  });

  test('whatever comes in, a terminal obeys nothing of what comes out', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const shown = stripControls(text);
        expect(shown).not.toMatch(FORBIDDEN);
        expect(onTerminal(shown)).toEqual({ printed: shown, obeyed: [] });
      }),
      { ...fuzz(1000), examples: corpus<string>('terminal').map((text) => [text]) },
    );
  });

  test('nothing that a terminal would have shown is lost', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const { printed } = onTerminal(text);
        expect(isWithin(printed.replace(BIDI, ''), stripControls(text))).toBe(true);
      }),
      { ...fuzz(1000), examples: corpus<string>('terminal').map((text) => [text]) },
    );
  });

  test('how the text is split into chunks makes no difference', () => {
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
      fuzz(500),
    );
  });

  test('plain text passes unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        fc.pre(!FORBIDDEN.test(text));
        expect(stripControls(text)).toBe(text);
      }),
      fuzz(100),
    );
  });
});

/** Whether all of a text stands in another, in its order, whatever stands between. */
function isWithin(text: string, other: string): boolean {
  let at = 0;
  for (const unit of text.split('')) {
    at = other.indexOf(unit, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
