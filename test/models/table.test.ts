import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveConfiguredModel } from '../../src/config/model-configs.ts';
import type { JsonObject, JsonValue } from '../../src/core/json.ts';
import { cacheDefault, readCachedDefault, resolveModel } from '../../src/models/choice.ts';
import { cacheListing, groupModels, listKnownModels, listModelChoices, readListing } from '../../src/models/listing.ts';
import { ALIASES, type Backend, BUILT_IN, DEFAULT_MODEL, findModelFacts, MODELS } from '../../src/models/table.ts';
import { place } from '../config/place.ts';

const BACKENDS: readonly Backend[] = ['gemini-api', 'vertex', 'code-assist'];
const ids = (name: string): readonly string[] => BACKENDS.map((backend) => resolveModel(name, { backend }).id);

test('without a name the default is used, and nobody chose it', () => {
  for (const backend of BACKENDS) {
    expect(resolveModel(undefined, { backend })).toEqual({ id: 'gemini-2.5-flash', notices: [], isDefault: true });
  }
});

test('aliases mean a model on each backend', () => {
  expect(Object.fromEntries([...Object.keys(ALIASES)].map((name) => [name, ids(name)]))).toEqual({
    'gemini-3-pro': ['gemini-3-pro-preview', 'gemini-3-pro-preview', 'gemini-3-pro-preview'],
    'gemini-3-flash': ['gemini-3-flash-preview', 'gemini-3-flash-preview', 'gemini-3-flash'],
    pro: ['gemini-pro-latest', 'gemini-3.1-pro-preview', 'gemini-2.5-pro'],
    flash: ['gemini-flash-latest', 'gemini-3.8-flash', 'gemini-3-flash'],
    'flash-lite': ['gemini-flash-lite-latest', 'gemini-3.1-flash-lite', 'gemini-3.1-flash-lite'],
  });
  expect(BACKENDS.map((backend) => BUILT_IN.fallbacks[backend])).toEqual(ids('flash'));
});

test('every alias means a model that gmn knows and that backend carries', () => {
  for (const by of Object.values(ALIASES)) {
    for (const backend of BACKENDS) expect(findModelFacts(by[backend])?.backends, by[backend]).toContain(backend);
  }
});

test('auto is the default, said in a notice, and gives way like it', () => {
  for (const name of ['auto', 'auto-gemini-3', 'auto-gemini-2.5']) {
    expect(resolveModel(name, { backend: 'vertex' })).toEqual({
      id: DEFAULT_MODEL,
      notices: [`model "${name}": gmn uses its default, gemini-2.5-flash`],
      isDefault: true,
    });
  }
});

test('a model that is named is never the default, even if it is the same', () => {
  expect(resolveModel('gemini-2.5-flash', { backend: 'gemini-api' })).toEqual({
    id: 'gemini-2.5-flash',
    notices: [],
    isDefault: false,
  });
});

test('an unknown model passes, with its nearest names', () => {
  expect(resolveModel('gemini-2.5-falsh', { backend: 'gemini-api' })).toMatchObject({
    id: 'gemini-2.5-falsh',
    notices: [expect.stringMatching(/^unknown model "gemini-2\.5-falsh".*Did you mean gemini-2\.5-flash /)],
  });
  expect(resolveModel('zzz', { backend: 'gemini-api' }).notices).toEqual([
    'unknown model "zzz"; gmn sends it as it is',
  ]);
});

test('one that is newer than the table is treated as its family, and the notice says so', () => {
  expect(resolveModel('gemini-4-neon', { backend: 'gemini-api' }).notices.join()).toMatch(
    /^unknown model "gemini-4-neon"; gmn sends it as it is, with the thinking levels, window and sampling of Gemini 4/,
  );
});

test('what was shut down is said of a model that somebody chose, also by its short name', () => {
  const notices = [
    'gemini-3-pro-preview was shut down in March 2026; the Gemini API answers with gemini-3.1-pro-preview',
  ];
  for (const name of ['gemini-3-pro', 'gemini-3-pro-preview']) {
    expect(resolveModel(name, { backend: 'vertex' })).toEqual({
      id: 'gemini-3-pro-preview',
      notices,
      isDefault: false,
    });
  }
});

test('no retired model is suggested, nor an alias of one', () => {
  const suggest = (name: string): string => resolveModel(name, { backend: 'gemini-api' }).notices.join();
  expect(suggest('gemini-3-pr')).not.toMatch(/gemini-3-pro/);
  expect(suggest('gemini-4-argn')).toContain('Did you mean gemini-4-argon');
});

test.each([
  ['gemini-decision-1', 'the Decisions API'],
  ['gemini-omni-1.2-flash', 'the Interactions API'],
  ['gemini-3.8-live-extended-thinking', 'the Live API'],
  ['gemini-3.5-transcribe', 'the Interactions API'],
  ['gemini-3.5-transcribe-live', 'the Live API'],
  ['lyria-3.5', 'the Interactions API'],
  ['lyria-3-clip-preview', 'the Interactions API'],
])('%s is refused: it answers only through %s', (id, service) => {
  expect(() => resolveModel(id, { backend: 'gemini-api' })).toThrow(
    expect.objectContaining({ fault: 'usage', message: `${id} answers only through ${service}, not to a prompt` }),
  );
});

test('a chat lists what is recommended first, and what retires last', () => {
  const owner = { backend: 'gemini-api', account: 'a' } as const;
  const names = listModelChoices(owner, undefined).map(({ name }) => name);
  expect(Object.values(ALIASES).map((by) => by['gemini-api'])).toContain(names[0]);
  const states = names.slice(0, names.indexOf('gemini-3-pro')).map((name) => findModelFacts(name)?.status ?? '');
  const isEnding = (status: string): boolean => status.startsWith('retir');
  expect(states.findLastIndex((status) => !isEnding(status))).toBeLessThan(states.findIndex(isEnding));
});

test('a list has every model once, in groups, with what is retired last', () => {
  const groups = groupModels([
    ...listKnownModels(),
    { id: 'nova-1', status: 'unknown', backends: ['gemini-api'], thinks: false },
  ]);
  const listed = groups.flatMap(({ lines }) => lines);
  expect(listed.map(({ id }) => id).toSorted()).toEqual([...MODELS.map(({ id }) => id), 'nova-1'].toSorted());
  const first = Object.fromEntries(groups.map(({ title, lines }) => [title, lines[0]?.id]));
  expect(first).toMatchObject({
    'For most work': 'gemini-flash-latest',
    'For the hardest questions, at a higher price': 'gemini-pro-latest',
    'For many small tasks, at the lowest price': 'gemini-flash-lite-latest',
    'Others that the service lists': 'nova-1',
  });
  const isEnding = ({ status }: { status: string }): boolean => status.startsWith('retir');
  expect(listed.slice(listed.findIndex(isEnding)).every(isEnding)).toBe(true);
  expect(groups.at(-1)?.lines.every(({ status }) => status === 'retired')).toBe(true);
});

test('the prefix models/ is removed, other paths stay', () => {
  expect(resolveModel('models/gemini-2.5-pro', { backend: 'gemini-api' })).toMatchObject({
    id: 'gemini-2.5-pro',
    notices: [],
  });
  expect(resolveModel('tunedModels/mine-1', { backend: 'gemini-api' })).toMatchObject({
    id: 'tunedModels/mine-1',
    notices: [],
  });
});

test.each(['', ' ', 'a b', '../x', 'a/../b', 'a?key=1', 'a#b', '/a', 'a//b', 'é', '__proto__', 'constructor/'])(
  '%j cannot be a model',
  (name) => {
    expect(() => resolveModel(name, { backend: 'gemini-api', source: '-m' })).toThrow(
      expect.objectContaining({ fault: 'usage', message: `"${name}" cannot be the name of a model (-m)` }),
    );
  },
);

test('what every object has is no alias', () => {
  expect(resolveModel('constructor', { backend: 'gemini-api' }).id).toBe('constructor');
});

test('the table has each model once, with either levels or a budget or neither', () => {
  expect(new Set(MODELS.map(({ id }) => id)).size).toBe(MODELS.length);
  expect(MODELS.filter(({ levels, budget }) => levels && budget)).toEqual([]);
  expect(findModelFacts('gemini-3-pro-preview')?.levels).toEqual(['low', 'high']);
  expect(findModelFacts('gemini-3-flash-preview')?.levels).toEqual(['minimal', 'low', 'medium', 'high']);
});

const DAY = 86_400_000;

test('a fallback default is cached for 30 days, per backend and account', async (t) => {
  const { app } = place(t);
  const owner = { backend: 'vertex', account: 'a' } as const;
  const at = (ms: number) => ({ ...app, clock: { ...app.clock, now: () => app.clock.now() + ms } });
  expect(readCachedDefault(app, owner)).toBeUndefined();
  await cacheDefault(app, owner, 'gemini-3.5-flash');
  await cacheDefault(app, { ...owner, account: 'b' }, 'other');
  expect(readCachedDefault(app, owner)).toBe('gemini-3.5-flash');
  expect(readCachedDefault(at(30 * DAY - 1), owner)).toBe('gemini-3.5-flash');
  expect(readCachedDefault(at(30 * DAY), owner)).toBeUndefined();
  expect(readCachedDefault(at(-1), owner)).toBeUndefined();
  expect(readCachedDefault(app, { ...owner, backend: 'gemini-api' })).toBeUndefined();
  expect(readCachedDefault(app, { ...owner, account: 'b' })).toBe('other');
  await cacheDefault(app, owner, 'gemini-3.1-pro-preview', 'gemini-3-pro-preview');
  expect(readCachedDefault(app, owner, 'gemini-3-pro-preview')).toBe('gemini-3.1-pro-preview');
  expect(readCachedDefault(app, owner)).toBe('gemini-3.5-flash');
});

test('a broken cache is ignored, and written again', async (t) => {
  const { app, write } = place(t);
  const owner = { backend: 'vertex', account: 'a' } as const;
  for (const content of [
    '',
    '{',
    'null',
    '[]',
    '7',
    '{"vertex a": 1}',
    '{"vertex a": {"model": 1, "time": 1}}',
    '\0',
  ]) {
    write({ 'home/.gmn/default-models.json': content });
    expect(readCachedDefault(app, owner), content).toBeUndefined();
    await cacheDefault(app, owner, 'm');
    expect(readCachedDefault(app, owner), content).toBe('m');
  }
});

test('a cache that cannot be written is skipped', async (t) => {
  const { app } = place(t, { 'home/.gmn/default-models.json/file': '' });
  await cacheDefault(app, { backend: 'vertex', account: 'a' }, 'm');
  expect(readCachedDefault(app, { backend: 'vertex', account: 'a' })).toBeUndefined();
});

test('a listing is kept for a week, and asks for no home', async (t) => {
  const { app } = place(t);
  const at = (ms: number) => ({ ...app, clock: { ...app.clock, now: () => app.clock.now() + ms } });
  const models = [{ id: 'a', inputLimit: 1, outputLimit: 2, thinks: true }, { id: 'b' }];
  const listing = { backend: 'vertex', source: 'KEY', account: 'a', time: app.clock.now(), models } as const;
  expect(readListing(app)).toBeUndefined();
  await cacheListing(app, listing);
  expect(readListing(at(7 * DAY - 1))).toEqual(listing);
  expect([readListing(at(7 * DAY)), readListing(at(-1))]).toEqual([undefined, undefined]);
  const homeless = {
    ...app,
    homes: () => {
      throw new Error('there is no home directory');
    },
  };
  await cacheListing(homeless, listing);
  expect(readListing(homeless)).toBeUndefined();
});

describe('modelConfigs of the official CLI', () => {
  const idOf = (name: string | undefined): string => resolveModel(name, { backend: 'gemini-api' }).id;
  const preset = (generateContentConfig: JsonObject, model?: string): JsonObject => ({
    modelConfig: { generateContentConfig, ...(model === undefined ? {} : { model }) },
  });
  const aliases = {
    cold: {
      ...preset({ temperature: 0, thinkingConfig: { thinkingBudget: 64 } }, 'gemini-2.5-pro'),
      extends: 'chat-base',
    },
    colder: { ...preset({ topK: 1, thinkingConfig: { includeThoughts: true } }), extends: 'cold' },
  };

  test('an alias is its model and what it sets, over what it extends', () => {
    expect(resolveConfiguredModel({ customAliases: aliases }, 'colder', idOf)).toEqual({
      model: 'gemini-2.5-pro',
      config: {
        temperature: 0,
        topP: 0.95,
        topK: 1,
        thinkingConfig: { thinkingBudget: 64, includeThoughts: true },
      },
      notices: [],
    });
    expect(resolveConfiguredModel({ customAliases: aliases }, 'gemini-2.5-pro', idOf)).toEqual({
      config: {},
      notices: [],
    });
    expect(resolveConfiguredModel({ customAliases: aliases }, 'toString', idOf)).toEqual({ config: {}, notices: [] });
  });

  test('overrides count for the model, then for an alias, the more specific later', () => {
    const customOverrides = [
      { match: { model: 'cold' }, ...preset({ seed: 3 }) },
      { match: { model: 'gemini-2.5-pro', overrideScope: 'core' }, ...preset({ topP: 0.2, seed: 2 }) },
      { match: { model: 'gemini-2.5-pro' }, ...preset({ topP: 0.1, seed: 1 }) },
      { match: { model: 'gemini-2.5-pro', isRetry: true }, ...preset({ temperature: 2 }) },
      { match: { model: 'gemini-2.5-pro', overrideScope: 'web-search' }, ...preset({ temperature: 2 }) },
      { match: {}, ...preset({ temperature: 2 }) },
    ];
    const all = { customAliases: aliases, customOverrides };
    expect(resolveConfiguredModel(all, 'cold', idOf).config).toMatchObject({ temperature: 0, topP: 0.2, seed: 3 });
    expect(resolveConfiguredModel(all, 'gemini-2.5-pro', idOf)).toEqual({
      config: { topP: 0.2, seed: 2 },
      notices: [],
    });
    expect(resolveConfiguredModel(all, 'gemini-3-pro', idOf)).toEqual({ config: {}, notices: [] });
  });

  test('the default model, and one by its short name, are overridden as the model they are', () => {
    const flash = [{ match: { model: DEFAULT_MODEL }, ...preset({ seed: 7 }, 'gemini-2.5-pro') }];
    expect(resolveConfiguredModel({ customOverrides: flash }, undefined, idOf)).toEqual({
      model: 'gemini-2.5-pro',
      config: { seed: 7 },
      notices: [],
    });
    const pro = [{ match: { model: 'gemini-pro-latest' }, ...preset({ seed: 8 }) }];
    expect(resolveConfiguredModel({ customOverrides: pro }, 'pro', idOf).config).toEqual({ seed: 8 });
  });

  test('what is not a field of generationConfig is omitted, and a notice names it', () => {
    const customAliases = { a: preset({ seed: 1, systemInstruction: 'x', tools: [] }, 'gemini-2.5-pro') };
    expect(resolveConfiguredModel({ customAliases }, 'a', idOf)).toEqual({
      model: 'gemini-2.5-pro',
      config: { seed: 1 },
      notices: ['modelConfigs in your settings: gmn ignores systemInstruction, tools'],
    });
  });

  test.each([
    [{ a: { extends: 'b', ...preset({}) } }, 'extends "b", which does not exist'],
    [{ a: { extends: 'b' }, b: { extends: 'a' } }, 'extends itself through "a"'],
    [{ a: preset({ seed: 1 }) }, 'names no model'],
    [{ a: 7 }, 'names no model'],
  ])('%j leads nowhere', (customAliases, why) => {
    expect(() => resolveConfiguredModel({ customAliases }, 'a', idOf)).toThrow(
      expect.objectContaining({ exitCode: 4, message: `modelConfigs: the alias "a" ${why}` }),
    );
  });

  test('nothing else is ever thrown, whatever the settings contain', () => {
    const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('aliases', 'customAliases', 'overrides', 'customOverrides'), json),
        fc.string(),
        (document, name) => {
          try {
            const { config } = resolveConfiguredModel(document, name, () => 'gemini-2.5-flash');
            expect(config).toEqual(expect.any(Object));
          } catch (thrown) {
            expect(thrown).toMatchObject({ fault: 'config' });
          }
        },
      ),
    );
  });
});
