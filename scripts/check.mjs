// `npm run check`: types, lint, format, and docs that follow from the code.
import { existsSync } from 'node:fs';
import { ensureInstalled, root, run, tool } from './project.mjs';

ensureInstalled();
// The compiler ends before collecting garbage pays: it takes two thirds of the time without.
process.env.GOGC ??= 'off';
tool('typescript/bin/tsc', ['--noEmit']);
tool('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']);
if (!existsSync(`${root}/dist/help`)) run(process.execPath, [`${root}/scripts/build.mjs`]);
run(process.execPath, [`${root}/scripts/tools.mjs`, '--check']);
run(process.execPath, [`${root}/scripts/docs.mjs`, '--check']);
