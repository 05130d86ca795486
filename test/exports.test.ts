import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Exported values that neither another file of src nor a test imports, and why they are exported all the same. */
const ALLOWED: Readonly<Record<string, string>> = {
  'boot.ts boot': 'the build makes dist/boot.js of it',
  'library/library.ts createLibrary': 'the build makes dist/gmn.mjs of it',
  'platform/runtime/module-chunks.ts load': 'the build makes the ES modules of the library with it',
  'main.ts main': 'boot loads it by the name of its chunk',
  'chat/commands/table.ts formatSyntax': 'npm run docs makes the table of docs/chat.md with it',
  'cli/completion/plan.ts completionPlan': 'the build makes what a Tab may offer with it',
  'cli/description.ts describeProgram': 'the build makes dist/help.json with it',
  'cli/invocation.ts toOutline': 'the build makes the outline of the command table with it',
  'cli/man.ts manPage': 'the build makes dist/gmn.1 with it',
};

const texts = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    // Declarations have no values.
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => [name.replaceAll('\\', '/'), readFileSync(join(SRC, name), 'utf8')] as const),
);

interface Import {
  readonly from: string;
  readonly to: string;
  /** Undefined for `import()`: what is taken from it is written in any of many ways. */
  readonly names: readonly string[] | undefined;
}

const imports: readonly Import[] = [...texts].flatMap(([from, text]) =>
  [...text.matchAll(/import\s*(?:(type\s)?\s*\{([^}]*)\}\s*from\s*|\(\s*)'(\.[^']+)'/g)].map(
    ([, isType, list, to = '']) => ({
      from,
      to: relative(SRC, join(SRC, dirname(from), to)).replaceAll('\\', '/'),
      names: list === undefined ? undefined : isType ? [] : namesIn(list),
    }),
  ),
);

/** `a, type B, c as d` → a, c. */
function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '' && !item.startsWith('type '))
    .map((item) => item.split(/\s+as\s+/)[0] ?? item);
}

function isImported(file: string, name: string): boolean {
  return imports.some(({ from, to, names }) => {
    if (to !== file) return false;
    if (names !== undefined) return names.includes(name);
    // A `lazy.ts` hands the whole module on to those who import it.
    const readers = [from, ...imports.filter((next) => next.to === from).map((next) => next.from)];
    return readers.some((reader) => new RegExp(`\\b${name}\\b`).test(texts.get(reader) ?? ''));
  });
}

const TEST = fileURLToPath(new URL('.', import.meta.url));
/** `<file of src> <name>` of all that the tests import. */
const tested = new Set(
  readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?ts$/.test(name))
    .flatMap((name) => [
      ...readFileSync(join(TEST, name), 'utf8').matchAll(/import\s*\{([^}]*)\}\s*from\s*'[./]*\/src\/([^']+)'/g),
    ])
    .flatMap(([, list = '', file]) => namesIn(list).map((name) => `${file} ${name}`)),
);

/** A part of its own file that a test reaches directly: it is read there, and not only by the test. */
function isTestedPart(file: string, name: string): boolean {
  const uses = texts.get(file)?.match(new RegExp(`\\b${name}\\b`, 'g')) ?? [];
  return uses.length > 1 && tested.has(`${file} ${name}`);
}

const exported = [...texts].flatMap(([file, text]) =>
  [...text.matchAll(/^export (?:async )?(?:const|let|class|function\*?) (\w+)/gm)].map(([, name = '']) => ({
    file,
    name,
  })),
);

/** In the executable a file of platform/standalone takes the place of its namesake in platform. */
const replaced = (file: string): string => file.replace('platform/standalone/', 'platform/');
const standIns = [...texts.keys()].filter((file) => file !== replaced(file) && texts.has(replaced(file)));

test('what takes the place of another file in the executable exports all that the other does', () => {
  const missing = standIns.flatMap((file) => {
    const own = exported.filter((item) => item.file === file).map(({ name }) => name);
    return exported.filter((item) => item.file === replaced(file) && !own.includes(item.name));
  });
  expect({ count: standIns.length, missing }).toEqual({ count: expect.toSatisfy((count) => count > 0), missing: [] });
});

test('every exported value is imported by another file or by its test, or is on the list', () => {
  // The thunks of the command table take `run` of every command.
  const unused = exported.filter(({ file, name }) => {
    const isCommand = name === 'run' && imports.some(({ from, to }) => from.startsWith('cli/table/') && to === file);
    const isStandIn = standIns.includes(file) && isImported(replaced(file), name);
    return !isCommand && !isStandIn && !isImported(file, name) && !isTestedPart(file, name);
  });
  expect(unused.map(({ file, name }) => `${file} ${name}`).sort()).toEqual(Object.keys(ALLOWED).sort());
});

test('exports have no other form than the one that is looked for', () => {
  const OTHERS = /^export (?!(?:async )?(?:const|let|class|function\*?) \w|(?:interface|type) [\w*])/m;
  expect([...texts].filter(([, text]) => OTHERS.test(text)).map(([file]) => file)).toEqual([]);
});

/** Scripts and the long suites run too seldom to notice a file that was moved away under them. */
const ROOT = join(SRC, '..');
const scripts = ['scripts', 'test']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => name.endsWith('.mjs') && !name.includes('node_modules'))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));

test('what the scripts and the long suites name of src and test is there', () => {
  const named = scripts.flatMap(({ name, text }) =>
    [...text.matchAll(/'(?:\.\/)?((?:src|test)\/[\w./-]+)'/g)].map(([, path = '']) => ({ name, path })),
  );
  const gone = named.filter(({ path }) => ![path, `${path}.test.ts`].some((file) => existsSync(join(ROOT, file))));
  expect({ count: named.length, gone }).toEqual({ count: expect.toSatisfy((count) => count > 50), gone: [] });
});

test('what they take of src is exported there', () => {
  const taken = scripts.flatMap(({ text }) =>
    [...text.matchAll(/'src\/([\w./-]+)': \[([^\]]+)\]/g)].flatMap(([, file = '', names = '']) =>
      [...names.matchAll(/\w+/g)].map(([name]) => `${file} ${name}`),
    ),
  );
  const there = new Set(exported.map(({ file, name }) => `${file} ${name}`));
  expect(taken.length).toBeGreaterThan(15);
  expect(taken.filter((item) => !there.has(item))).toEqual([]);
});
