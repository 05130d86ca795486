import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

const MONTH_MS = 30 * 86_400_000;

export interface CodeCache {
  /** Runs a chunk of `dist/` once and returns its exports. */
  load(chunk: string): unknown;
  /** Keeps what V8 compiled in this run, if some chunk had to be compiled anew. Never throws. */
  save(): void;
}

interface Compiled {
  readonly script: Script;
  /** The chunks whose code came from the cache. */
  readonly cached: ReadonlySet<string>;
  /** The chunks of this file that ran. */
  readonly ran: Set<string>;
}

type ChunkFunction = (exports: unknown, require: (id: string) => unknown, module: unknown) => void;

/**
 * Loads the chunks of `dist` as CommonJS, with V8's compiled code from an earlier run where there is some. `pack` is the
 * file that holds the chunks of an ordinary run together. The cache is for this gmn, this Node and this machine type
 * only; one that V8 rejects, or that others could have written, is ignored.
 */
export function codeCache({ dist, pack, version }: { dist: string; pack: string; version: string }): CodeCache {
  const directory = cacheDirectory(version);
  const isUsable = directory !== undefined && isOurs(directory);
  const modules = new Map<string, { exports: unknown }>();
  const files = new Map<string, Compiled>();

  const compile = (file: string, before: string, after: string): unknown => {
    const filename = join(dist, file);
    const entry = isUsable ? readEntry(join(directory, `${file}.cache`)) : undefined;
    // The build escapes everything beyond ASCII, and a one-byte string is cheaper to read and to keep.
    const source = before + readFileSync(filename, 'latin1') + after;
    const script = new Script(source, { filename, ...(entry ? { cachedData: entry.code } : {}) });
    const cached = entry && script.cachedDataRejected === false ? entry.chunks : [];
    files.set(file, { script, cached: new Set(cached), ran: new Set() });
    return script.runInThisContext();
  };
  const packed = parsePack(compile(pack, '', ''));
  const load = (chunk: string): unknown => {
    const known = modules.get(chunk);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(chunk, module);
    const isPacked = Object.hasOwn(packed, chunk);
    const run = packed[chunk] ?? parseChunk(compile(chunk, '(function(exports,require,module){', '\n})'));
    files.get(isPacked ? pack : chunk)?.ran.add(chunk);
    run(module.exports, requireChunk, module);
    return module.exports;
  };
  const requireChunk = (id: string): unknown => (id.startsWith('./') ? load(id.slice(2)) : require(id));

  return {
    load,
    save() {
      const stale = [...files].filter(([, { cached, ran }]) => [...ran].some((chunk) => !cached.has(chunk)));
      if (directory === undefined || stale.length === 0) return;
      try {
        store(directory, dist, stale);
      } catch {
        // Without a cache the next start is a little slower; that is all.
      }
    },
  };
}

function cacheDirectory(version: string): string | undefined {
  try {
    const home = process.env.GMN_HOME || join(process.env.HOME || userHome(), '.gmn');
    return join(home, 'cache', `${version}-${process.version}-${process.arch}`);
  } catch {
    return undefined;
  }
}

/** Loaded only where HOME is not set. */
function userHome(): string {
  const { homedir, userInfo } = process.getBuiltinModule('node:os');
  return homedir() || userInfo().homedir;
}

/** Code from a directory that someone else owns or may write to is not run. */
function isOurs(directory: string): boolean {
  try {
    const status = statSync(directory);
    if (!status.isDirectory()) return false;
    return process.getuid === undefined || (status.uid === process.getuid() && (status.mode & 0o022) === 0);
  } catch {
    return false;
  }
}

/**
 * What V8 compiled, then the names of the chunks that had run by then, then the length of those names. V8 compiles a
 * function when it first runs, so without the names a cache written by a small run would never grow.
 */
function readEntry(path: string): { readonly code: Buffer; readonly chunks: readonly string[] } | undefined {
  try {
    const bytes = readFileSync(path);
    const end = bytes.length - 4;
    const start = end - bytes.readUInt32LE(end);
    return { code: bytes.subarray(0, start), chunks: bytes.toString('latin1', start, end).split(',') };
  } catch {
    return undefined;
  }
}

function store(directory: string, dist: string, files: readonly (readonly [string, Compiled])[]): void {
  // One level at a time: a recursive mkdir never returns where nothing can be made (/proc).
  for (const level of [dirname(dirname(directory)), dirname(directory), directory]) makeDirectory(level);
  if (!isOurs(directory)) return;
  chmodSync(directory, 0o700);
  removeOthers(directory);
  const chunks = new Set(readdirSync(dist));
  for (const name of readdirSync(directory)) {
    if (!chunks.has(name.replace(/\.cache$/, ''))) rmSync(join(directory, name), { force: true });
  }
  for (const [file, { script, cached, ran }] of files) {
    const names = Buffer.from([...new Set([...cached, ...ran])].join(','), 'latin1');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(names.length);
    const target = join(directory, `${file}.cache`);
    const temporary = `${target}.${process.pid}`;
    writeFileSync(temporary, Buffer.concat([script.createCachedData(), names, length]), { mode: 0o600, flag: 'wx' });
    renameSync(temporary, target);
  }
}

function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: 0o700 });
}

/** What another gmn or another Node left is of no use once it is old: an upgrade would add a directory each time. */
function removeOthers(directory: string): void {
  const parent = dirname(directory);
  for (const name of readdirSync(parent)) {
    const other = join(parent, name);
    if (other !== directory && Date.now() - statSync(other).mtimeMs > MONTH_MS)
      rmSync(other, { recursive: true, force: true });
  }
}

function parseChunk(value: unknown): ChunkFunction {
  return value as ChunkFunction;
}

function parsePack(value: unknown): Readonly<Record<string, ChunkFunction>> {
  return value as Readonly<Record<string, ChunkFunction>>;
}
