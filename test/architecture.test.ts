import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Which folders a folder may import, besides itself and `core`. The same list is in docs/architecture.md. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  'main.ts': ['cli', 'config', 'platform', 'render'],
  'boot.ts': ['platform'],
  'text-worker.ts': ['platform', 'render', 'tools'],
  cli: ['commands'],
  // All below it.
  commands: 'agent api auth chat config demo export input mcp platform render session tools'.split(' '),
  chat: ['agent', 'export', 'input', 'platform', 'render', 'session', 'tools'],
  agent: [],
  api: ['platform'],
  auth: ['platform'],
  config: ['platform'],
  demo: ['platform'],
  export: ['platform', 'render'],
  input: ['platform'],
  mcp: ['platform'],
  render: [],
  session: ['platform'],
  tools: ['platform'],
  platform: [],
  core: [],
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isLazy: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replaceAll('\\', '/'));

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), 'utf8');
  const found = [...text.matchAll(/(?:from\s+|import\s+|(import)\()'([^']+)'/g)];
  return found.map((match) => ({ from, to: match[2] ?? '', isLazy: match[1] !== undefined }));
});

const internal = imports
  .filter(({ to }) => to.startsWith('.'))
  .map((found) => ({ ...found, to: relative(SRC, join(SRC, dirname(found.from), found.to)).replaceAll('\\', '/') }));

const folder = (path: string): string => path.split('/')[0] ?? path;

test('every folder of src has its arrows written down', () => {
  expect([...new Set(files.map(folder))].sort()).toEqual(Object.keys(ARROWS).sort());
});

test('imports only follow the arrows', () => {
  const forbidden = internal.filter(({ from, to }) => {
    const allowed = [folder(from), 'core', ...(ARROWS[folder(from)] ?? [])];
    return !allowed.includes(folder(to));
  });
  expect(forbidden).toEqual([]);
});

test('the command table reaches commands only through thunks', () => {
  expect(
    internal.filter(({ from, to, isLazy }) => folder(from) === 'cli' && folder(to) === 'commands' && !isLazy),
  ).toEqual([]);
});

test('no file imports itself in a circle', () => {
  const graph = new Map(files.map((file) => [file, internal.filter(({ from }) => from === file).map(({ to }) => to)]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
    else if (!done.has(file)) {
      for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
      done.add(file);
    }
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

test('only platform touches the world', () => {
  // The script of the exported page runs in its reader's browser.
  const OTHERS = ['boot.ts', 'export/html/script.ts'];
  const isOutside = (file: string): boolean => folder(file) !== 'platform' && !OTHERS.includes(file);
  const PURE = ['node:path', 'node:buffer'];
  expect(imports.filter(({ from, to }) => isOutside(from) && to.startsWith('node:') && !PURE.includes(to))).toEqual([]);
  const globals =
    /(?<![\w.'"`-])(?:process|console|fetch|setTimeout|setInterval|setImmediate)\s*[.(]|\bDate\.now\(|\bnew Date\(\)|Math\.random\(/;
  const touched = files
    .filter(isOutside)
    .filter((file) => globals.test(codeAlone(readFileSync(join(SRC, file), 'utf8'))));
  expect(touched).toEqual([]);
});

test('libraries are imported where they belong, heavy ones lazily', () => {
  const packages = imports.filter(({ to }) => !to.startsWith('.') && !to.startsWith('node:'));
  const homes = new Set(packages.map(({ from, to }) => `${packageOf(to)} in ${from}`));
  expect([...homes].sort()).toMatchInlineSnapshot(`
    [
      "@cfworker/json-schema in commands/output-schema.ts",
      "@modelcontextprotocol/client in mcp/client/sdk.ts",
      "@modelcontextprotocol/server in mcp/server/sdk-http.ts",
      "@modelcontextprotocol/server in mcp/server/sdk.ts",
      "chalk in render/markdown/theme.ts",
      "commander in cli/parse.ts",
      "diff in tools/lazy.ts",
      "google-auth-library in auth/google-library.ts",
      "highlight.js in render/markdown/scopes.ts",
      "jsonc-parser in config/jsonc-edit.ts",
      "jsonc-parser in config/jsonc.ts",
      "marked in export/closed-markdown.ts",
      "marked in export/html/answer.ts",
      "marked in export/html/inline.ts",
      "marked in render/markdown/block-lexer.ts",
      "marked in render/markdown/blocks.ts",
      "marked in render/markdown/inline.ts",
      "marked in render/markdown/table.ts",
      "string-width in render/markdown/width.ts",
      "undici in platform/http-proxy.ts",
    ]
  `);
});

test('no pattern begins anew at every character of a run that it wants at the end', () => {
  // `/x+$/` takes the square of the length of a text that has its run elsewhere: see core/trim.ts.
  const found = files.flatMap((file) =>
    regexLiterals(readFileSync(join(SRC, file), 'utf8'))
      .filter(hasLooseEnd)
      .map((literal) => `${file}: ${literal}`),
  );
  expect(found).toEqual([]);
});

test.for([
  ['/x+$/', true],
  ['/^a|[.,]+$/g', true],
  ['/(?:a|b*)$/', true],
  ['/\\s{2,}$/', true],
  ['/^x+$/', false],
  ['/(?<!x)x+$/', false],
  ['/={1,2}$/', false],
  ['/x\\+$/', false],
  ['/[+$]/', false],
] as const)('of the pattern %s, %s: it has a loose end', ([literal, isLoose]) => {
  expect(hasLooseEnd(literal)).toBe(isLoose);
});

/** The regular expressions of a source text, without what strings and comments hold. */
function regexLiterals(text: string): readonly string[] {
  const skipped = String.raw`\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|${'`'}(?:[^${'`'}\\]|\\[\s\S])*${'`'}`;
  const literal = String.raw`(?<=[(,=:[!&|?{};>]\s*|return\s+)(?<literal>\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)`;
  return Array.from(
    text.matchAll(new RegExp(`${skipped}|${literal}`, 'g')),
    ({ groups }) => groups?.literal ?? '',
  ).filter((found) => found !== '');
}

/** Whether an unbounded repetition stands right before `$` in an alternative that neither `^` nor a look behind holds in its place. */
function hasLooseEnd(literal: string): boolean {
  const plain = literal
    .slice(1, literal.lastIndexOf('/'))
    .replace(/\\./g, 'x')
    .replace(/\[[^\]]*\]/g, 'x');
  return [...plain.matchAll(/(?:[*+]|\{\d*,\})\??\)*\$/g)].some(({ index }) => {
    let depth = 0;
    let start = 0;
    for (const [at, char] of [...plain.slice(0, index)].entries()) {
      if (char === '(') depth += 1;
      if (char === ')') depth -= 1;
      if (char === '|' && depth === 0) start = at + 1;
    }
    return !/^\(*(?:\?:)?\^|^\(\?</.test(plain.slice(start));
  });
}

/** `highlight.js/lib/core` → `highlight.js`. */
function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

/** Without comments and plain strings. */
function codeAlone(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/'[^'\n]*'/g, "''");
}

/** Both arguments of a call, in the text behind its opening parenthesis; strings, patterns and brackets are skipped. */
function argumentsIn(text: string): readonly string[] {
  const skip =
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=^\s*|[(,=]\s*)\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*|[([{]|[)\]}]|,|=>/gs;
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: mark, index } of text.matchAll(skip)) {
    if (/^[([{]$/.test(mark)) depth += 1;
    const isEnd = /^[)\]}]$/.test(mark) && depth === 0;
    if (/^[)\]}]$/.test(mark)) depth -= 1;
    if (!isEnd && !(mark === ',' && depth === 0)) continue;
    found.push(text.slice(from, index).trim());
    from = index + 1;
    if (isEnd) break;
  }
  return found.filter((argument) => argument !== '');
}

/** What cannot hold data: a string as it is written, a function, or the name of one; a length is no replacement at all. */
function isSafeReplacement(argument: string, text: string): boolean {
  if (/^(['"])(?:(?!\1)[^\\]|\\.)*\1$/.test(argument) || /^(?:async )?(?:\([\s\S]*?\)|\w+)(?:: \w+)? =>/.test(argument))
    return true;
  if (/^`[^`$]*`$|^[\w.]+\.length$/.test(argument)) return true;
  return /^\w+$/.test(argument) && new RegExp(`function ${argument}\\(|const ${argument} = \\(`).test(text);
}

test('what replaces a text is written down, or made by a function: $& and the like in data mean nothing', () => {
  const scripts = join(SRC, '../scripts');
  const places = [
    ...files.map((name) => join(SRC, name)),
    ...readdirSync(scripts, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.mjs'))
      .map((name) => join(scripts, name)),
  ];
  const wrong = places.flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    return [...text.matchAll(/\.replace(?:All)?\(/g)].flatMap(({ 0: call, index }) => {
      const given = argumentsIn(text.slice(index + call.length));
      const [, replacement] = given;
      if (given.length !== 2 || replacement === undefined || isSafeReplacement(replacement, text)) return [];
      return [`${relative(SRC, path)}: ${replacement}`];
    });
  });
  expect(wrong).toEqual([]);
});
