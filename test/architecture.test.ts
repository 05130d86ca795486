import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

const MAP = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');

interface Room {
  readonly room: string;
  /** Which rooms it may import, besides itself, `core` and `core/text`; `*` stands for a room and all its sub-rooms. */
  readonly mayImport: readonly string[];
  /** Those of them that are loaded by `import()` only. */
  readonly lazily: readonly string[];
}

/** The table of rooms in docs/architecture.md: a room is a directory of src, or a file at its top. */
const ROOMS: readonly Room[] = readTable('| Room | What it is for | May import | Must not know |').flatMap(
  ([names = '', , imported = '']) => {
    // `platform/{files,http}` is two rooms.
    const targets = imported
      .replace(/(\S+?)\{([^}]+)\}/g, (_, parent: string, children: string) =>
        children
          .split(',')
          .map((child) => `${parent}${child}`)
          .join(', '),
      )
      .replaceAll('\\*', '*')
      .split(', ')
      .filter((name) => name !== '–' && name !== 'nothing');
    const mayImport = targets.map((name) => name.replace(/ \(L\)$/, ''));
    const lazily = mayImport.filter((name) => targets.includes(`${name} (L)`));
    return Array.from(names.matchAll(/`([^`]+?)\/?`/g), ([, room = '']) => ({ room, mayImport, lazily }));
  },
);

/** The cells of the table with this header. */
function readTable(header: string): readonly (readonly string[])[] {
  const [, after = ''] = MAP.split(`${header}\n`);
  const rows = after.split('\n').slice(1);
  return rows.slice(0, rows.indexOf('')).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isLazy: boolean;
  readonly isType: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replaceAll('\\', '/'));

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), 'utf8');
  const found = text.matchAll(
    /(?:(?<type>\btype\s+(?:\{[^}]*\}|\w+)\s+)?from\s+|import\s+|(?<lazy>import)\()'(?<to>[^']+)'/g,
  );
  return Array.from(found, ({ groups }) => ({
    from,
    to: groups?.to ?? '',
    isLazy: groups?.lazy !== undefined,
    isType: groups?.type !== undefined,
  }));
});

const internal = imports
  .filter(({ to }) => to.startsWith('.'))
  .map((found) => ({ ...found, to: relative(SRC, join(SRC, dirname(found.from), found.to)).replaceAll('\\', '/') }));

/** The verbs of commands/ and the stand-ins of platform/standalone are found by path, and each is one room. */
const COLLAPSED = ['commands', 'platform/standalone'];
const room = (path: string): string => {
  const directory = dirname(path);
  if (directory === '.') return path;
  return COLLAPSED.find((name) => directory === name || directory.startsWith(`${name}/`)) ?? directory;
};

function mayImport(from: string, to: string): boolean {
  const arrows = ROOMS.find(({ room: name }) => name === from)?.mayImport ?? [];
  return [from, 'core', 'core/text', ...arrows].some((name) =>
    name.endsWith('*') ? to === name.slice(0, -1) || to.startsWith(`${name.slice(0, -1)}/`) : to === name,
  );
}

test('every room of src is in the table of docs/architecture.md once, and no other', () => {
  expect(ROOMS.map(({ room: name }) => name).sort()).toEqual([...new Set(files.map(room))].sort());
});

test('every path that docs/architecture.md names exists', () => {
  const root = join(SRC, '..');
  const known = ['src', 'test', 'docs', 'scripts', 'bin']
    .flatMap((top) => [
      top,
      ...readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((name) => `${top}/${name}`),
    ])
    .map((name) => `/${name.replaceAll('\\', '/')}`);
  const named = Array.from(
    MAP.matchAll(/`([\w./-]+(?:\.(?:[cm]?[jt]s|md)|\/))`|\]\(([\w./-]+)\)/g),
    ([, code, link]) => (code === undefined ? `docs/${link}` : code.replace(/\/$/, '')),
  );
  expect(named.length).toBeGreaterThan(100);
  const isBuilt = (name: string): boolean => name === 'dist' || name.startsWith('dist/');
  expect(named.filter((name) => !isBuilt(name) && !known.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
});

test('tests lie where the sources do; only those of the whole program have directories of their own', () => {
  const OWN = [
    'bench',
    'browser',
    'cli',
    'faults',
    'fixtures',
    'interop',
    'mutation',
    'recorded',
    'sandbox',
    'standalone',
    'support',
    'tasks',
  ];
  const rooms = new Set(files.map((file) => dirname(file)));
  const strays = readdirSync(join(SRC, '../test'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.includes('/') && name.endsWith('.test.ts') && !OWN.includes(name.split('/')[0] ?? ''))
    .filter((name) => !rooms.has(dirname(name)));
  expect(strays).toEqual([]);
});

test('imports only follow the arrows of that table', () => {
  expect(internal.filter(({ from, to }) => !mayImport(room(from), room(to)))).toEqual([]);
});

test('what that table marks as lazy is loaded by import() only', () => {
  const eager = internal.filter(
    ({ from, to, isLazy, isType }) =>
      !isLazy && !isType && ROOMS.find(({ room: name }) => name === room(from))?.lazily.includes(room(to)),
  );
  expect(eager).toEqual([]);
});

test('every arrow of that table is one that some file follows', () => {
  const idle = ROOMS.flatMap(({ room: from, mayImport: targets }) =>
    targets
      .filter((target) => !target.endsWith('*'))
      .filter((target) => !internal.some((found) => room(found.from) === from && room(found.to) === target))
      .map((target) => `${from} → ${target}`),
  );
  expect(idle).toEqual([]);
});

test('every file of commands/ is a verb, or a part of the verbs beside it', () => {
  const isVerb = (file: string): boolean =>
    /^export (?:async )?(?:function\*?|const) run\b/m.test(readFileSync(join(SRC, file), 'utf8'));
  const strays = files
    .filter((file) => room(file) === 'commands' && !isVerb(file))
    .filter((file) => internal.some(({ from, to }) => to === file && dirname(from) !== dirname(file)));
  expect(strays).toEqual([]);
});

test('platform knows neither Gemini nor gmn’s settings', () => {
  const named = files
    .filter((file) => file.startsWith('platform/'))
    .filter((file) => /gemini|googleapis/i.test(codeAlone(readFileSync(join(SRC, file), 'utf8'), { strings: true })));
  expect(named).toEqual([]);
});

test('no colour is used that is lost on black or on white: yellow, blue, cyan, and those that are bright', () => {
  const LOST =
    /chalk\.(?:yellow|blue|cyan|\w+Bright|gr[ae]y)\b|[{ ](?:yellow|blue|cyan)[, ][^}]*\} = await loadChalk|\[(?:\d;)*(?:3[346]|9\d)m/;
  expect(files.filter((file) => LOST.test(readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
});

test('the command table reaches commands only through thunks', () => {
  expect(
    internal.filter(({ from, to, isLazy }) => room(from).startsWith('cli') && room(to) === 'commands' && !isLazy),
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
  const isOutside = (file: string): boolean => !file.startsWith('platform/') && !OTHERS.includes(file);
  const PURE = ['node:path', 'node:buffer', 'node:string_decoder'];
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
      "@agentclientprotocol/sdk in acp/sdk.ts",
      "@cfworker/json-schema in engine/answer/schema-check.ts",
      "@modelcontextprotocol/client in mcp/client/sdk.ts",
      "@modelcontextprotocol/server in mcp/server/sdk-http.ts",
      "@modelcontextprotocol/server in mcp/server/sdk.ts",
      "chalk in render/lazy.ts",
      "chalk in render/markdown/theme.ts",
      "commander in cli/parse.ts",
      "csv-parse in batch/rows/csv.ts",
      "diff in tools/diff.ts",
      "get-east-asian-width in core/text/width.ts",
      "google-auth-library in auth/google-library.ts",
      "highlight.js in render/markdown/highlight.ts",
      "jsonc-parser in config/jsonc-edit.ts",
      "jsonc-parser in config/jsonc.ts",
      "marked in export/html/answer.ts",
      "marked in export/markdown.ts",
      "marked in render/markdown/blocks.ts",
      "marked in render/markdown/inline.ts",
      "marked in render/markdown/lexer.ts",
      "marked in render/markdown/table.ts",
      "smol-toml in config/toml.ts",
      "undici in platform/http/proxy.ts",
      "yaml in config/conventions/front-matter.ts",
    ]
  `);
});

/** `highlight.js/lib/core` → `highlight.js`. */
function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

/** Without comments and, unless they are asked for, plain strings. */
function codeAlone(text: string, keep = { strings: false }): string {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
  return keep.strings ? code : code.replace(/'[^'\n]*'/g, "''");
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

test('a program of Windows is named by its full path, as the current directory is searched first', () => {
  const bare =
    /(?<!windowsProgram\(|=== )(['"`])(?:clip|cmd|notepad|powershell|rundll32|taskkill|where|wsl)(?:\.exe)?\1/g;
  const wrong = files.flatMap((file) => {
    const code = codeAlone(readFileSync(join(SRC, file), 'utf8'), { strings: true });
    return [...code.matchAll(bare)].map(([name]) => `${file}: ${name}`);
  });
  expect(wrong).toEqual([]);
});

test('a name of a function means one thing: no two files have one of the same name, but for the verbs of commands/', () => {
  const owners = new Map<string, readonly string[]>();
  // The types of the library declare the names that its users know.
  for (const file of files.filter((name) => !name.endsWith('.d.ts'))) {
    const text = readFileSync(join(SRC, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:export )?(?:async )?function\*? (\w+)/gm)) {
      owners.set(name, [...new Set([...(owners.get(name) ?? []), file])]);
    }
  }
  const shared = [...owners].filter(([name, where]) => where.length > 1 && name !== 'run');
  expect(Object.fromEntries(shared)).toEqual({});
});
