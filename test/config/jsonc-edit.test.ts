import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { editJsonc } from '../../src/config/jsonc-edit.ts';
import type { JsonValue } from '../../src/core/json.ts';

const COMMENTED = `{
  // the model
  "model": { "name": "m" }, // mine
  "mcpServers": {
    // reads files
    "files": { "command": "node" }, // the first
    /* the wiki */
    "wiki": { "url": "https://wiki.example" } // the last
  }
}
`;

test('a new server comes last, and every comment stays where it was', () => {
  expect(editJsonc(COMMENTED, { path: ['mcpServers', 'new'], value: { command: 'x', args: ['a'] } })).toBe(`{
  // the model
  "model": { "name": "m" }, // mine
  "mcpServers": {
    // reads files
    "files": { "command": "node" }, // the first
    /* the wiki */
    "wiki": { "url": "https://wiki.example" }, // the last
    "new": {
      "command": "x",
      "args": [
        "a"
      ]
    }
  }
}
`);
});

test('removing a server leaves the comments and the other servers alone', () => {
  expect(editJsonc(COMMENTED, { path: ['mcpServers', 'files'] })).toBe(`{
  // the model
  "model": { "name": "m" }, // mine
  "mcpServers": {
    // reads files
    // the first
    /* the wiki */
    "wiki": { "url": "https://wiki.example" } // the last
  }
}
`);
  expect(editJsonc(COMMENTED, { path: ['mcpServers', 'wiki'] })).toBe(`{
  // the model
  "model": { "name": "m" }, // mine
  "mcpServers": {
    // reads files
    "files": { "command": "node" } // the first
    /* the wiki */
    // the last
  }
}
`);
});

test.for([
  ['', '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ['  \n', '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ['{}', '{\n  "a": {\n    "b": 1\n  }\n}'],
  ['{\n}\n', '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ['\uFEFF{"x":1}', '\uFEFF{"x":1,"a":{"b":1}}'],
  ['{"x": 1}\n', '{"x": 1, "a": {"b": 1}}\n'],
  ['{\r\n\t"x": 1,\r\n}\r\n', '{\r\n\t"x": 1,\r\n\t"a": {\r\n\t\t"b": 1\r\n\t},\r\n}\r\n'],
  ['{\n    "a": {}\n}', '{\n    "a": {\n        "b": 1\n    }\n}'],
  ['{\n  // nothing yet\n}\n', '{\n  // nothing yet\n  "a": {\n    "b": 1\n  }\n}\n'],
  ['{\n  "a": { "b": 2 } // two\n}\n', '{\n  "a": { "b": 1 } // two\n}\n'],
] as const)('a value is put into %j in the style of the file', ([text, expected]) => {
  expect(editJsonc(text, { path: ['a', 'b'], value: 1 })).toBe(expected);
});

test('an item is added to a list, and removed from it', () => {
  const text = '{\n  "mcp": {\n    "excluded": [\n      "a", // why\n      "b"\n    ]\n  }\n}\n';
  const longer = editJsonc(text, { path: ['mcp', 'excluded', 0], value: 'c' });
  expect(longer).toBe('{\n  "mcp": {\n    "excluded": [\n      "a", // why\n      "b",\n      "c"\n    ]\n  }\n}\n');
  expect(editJsonc(longer, { path: ['mcp', 'excluded', 2] })).toBe(text);
  expect(editJsonc('{}', { path: ['mcp', 'excluded', 0], value: 'c' })).toBe(
    '{\n  "mcp": {\n    "excluded": [\n      "c"\n    ]\n  }\n}',
  );
});

test('an emptied object leaves no blank lines', () => {
  const text = '{\n  "mcp": {\n    "excluded": [\n      "c"\n    ]\n  }\n}\n';
  expect(editJsonc(text, { path: ['mcp', 'excluded', 0] })).toBe('{\n  "mcp": {\n    "excluded": []\n  }\n}\n');
});

test('removing a duplicate key removes both', () => {
  expect(editJsonc('{"a":1,"b":2,"a":3}', { path: ['a'] })).toBe('{"b":2}');
});

const name = fc.string({ maxLength: 4 }).filter((key) => key !== '__proto__');
const document = fc.dictionary(name, fc.dictionary(name, fc.jsonValue({ maxDepth: 1 })), { maxKeys: 4 });
const layout = fc.constantFrom<string | number | undefined>(undefined, 2, '\t');

test('added values are read back, removed ones are gone, and the rest is unchanged', () => {
  fc.assert(
    fc.property(document, layout, name, name, fc.jsonValue({ maxDepth: 2 }), (before, space, first, second, value) => {
      const text = JSON.stringify(before, null, space);
      const put = editJsonc(text, { path: [first, second], value: value as JsonValue });
      const inner = Object.hasOwn(before, first) ? before[first] : {};
      const whole = JSON.parse(JSON.stringify({ ...before, [first]: { ...inner, [second]: value } }));
      expect(JSON.parse(put)).toEqual(whole);
      const out = JSON.parse(editJsonc(put, { path: [first, second] }));
      delete whole[first][second];
      expect(out).toEqual(whole);
    }),
  );
});

test('no edit breaks a file with comments and trailing commas anywhere', () => {
  const noise = fc.constantFrom('', ' ', '\n', '// c\n', '/* c */', ' // , }\n  ');
  fc.assert(
    fc.property(fc.array(noise, { minLength: 12, maxLength: 12 }), fc.boolean(), fc.boolean(), (n, comma, inner) => {
      const tail = (is: boolean): string => (is ? ',' : '');
      const text =
        `${n[0]}{${n[1]}"a"${n[2]}:${n[3]}{${n[4]}"x"${n[5]}:1${n[6]}${tail(inner)}${n[7]}}${n[8]},` +
        `"b":[1${n[9]}]${n[10]}${tail(comma)}${n[11]}}`;
      const read = (edited: string): unknown => {
        const errors: { error: number }[] = [];
        const value = parse(edited, errors as never, { allowTrailingComma: true });
        expect(errors, edited).toEqual([]);
        return value;
      };
      const comments = (edited: string): number => [...edited.matchAll(/\/\/ c|\/\/ , }|\/\* c \*\//g)].length;
      const put = editJsonc(text, { path: ['a', 'y'], value: { z: 2 } });
      expect(read(put)).toEqual({ a: { x: 1, y: { z: 2 } }, b: [1] });
      const out = editJsonc(text, { path: ['a', 'x'] });
      expect(read(out)).toEqual({ a: {}, b: [1] });
      expect(read(editJsonc(text, { path: ['b'] }))).toEqual({ a: { x: 1 } });
      const more = editJsonc(text, { path: ['b', 0], value: 2 });
      expect(read(more)).toEqual({ a: { x: 1 }, b: [1, 2] });
      expect([put, more].map(comments)).toEqual([comments(text), comments(text)]);
    }),
  );
});
