// `npm run check`: types, lint and format.
import { ensureInstalled, tool } from './project.mjs';

ensureInstalled();
tool('typescript/bin/tsc', ['--noEmit']);
tool('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']);
