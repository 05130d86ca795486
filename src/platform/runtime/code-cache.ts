import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { createChunkLoader, readChunk } from './chunk-loader.ts';
import { findUserHome } from './system.ts';

const MONTH_MS = 30 * 86_400_000;

interface CodeCache {
  load(chunk: string): unknown;
  /** Reads the chunks not loaded yet into memory, so that the run survives an update of `dist`. Never throws. */
  loadRemaining(): void;
  /** Saves what V8 compiled in this run, if anything was not in the cache. Never throws. */
  save(): void;
}

/**
 * Loads the chunks of `dist` with V8's code cache of an earlier run, if there is one. A cache is valid for this version of gmn, Node
 * and the architecture only; one that V8 rejects, or that other users could have written, is ignored.
 */
export function openCodeCache({ dist, pack, version }: { dist: string; pack: string; version: string }): CodeCache {
  const directory = findCacheDirectory(version);
  const isUsable = directory !== undefined && isSafeDirectory(directory);
  const fresh = new Map<string, Script>();
  const preloaded = new Map<string, string>();
  const loader = createChunkLoader({
    pack,
    requireBuiltin: require,
    compile(file) {
      const cachedData = isUsable ? tryRead(join(directory, `${file}.cache`)) : undefined;
      const source = preloaded.get(file) ?? readChunk(dist, file);
      preloaded.delete(file);
      const script = new Script(source, { filename: join(dist, file), cachedData });
      if (cachedData === undefined || script.cachedDataRejected) fresh.set(file, script);
      return script.runInThisContext();
    },
    dist,
  });

  return {
    load: loader.load,
    loadRemaining() {
      try {
        const chunks = readdirSync(dist).filter((file) => file.endsWith('.js') && !loader.isLoaded(file));
        for (const file of chunks) preloaded.set(file, readChunk(dist, file));
      } catch {
        // `dist` is being replaced right now.
      }
    },
    save() {
      if (directory === undefined || fresh.size === 0) return;
      try {
        writeCodeCache(directory, dist, fresh);
      } catch {}
    },
  };
}

/** Undefined if there is no home directory. Never throws. */
export function readCodeCacheState(
  version: string,
): { readonly directory: string; readonly isUsable: boolean } | undefined {
  const directory = findCacheDirectory(version);
  return directory === undefined ? undefined : { directory, isUsable: isSafeDirectory(directory) };
}

function findCacheDirectory(version: string): string | undefined {
  try {
    const home = process.env.GMN_HOME || join(process.env.HOME || findUserHome(), '.gmn');
    return join(home, 'cache', `${version}-${process.version}-${process.arch}`);
  } catch {
    return undefined;
  }
}

/** Code from a directory that someone else owns or may write to must not run. */
function isSafeDirectory(directory: string): boolean {
  try {
    const status = statSync(directory);
    if (!status.isDirectory()) return false;
    return process.getuid === undefined || (status.uid === process.getuid() && (status.mode & 0o022) === 0);
  } catch {
    return false;
  }
}

function tryRead(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function writeCodeCache(directory: string, dist: string, scripts: ReadonlyMap<string, Script>): void {
  // One level at a time: a recursive mkdir never returns where nothing can be created (/proc).
  for (const level of [dirname(dirname(directory)), dirname(directory), directory]) makeDirectory(level);
  if (!isSafeDirectory(directory)) return;
  chmodSync(directory, 0o700);
  removeStaleCaches(directory);
  const files = new Set(readdirSync(dist));
  for (const name of readdirSync(directory)) {
    if (!files.has(name.replace(/\.cache$/, ''))) rmSync(join(directory, name), { force: true });
  }
  for (const [file, script] of scripts) {
    const target = join(directory, `${file}.cache`);
    const temporary = `${target}.${process.pid}`;
    try {
      writeFileSync(temporary, script.createCachedData(), { mode: 0o600, flag: 'wx' });
      renameSync(temporary, target);
    } catch (thrown) {
      rmSync(temporary, { force: true });
      throw thrown;
    }
  }
}

function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: 0o700 });
}

/** Removes old caches of other versions of gmn or Node; each upgrade adds one. */
function removeStaleCaches(directory: string): void {
  const parent = dirname(directory);
  for (const name of readdirSync(parent)) {
    const other = join(parent, name);
    if (other !== directory && Date.now() - statSync(other).mtimeMs > MONTH_MS)
      rmSync(other, { recursive: true, force: true });
  }
}
