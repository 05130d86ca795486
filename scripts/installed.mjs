// Loaded by `node --import` before scripts whose own imports are libraries: those are found only if they are installed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, root } from './project.mjs';

// `prepare` is run by an installation, which is not over yet. `npm i -g .` in a clone installs no libraries.
if (process.env.npm_lifecycle_event !== 'prepare') ensureInstalled();
else if (!existsSync(join(root, 'node_modules', 'esbuild'))) {
  process.stderr.write('gmn is not built yet, and its libraries are not installed. Run first: npm run build\n');
  process.exit(1);
}
