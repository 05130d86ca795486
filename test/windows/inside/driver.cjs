// driver.cjs <output> <script> [words…]: runs a script of C:\gmn with its output in a file. Node's own output cannot be a pipe of
// Linux, and what the processes of the tests get must be pipes of Windows.
const { spawn } = require('node:child_process');
const { openSync, writeSync } = require('node:fs');

const [output, ...args] = process.argv.slice(2);
const descriptor = openSync(output, 'w');
const { HOME: _, LC_ALL: __, ...env } = process.env;
const child = spawn(process.execPath, args, {
  cwd: 'C:\\gmn',
  env: { ...env, TEMP: 'C:\\temp', TMP: 'C:\\temp', NODE_OPTIONS: '--require C:/inside/keep-alive.cjs' },
  stdio: ['ignore', 'pipe', 'pipe'],
});
for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => writeSync(descriptor, data));
child.on('close', (code) => process.exit(code ?? 1));
