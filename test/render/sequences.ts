import fc from 'fast-check';

/** Something a terminal would obey, and whether it has come to its end. */
export interface Sequence {
  readonly text: string;
  readonly isEnded: boolean;
}

const characters = (from: number, to: number): fc.Arbitrary<string> =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCharCode(code));
const several = (unit: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> =>
  fc.array(unit, { maxLength }).map((pieces) => pieces.join(''));

const parameters = several(characters(0x30, 0x3f), 8);
const intermediates = several(characters(0x20, 0x2f), 2);
const printable = several(fc.oneof(characters(0x20, 0x7e), fc.constantFrom('é', '日', '👩‍💻', '\u00a0')), 20);

/** Those that are known to have done harm. */
const KNOWN: readonly string[] = [
  ...[
    '[2J',
    '[H',
    '[?1049h',
    '[?1000h',
    '[?2004l',
    '[21t',
    '[6n',
    '[c',
    '[?25l',
    '[31m',
    '[8m',
    '[1A[2K',
    '[3J',
    '[!p',
    '[>c',
  ],
  ...['c', '7', '8', '(0', ')B', '#8', 'E', 'M', 'Z', '=', '>', ' F'],
].map((rest) => `\u001b${rest}`);
const KNOWN_STRINGS: readonly string[] = [
  ...[
    '0;owned',
    '2;owned',
    '52;c;cm0gLXJmIH4=',
    '8;;https://evil.example',
    '4;1;?',
    '10;?',
    '1337;File=name=eA==:eA==',
  ],
  ...['7;file://evil/', '9;9;x', '777;notify;a;b', '$q"p', '+q544e', '1$r0m', 'tmux;\u001b\u001b]52;c;eA==\u0007'],
];

/** ECMA-48, as wide as terminals take it: every kind of sequence, in 7 and 8 bits, ended in every way, or not at all. */
export const sequence: fc.Arbitrary<Sequence> = fc.oneof(
  { weight: 4, arbitrary: control() },
  { weight: 5, arbitrary: strings() },
  { weight: 1, arbitrary: fc.constantFrom(...KNOWN).map(ended) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        intermediates,
        characters(0x30, 0x7e).filter((char) => !'[]PX^_'.includes(char)),
      )
      .map(([between, last]) => ended(`\u001b${between}${last}`)),
  },
  {
    weight: 1,
    arbitrary: characters(0x00, 0x1f)
      .filter((char) => !'\n\t\u001b'.includes(char))
      .map(ended),
  },
  {
    weight: 1,
    arbitrary: characters(0x7f, 0x9f).map((text) => ({
      text,
      isEnded: !'\u0090\u0098\u009b\u009d\u009e\u009f'.includes(text),
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('\u202a', '\u202b', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069')
      .map(ended),
  },
);

function ended(text: string): Sequence {
  return { text, isEnded: true };
}

function control(): fc.Arbitrary<Sequence> {
  const opening = fc.constantFrom('\u001b[', '\u009b');
  return fc
    .tuple(opening, parameters, intermediates, fc.option(characters(0x40, 0x7e), { freq: 8 }))
    .map(([open, words, between, last]) => ({
      text: `${open}${words}${between}${last ?? ''}`,
      isEnded: last !== null,
    }));
}

function strings(): fc.Arbitrary<Sequence> {
  const opening = fc.constantFrom(...[...']PX^_'].map((kind) => `\u001b${kind}`), ...'\u009d\u0090\u0098\u009e\u009f');
  const body = fc.oneof(printable, fc.constantFrom(...KNOWN_STRINGS), fc.constantFrom(...KNOWN));
  const ending = fc.constantFrom('\u0007', '\u001b\\', '\u009c', '\u0018', '\u001a', '');
  return fc
    .tuple(opening, body, ending)
    .map(([open, words, end]) => ({ text: `${open}${words}${end}`, isEnded: end !== '' }));
}

/** So many different ones, the same every time. */
export function sequences(count: number): readonly Sequence[] {
  const all = fc.sample(sequence, { numRuns: count * 2, seed: 52 });
  return [...new Map(all.map((one) => [one.text, one])).values()].slice(0, count);
}
