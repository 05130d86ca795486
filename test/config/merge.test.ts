import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listLeafPaths } from '../../src/config/explanation.ts';
import { findValue } from '../../src/config/keys.ts';
import { mergeDocuments } from '../../src/config/layer.ts';
import type { JsonObject } from '../../src/core/json.ts';

test('objects are merged deeply, lists and all else replaced', () => {
  const low = { a: { b: 1, c: [1, 2] }, d: 'low', e: { f: 1 }, g: 1 };
  const high = { a: { c: [3], h: 2 }, d: 'high', e: 'flat' };
  expect(mergeDocuments([low, high])).toEqual({ a: { b: 1, c: [3], h: 2 }, d: 'high', e: 'flat', g: 1 });
});

test('some lists are united, some joined, what is allowed is narrowed', () => {
  const low = {
    tools: { exclude: ['a', 'b'], core: ['x', 'y'] },
    context: { includeDirectories: ['x'], fileFiltering: { customIgnoreFilePaths: ['i'] } },
    mcp: { allowed: ['a', 'b'], excluded: ['c'] },
    hooks: { BeforeTool: [1] },
    advanced: { excludedEnvVars: ['A'] },
  };
  const high = {
    tools: { exclude: ['b', 'c'], core: ['y', 'z'] },
    context: { includeDirectories: ['x'], fileFiltering: { customIgnoreFilePaths: ['i', 'j'] } },
    mcp: { allowed: ['b', 'z'], excluded: ['d', 'c'] },
    hooks: { BeforeTool: [2] },
    advanced: { excludedEnvVars: ['B'] },
  };
  expect(mergeDocuments([low, high])).toEqual({
    tools: { exclude: ['a', 'b', 'c'], core: ['y'] },
    context: { includeDirectories: ['x', 'x'], fileFiltering: { customIgnoreFilePaths: ['i', 'j'] } },
    mcp: { allowed: ['b'], excluded: ['c', 'd'] },
    hooks: { BeforeTool: [1, 2] },
    advanced: { excludedEnvVars: ['A', 'B'] },
  });
});

test('a server is replaced as a whole', () => {
  const low = { mcpServers: { a: { command: 'a', env: { X: '1' } }, b: { command: 'b' } } };
  const high = { mcpServers: { a: { url: 'https://a.test' } } };
  expect(mergeDocuments([low, high])).toEqual({ mcpServers: { a: { url: 'https://a.test' }, b: { command: 'b' } } });
});

const key = fc.string({ minLength: 1, maxLength: 4 }).filter((text) => text !== '__proto__');
const { document } = fc.letrec<{ document: JsonObject; value: JsonObject[string] }>((tie) => ({
  document: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.integer(),
    fc.constant(null),
    fc.array(fc.string()),
    tie('document'),
  ),
}));

test('no key of the highest layer is lost or changed, none of a lower one unless a higher one speaks about it', () => {
  fc.assert(
    fc.property(fc.array(document, { maxLength: 4 }), (layers) => {
      const merged = mergeDocuments(layers);
      for (const [index, layer] of layers.entries()) {
        const above = layers.slice(index + 1);
        for (const path of listLeafPaths(layer)) {
          const isSpokenAbout = above.some((other) =>
            path.some((_, depth) => isSet(other, path.slice(0, depth + 1), path)),
          );
          if (!isSpokenAbout) expect(findValue(merged, path)).toEqual(findValue(layer, path));
        }
      }
    }),
  );
});

/** Whether the layer sets the path, or something on the way to it that is no object. */
function isSet(layer: JsonObject, prefix: readonly string[], path: readonly string[]): boolean {
  const value = findValue(layer, prefix);
  if (value === undefined) return false;
  return prefix.length === path.length || typeof value !== 'object' || value === null || Array.isArray(value);
}

test('merging leaves its input alone', () => {
  const low = { a: { b: 1 } };
  const high = { a: { c: 2 } };
  expect(mergeDocuments([low, high])).toEqual({ a: { b: 1, c: 2 } });
  expect([low, high]).toEqual([{ a: { b: 1 } }, { a: { c: 2 } }]);
});
