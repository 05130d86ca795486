import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { createChunkLoader, readChunk } from './chunk-loader.ts';

/** Set by the build: the file that bundles the chunks of an ordinary run. */
declare const PACK: string;

const dist = fileURLToPath(new URL('.', import.meta.url));

const loader = createChunkLoader({
  ...{ dist, pack: PACK, requireBuiltin: createRequire(import.meta.url) },
  compile: (file) => new Script(readChunk(dist, file), { filename: `${dist}${file}` }).runInThisContext(),
});

/** Loads a chunk for the ES modules `gmn` and `gmn/demo`: from the files of the command line, but without its code cache. */
export const load = loader.load;
