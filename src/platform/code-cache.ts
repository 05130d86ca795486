import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';

export interface CodeCache {
  /** Runs a chunk of `dist/` once and returns its exports. */
  load(chunk: string): unknown;
  /** Keeps what V8 compiled in this run, if some chunk had to be compiled anew. Never throws. */
  save(): void;
}

interface Loaded {
  readonly script: Script;
  readonly isFromCache: boolean;
}

/**
 * Loads the chunks of `dist` as CommonJS, with V8's compiled code from an earlier run where there is some. The cache is
 * for this gmn, this Node and this machine type only; one that V8 rejects, or that others could have written, is ignored.
 */
export function codeCache(dist: string, version: string): CodeCache {
  const directory = cacheDirectory(version);
  const isUsable = directory !== undefined && isOurs(directory);
  const nodeRequire = createRequire(join(dist, 'boot.js'));
  const modules = new Map<string, { exports: unknown }>();
  const loaded = new Map<string, Loaded>();

  const load = (chunk: string): unknown => {
    const known = modules.get(chunk);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(chunk, module);
    const filename = join(dist, chunk);
    const cachedData = isUsable ? readIfThere(join(directory, `${chunk}.cache`)) : undefined;
    // The build escapes everything beyond ASCII, and a one-byte string is cheaper to read and to keep.
    const source = `(function(exports,require,module){${readFileSync(filename, 'latin1')}\n})`;
    const script = new Script(source, {
      filename,
      ...(cachedData ? { cachedData } : {}),
    });
    loaded.set(chunk, {
      script,
      isFromCache: cachedData !== undefined && script.cachedDataRejected === false,
    });
    parseChunkFunction(script.runInThisContext())(module.exports, requireChunk, module);
    return module.exports;
  };
  const requireChunk = (id: string): unknown => (id.startsWith('./') ? load(id.slice(2)) : nodeRequire(id));

  return {
    load,
    save() {
      if (directory === undefined || [...loaded.values()].every(({ isFromCache }) => isFromCache)) return;
      try {
        store(directory, dist, loaded);
      } catch {
        // Without a cache the next start is a little slower; that is all.
      }
    },
  };
}

function cacheDirectory(version: string): string | undefined {
  try {
    const home = process.env.GMN_HOME || join(process.env.HOME || homedir(), '.gmn');
    return join(home, 'cache', `${version}-${process.version}-${process.arch}`);
  } catch {
    return undefined;
  }
}

/** Code from a directory that someone else owns or may write to is not run. */
function isOurs(directory: string): boolean {
  const status = statSync(directory, { throwIfNoEntry: false });
  if (status === undefined || !status.isDirectory()) return false;
  return process.getuid === undefined || (status.uid === process.getuid() && (status.mode & 0o022) === 0);
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function store(directory: string, dist: string, loaded: ReadonlyMap<string, Loaded>): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!isOurs(directory)) return;
  chmodSync(directory, 0o700);
  const chunks = new Set(readdirSync(dist));
  for (const name of readdirSync(directory)) {
    if (!chunks.has(name.replace(/\.cache$/, ''))) rmSync(join(directory, name), { force: true });
  }
  for (const [chunk, { script, isFromCache }] of loaded) {
    if (isFromCache) continue;
    const target = join(directory, `${chunk}.cache`);
    const temporary = `${target}.${process.pid}`;
    writeFileSync(temporary, script.createCachedData(), {
      mode: 0o600,
      flag: 'wx',
    });
    renameSync(temporary, target);
  }
}

type ChunkFunction = (exports: unknown, require: (id: string) => unknown, module: unknown) => void;

function parseChunkFunction(value: unknown): ChunkFunction {
  return value as ChunkFunction;
}
