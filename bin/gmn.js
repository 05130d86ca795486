#!/usr/bin/env node
// Starts the program that `npm run build` makes of src/.
const { join } = require('node:path');

const program = join(__dirname, '..', 'dist', 'boot.js');
try {
  require(program);
} catch (error) {
  if (error.code !== 'MODULE_NOT_FOUND' || require('node:fs').existsSync(program)) throw error;
  process.stderr.write(
    'Error: gmn has not been built.\nRun `npm install && npm run build` in the directory it is in.\n',
  );
  process.exitCode = 1;
}
