import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mayComeFromFile, parseEnvFile } from '../../src/config/variables.ts';
import { codePoint } from '../support/properties.ts';
import { place } from './place.ts';

const read = (text: string): Record<string, string> => Object.fromEntries(parseEnvFile(text).variables);

test('plain, quoted, exported and commented lines', () => {
  const text = [
    '# a comment',
    '',
    'PLAIN=value',
    '  SPACED =  a b  ',
    'export EXPORTED=yes',
    'HASH=a#b',
    'COMMENT=a # b',
    'ONLY_COMMENT=# b',
    'EMPTY=',
    `SINGLE='a $B \\n "c" # d' # e`,
    'DOUBLE="a\\nb \\"c\\" \\\\ \\$ $D"',
    "LINES='one",
    "two'",
    'UNCLOSED="a',
    'EQUALS=a=b==',
    'TWICE=1',
    'TWICE=2',
  ].join('\n');
  expect(parseEnvFile(text)).toEqual({
    variables: new Map([
      ['PLAIN', 'value'],
      ['SPACED', 'a b'],
      ['EXPORTED', 'yes'],
      ['HASH', 'a#b'],
      ['COMMENT', 'a'],
      ['ONLY_COMMENT', ''],
      ['EMPTY', ''],
      ['SINGLE', 'a $B \\n "c" # d'],
      ['DOUBLE', 'a\nb "c" \\ \\$ $D'],
      ['LINES', 'one\ntwo'],
      ['UNCLOSED', '"a'],
      ['EQUALS', 'a=b=='],
      ['TWICE', '2'],
    ]),
    faultyLines: [],
  });
});

test('lines that are not assignments are reported, the others are read', () => {
  expect(parseEnvFile('\uFEFFA=1\r\n{\r\nB="x\r\ny"\r\nno\r\n1X=2\r\nC=a\0b\r\nD=4')).toEqual({
    variables: new Map([
      ['A', '1'],
      ['B', 'x\r\ny'],
      ['D', '4'],
    ]),
    faultyLines: [2, 5, 6, 7],
  });
});

test('any text is parsed without an error, line by line', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (text) => {
      const { variables, faultyLines } = parseEnvFile(text);
      expect(variables.size + faultyLines.length).toBeLessThanOrEqual(text.split(/\r\n|\r|\n/).length);
      for (const [name, value] of variables) expect(`${name}${value}`).not.toContain('\0');
    }),
  );
});

const name = fc.stringMatching(/^[A-Za-z_]\w{0,10}$/);

test('text in single quotes is read literally', () => {
  fc.assert(
    fc.property(name, fc.string(), (key, value) => {
      fc.pre(!value.includes("'") && !value.includes('\0'));
      expect(read(`${key}='${value}'\nNEXT=1`)).toEqual(
        Object.fromEntries([
          [key, value],
          ['NEXT', '1'],
        ]),
      );
    }),
  );
});

test('escaped text in double quotes is unescaped', () => {
  fc.assert(
    fc.property(name, fc.string(), (key, value) => {
      fc.pre(!value.includes('\0'));
      const written = value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
      expect(read(`${key}="${written}"`)).toEqual(Object.fromEntries([[key, value]]));
    }),
  );
});

test('endpoints, proxies and what moves the files themselves are never taken from a file', () => {
  const refused = ['CODE_ASSIST_ENDPOINT', 'GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'GMN_OAUTH_TOKEN_URL'];
  const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NO_PROXY', 'no_proxy'];
  const others = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'GMN_HOME', 'GEMINI_CLI_HOME', 'GEMINI_CLI_TRUST_WORKSPACE'];
  expect([...refused, ...proxies, ...others].filter(mayComeFromFile)).toEqual([]);
  expect(mayComeFromFile('GEMINI_API_KEY')).toBe(true);
});

test('the real environment wins over ~/.gmn/.env, which wins over ~/.gemini/.env; no other file is read', async (t) => {
  const { settings } = place(t, {
    'home/.gemini/.env': 'A=gemini\nB=gemini\nC=gemini',
    'home/.gmn/.env': 'A=gmn\nB=gmn',
    'home/.env': 'D=home',
    'work/.env': 'D=work',
    'work/.gemini/.env': 'D=work',
  });
  const { env, notices } = await settings({ A: 'real' });
  expect({ A: env.A, B: env.B, C: env.C, D: env.D, notices }).toEqual({
    A: 'real',
    B: 'gmn',
    C: 'gemini',
    D: undefined,
    notices: [],
  });
});

test('an endpoint in a file is ignored with a notice, unless the environment sets it anyway', async (t) => {
  const { settings, path } = place(t, {
    'home/.gemini/.env': 'GEMINI_API_KEY=k\nGOOGLE_GEMINI_BASE_URL=https://evil.test\nhttps_proxy=http://evil.test\n',
  });
  const { env, notices } = await settings();
  expect(env).toMatchObject({ GEMINI_API_KEY: 'k' });
  expect(JSON.stringify(env)).not.toContain('evil');
  expect(notices).toEqual([
    `${path('home/.gemini/.env')}: GOOGLE_GEMINI_BASE_URL, https_proxy ignored in a file; set it in the environment instead`,
  ]);
  const real = { GOOGLE_GEMINI_BASE_URL: 'https://mine.test', https_proxy: '' };
  expect(await settings(real)).toMatchObject({ notices: [], env: real });
});
