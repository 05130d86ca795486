import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface ChunkModule {
  exports: unknown;
}

type RequireFunction = (id: string) => unknown;

type ChunkFunction = (exports: unknown, require: RequireFunction, module: ChunkModule, directory: string) => void;

interface LoaderOptions {
  readonly dist: string;
  /** The file that bundles the chunks of an ordinary run. */
  readonly pack: string;
  /** For what is no chunk: Node's own modules. */
  readonly requireBuiltin: RequireFunction;
  readonly compile: (file: string) => ChunkFunction;
}

/** Loads the chunks of `dist` as CommonJS, each once. */
export function createChunkLoader({ dist, pack, requireBuiltin, compile }: LoaderOptions) {
  const modules = new Map<string, ChunkModule>();
  const run = (file: string, module: ChunkModule): void => compile(file)(module.exports, requireChunk, module, dist);
  const load = (file: string): unknown => {
    const known = modules.get(file);
    if (known) return known.exports;
    const module: ChunkModule = { exports: {} };
    modules.set(file, module);
    const part = findPart(file);
    if (part) module.exports = part();
    else run(file, module);
    return module.exports;
  };
  const findPart = (file: string): (() => unknown) | undefined => {
    const part = hot.findChunk(file);
    if (part !== undefined) return part;
    packs ??= hot.packs?.() ?? {};
    const other = packs[file];
    return other === undefined ? undefined : asPack(load(other)).findChunk(file);
  };
  const requireChunk = (id: string): unknown => (id.startsWith('./') ? load(id.slice(2)) : requireBuiltin(id));
  const packed: ChunkModule = { exports: {} };
  run(pack, packed);
  const hot = asPack(packed.exports);
  let packs: Readonly<Record<string, string>> | undefined;
  return {
    load,
    isLoaded: (file: string): boolean => file === pack || modules.has(file) || hot.findChunk(file) !== undefined,
  };
}

/** As a function; packs are written as one, so that their text need not be copied. */
export function readChunk(dist: string, file: string): string {
  // The build escapes everything beyond ASCII, and one-byte strings are cheaper.
  const text = readFileSync(join(dist, file), 'latin1');
  return file.startsWith('pack-') ? text : `(function(exports,require,module,__dirname){${text}\n})`;
}

interface Pack {
  findChunk(file: string): (() => unknown) | undefined;
  /** In the pack of an ordinary run: which chunk is in which other one. */
  packs?(): Readonly<Record<string, string>>;
}

function asPack(value: unknown): Pack {
  return value as Pack;
}
